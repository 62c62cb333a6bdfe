import { ConnectionError, errorOf } from './errors.ts';
import type { FileLink, FileUpload } from './generated/operations.ts';

interface Settings {
  readonly baseUrl: string;
  readonly fetch?: typeof fetch;
}

export interface KeyTransferSettings extends Settings {
  readonly key: string;
  /** Whether large files go to and from their node itself, where it has a URL of its own. Default: they do not. */
  readonly links?: boolean;
}

/** For the signed-in session of a browser. */
export interface SessionTransferSettings extends Settings {
  readonly key?: never;
  readonly links?: never;
  /** The slug of the organisation. */
  readonly organisation: string;
}

/** A part of the file to upload, from `offset` on. */
export interface UploadPart {
  readonly slice: string;
  readonly path: string;
  readonly offset: number;
  /** The size of the whole file. */
  readonly size: number;
  readonly body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | Blob;
  /** Refused (412) where a file of this name is there already. */
  readonly isNew?: boolean;
}

export interface DownloadedFile {
  /** False: the whole file, because it changed since the part before, or no part was asked for. */
  readonly isPart: boolean;
  /** Bytes of the answer; null: not known before. */
  readonly length: number | null;
  readonly etag: string | null;
  /** Where the part begins, and the size of the whole file; null: the whole file is answered. */
  readonly place: { readonly offset: number; readonly size: number } | null;
  readonly body: ReadableStream<Uint8Array>;
}

/** The part of a file that is wanted: from a byte on, if the file still has this ETag. */
export interface Rest {
  readonly from: number;
  readonly etag: string;
}

/** Files of any size of a game server, as streams. Each call may throw a `PortcullisError`; none is repeated. */
export interface FileTransfers {
  /** Where a signed-in browser downloads a file, or with `format` files and folders as an archive. */
  url(wanted: {
    readonly slice: string;
    readonly paths: readonly string[];
    readonly format?: 'zip' | 'tar.gz' | 'tar.zst';
  }): string;
  upload(part: UploadPart, signal?: AbortSignal): Promise<FileUpload['data']>;
  download(
    file: {
      readonly slice: string;
      readonly path: string;
      /** Bytes of the file, where they are known. */
      readonly size?: number;
      readonly rest?: Rest | null;
      /** Any other part, as the header `Range` names it: `bytes=-1024` is the end. */
      readonly range?: string;
    },
    signal?: AbortSignal,
  ): Promise<DownloadedFile>;
}

type TransferSettings = KeyTransferSettings | SessionTransferSettings;

export function createTransfers(settings: TransferSettings): FileTransfers {
  const links = new Links(settings);
  const call = (
    { slice, name, query }: { slice: string; name: string; query: Record<string, string> },
    init: Init,
  ): Promise<Response> =>
    request(settings, urlOf(settings, slice, name, Object.entries(query)), init);
  return {
    url: ({ slice, paths, format }) =>
      format === undefined
        ? urlOf(settings, slice, 'content', Object.entries({ path: paths[0] ?? '', raw: 'true' }))
        : urlOf(settings, slice, 'download', [
            ...paths.map((path) => ['path', path] as const),
            ['format', format],
          ]),
    async upload({ slice, path, offset, size, body, isNew = false }, signal) {
      const headers = isNew ? { 'if-none-match': '*' } : {};
      const init: Init = { method: 'PUT', body, duplex: 'half', ...(signal && { signal }) };
      const asked = { slice, name: 'upload/links', body: { path, offset, size }, headers };
      const direct = size - offset < MIN_DIRECT ? null : await links.use(asked, init);
      // What was sent of a stream cannot be sent again: the caller goes on from what was received.
      if (direct === 'failed' && !(body instanceof Uint8Array || body instanceof Blob))
        throw new ConnectionError('The connection to the node broke off.');
      const query = { path, offset: String(offset), size: String(size) };
      const response =
        direct instanceof Response
          ? direct
          : await call({ slice, name: 'upload', query }, { ...init, headers });
      const text = await response.text();
      if (!response.ok) throw errorOf(response, text);
      return (JSON.parse(text) as FileUpload).data;
    },
    async download({ slice, path, size = MIN_DIRECT, rest, range }, signal) {
      const part = range === undefined ? {} : { range };
      const headers = rest ? { range: `bytes=${rest.from}-`, 'if-range': rest.etag } : part;
      const init: Init = { headers, ...(signal && { signal }) };
      const asked = { slice, name: 'links', body: { paths: [path] }, headers: {} };
      const direct = size < MIN_DIRECT ? null : await links.use(asked, init);
      const response =
        direct instanceof Response
          ? direct
          : await call({ slice, name: 'content', query: { path, raw: 'true' } }, init);
      return downloaded(response);
    },
  };
}

async function downloaded(response: Response): Promise<DownloadedFile> {
  if (!response.ok || response.body === null) throw errorOf(response, await response.text());
  const length = response.headers.get('content-length');
  return {
    isPart: response.status === 206,
    length: length === null ? null : Number(length),
    etag: response.headers.get('etag'),
    place: placeOf(response),
    body: response.body,
  };
}

/** Smaller files go by control: to ask for a link takes longer. */
const MIN_DIRECT = 4 * 1024 * 1024;

/** The links of nodes. Whatever one of them does not do, control does from then on. */
class Links {
  readonly #settings: TransferSettings;
  readonly #refused = new Set<string>();

  constructor(settings: TransferSettings) {
    this.#settings = settings;
  }

  /** Asks for a link and uses it. Null: there is none; `failed`: it was used, and did not answer as it should. */
  async use(
    { slice, name, body, headers }: LinkRequest,
    init: Init,
  ): Promise<Response | 'failed' | null> {
    const settings = this.#settings;
    if (settings.links !== true || this.#refused.has(slice)) return null;
    const response = await request(settings, urlOf(settings, slice, name, []), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(init.signal && { signal: init.signal }),
    });
    const text = await response.text();
    if (!response.ok) {
      this.#refused.add(slice);
      return null;
    }
    const { url } = (JSON.parse(text) as FileLink).data;
    // Without the key, which the node must not learn.
    const answer = await send(settings, url, init).catch(() => null);
    if (init.signal?.aborted === true) throw init.signal.reason;
    if (answer?.ok === true) return answer;
    await answer?.body?.cancel();
    this.#refused.add(slice);
    return 'failed';
  }
}

interface LinkRequest {
  readonly slice: string;
  readonly name: string;
  readonly body: object;
  readonly headers: Record<string, string>;
}

type Init = RequestInit & { readonly duplex?: 'half' };

function request(settings: TransferSettings, url: string, init: Init): Promise<Response> {
  const headers = { ...identityOf(settings, init.method), ...(init.headers as object) };
  return send(settings, url, { ...init, headers });
}

async function send(settings: TransferSettings, url: string, init: Init): Promise<Response> {
  const { fetch: callFetch = globalThis.fetch } = settings;
  try {
    // Never followed: a key must not be sent to another host.
    return await callFetch(url, { ...init, redirect: 'error' });
  } catch (error) {
    if (init.signal?.aborted === true) throw init.signal.reason;
    throw new ConnectionError('The connection broke off.', { cause: error });
  }
}

function urlOf(
  settings: TransferSettings,
  slice: string,
  name: string,
  query: readonly (readonly [name: string, value: string])[],
): string {
  const base = `${settings.baseUrl.replace(/\/+$/, '')}${prefixOf(settings)}`;
  const asked = new URLSearchParams(query.map(([key, value]): [string, string] => [key, value]));
  const path = `${base}/game-servers/${encodeURIComponent(slice)}/files/${name}`;
  return query.length === 0 ? path : `${path}?${asked}`;
}

function prefixOf(settings: TransferSettings): string {
  if (settings.key !== undefined) return '/api/x1';
  return `/api/portal/organisations/${encodeURIComponent(settings.organisation)}/x1`;
}

/** A session has its cookie, and shows with a write that no other site made it. */
function identityOf({ key }: TransferSettings, method: string | undefined): Record<string, string> {
  if (key !== undefined) return { authorization: `Bearer ${key}` };
  return method === undefined ? {} : { 'x-portcullis-csrf': '1' };
}

/** `bytes 1024-2047/20480` */
function placeOf({ headers }: Response): DownloadedFile['place'] {
  const place = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('content-range') ?? '');
  return place === null ? null : { offset: Number(place[1]), size: Number(place[2]) };
}
