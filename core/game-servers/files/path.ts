import { failed, type Parsed, parsed } from '../../net/parsed.ts';

/** The names of a path inside a server's folder, each as `nameFromBytes` spells it; empty: the folder itself. */
export type FilePath = readonly string[];

export const MAX_PATH_LENGTH = 4096;
export const MAX_PATH_DEPTH = 64;
/** NAME_MAX of Linux. */
const MAX_NAME_BYTES = 255;

/** The folder of Portcullis at the top of a server's folder: its bin, and files that are being written. */
export const RESERVED_NAME = '.portcullis';

/**
 * Bytes of a name that text cannot hold are written as characters of this private block, one each, so that every name
 * of Linux has one spelling that JSON, a URL and a database take, and that steers no terminal.
 */
const ESCAPES = 0xef00;
const LAST_ESCAPE = ESCAPES + 0xff;
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\uef00-\uefff]/u;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Spells a file name as text. Every other name has another spelling. */
export function nameFromBytes(bytes: Uint8Array): string {
  const whole = decode(bytes);
  if (whole !== null && !UNSAFE.test(whole)) return whole;
  let name = '';
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOf(bytes[at] as number);
    const character = decode(bytes.subarray(at, at + length));
    const isSafe = character !== null && character !== '' && !UNSAFE.test(character);
    name += isSafe ? character : String.fromCharCode(ESCAPES + (bytes[at] as number));
    at += isSafe ? length : 1;
  }
  return name;
}

/** Reads a spelling; null for what is no name of a file. */
export function nameToBytes(name: string): Uint8Array | null {
  if (name === '' || name === '.' || name === '..' || !name.isWellFormed()) return null;
  const bytes: number[] = [];
  for (const character of name) {
    const code = character.codePointAt(0) as number;
    if (code >= ESCAPES && code <= LAST_ESCAPE) {
      const byte = code - ESCAPES;
      const isEscaped = byte >= 0x7f || (byte > 0 && byte < 0x20);
      if (!isEscaped) return null;
      bytes.push(byte);
    } else if (character === '/' || code === 0) return null;
    else bytes.push(...encoder.encode(character));
  }
  return bytes.length > MAX_NAME_BYTES ? null : Uint8Array.from(bytes);
}

/**
 * Parses a path relative to a server's folder: names separated by `/`, with or without one before and after; empty or
 * `/` is the folder itself. It is read once and never decoded again, so nothing that follows can become a `..`.
 */
export function parsePath(text: string): Parsed<FilePath> {
  if (text === '' || text === '/') return parsed([]);
  if (text.length > MAX_PATH_LENGTH) return failed('is longer than 4096 characters');
  const names: string[] = [];
  for (const part of text.replace(/^\//, '').replace(/\/$/, '').split('/')) {
    const bytes = nameToBytes(part);
    if (bytes === null) return failed(`has a part that is no file name: ${JSON.stringify(part)}`);
    names.push(nameFromBytes(bytes));
  }
  if (names.length > MAX_PATH_DEPTH) return failed(`is deeper than ${MAX_PATH_DEPTH} folders`);
  // A character may be several of a spelling.
  if (formatPath(names).length > MAX_PATH_LENGTH) return failed('is longer than 4096 characters');
  if (names[0] === RESERVED_NAME) return failed(`is in ${RESERVED_NAME}, which is of Portcullis`);
  return parsed(names);
}

export function formatPath(path: FilePath): string {
  return path.join('/');
}

/** Whether `path` is `folder` itself or inside it. */
export function isInside(folder: FilePath, path: FilePath): boolean {
  return folder.every((name, index) => path[index] === name);
}

function decode(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** The length of a UTF-8 sequence by its first byte. */
function lengthOf(first: number): number {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}
