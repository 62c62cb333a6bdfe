/** A page of the portal's own origin must not run what a game server holds. */
const DOWNLOADED: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  // Reverse proxies pass it on as it comes.
  'x-accel-buffering': 'no',
};

const ARCHIVE_TYPES = {
  zip: 'application/zip',
  tar: 'application/x-tar',
  'tar.gz': 'application/gzip',
  'tar.zst': 'application/zstd',
} as const;

/** The last name of a path. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || 'files';
}

/** RFC 6266: the name in ASCII for old clients, and as it is. */
function named(name: string): Readonly<Record<string, string>> {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const whole = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return { 'content-disposition': `attachment; filename="${plain}"; filename*=UTF-8''${whole}` };
}

/** A file, or the part of it that is sent. */
export interface SentPart {
  readonly size: number;
  readonly modifiedAtMs: number;
  readonly offset: number;
  readonly length: number;
}

/** The status and the headers of a file that is sent, whole or in part. */
export function headOfFile(
  path: string,
  etag: string,
  { size, modifiedAtMs, offset, length }: SentPart,
): { readonly status: 200 | 206; readonly headers: Readonly<Record<string, string>> } {
  const isPart = length !== size;
  return {
    status: isPart ? 206 : 200,
    headers: {
      ...DOWNLOADED,
      ...named(nameOf(path)),
      'content-type': 'application/octet-stream',
      'content-length': String(length),
      'accept-ranges': 'bytes',
      'last-modified': new Date(modifiedAtMs).toUTCString(),
      etag,
      ...(isPart && { 'content-range': `bytes ${offset}-${offset + length - 1}/${size}` }),
    },
  };
}

/** The headers of files and folders that are sent as an archive. */
export function headOfArchive(
  paths: readonly string[],
  format: keyof typeof ARCHIVE_TYPES,
): Readonly<Record<string, string>> {
  const name = `${paths.length === 1 ? nameOf(paths[0] ?? '') : 'files'}.${format}`;
  return { ...DOWNLOADED, ...named(name), 'content-type': ARCHIVE_TYPES[format] };
}

/** The first and the last byte that a `Range` names; null: the beginning, or the end. */
export interface BytesRange {
  readonly start: number | null;
  readonly end: number | null;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** The part of a file that a `Range` header names; null for several parts, and for what is no range of bytes. */
export function rangeOf(header: string | null): BytesRange | null {
  const [, start = '', end = ''] = RANGE.exec(header?.replaceAll(' ', '') ?? '') ?? [];
  if (start === '' && end === '') return null;
  const range = {
    start: start === '' ? null : Number(start),
    end: end === '' ? null : Number(end),
  };
  const isReversed = range.start !== null && range.end !== null && range.end < range.start;
  return isReversed ? null : range;
}
