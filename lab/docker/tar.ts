/** An entry of an archive for Docker: a build context, an image, or files for a container. */
export interface TarEntry {
  /** Relative path, at most 100 bytes. */
  readonly path: string;
  /** Permission bits such as 0o755. */
  readonly mode: number;
  readonly content: Buffer | 'folder' | { readonly linkTo: string };
}

const BLOCK = 512;
const MAX_PATH = 100;

/** A POSIX ustar archive; entries belong to root and have the time 0. Throws if a path is too long. */
export function renderTar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.isBuffer(entry.content) ? entry.content : Buffer.alloc(0);
    const padding = (BLOCK - (content.length % BLOCK)) % BLOCK;
    return [renderHeader(entry, content.length), content, Buffer.alloc(padding)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function renderHeader(entry: TarEntry, size: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const put = (text: string, offset: number, maxBytes: number): void => {
    if (Buffer.byteLength(text) > maxBytes) throw new RangeError(`too long for a tar: ${text}`);
    header.write(text, offset);
  };
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
  put(entry.path, 0, MAX_PATH);
  put(octal(entry.mode, 7), 100, 8);
  put(octal(0, 7), 108, 8);
  put(octal(0, 7), 116, 8);
  put(octal(size, 11), 124, 12);
  put(octal(0, 11), 136, 12);
  put(' '.repeat(8), 148, 8);
  put(typeFlag(entry), 156, 1);
  if (typeof entry.content === 'object' && 'linkTo' in entry.content)
    put(entry.content.linkTo, 157, MAX_PATH);
  put('ustar\u000000', 257, 8);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${octal(sum, 6)}\u0000 `, 148, 8);
  return header;
}

function typeFlag({ content }: TarEntry): string {
  if (content === 'folder') return '5';
  return Buffer.isBuffer(content) ? '0' : '2';
}
