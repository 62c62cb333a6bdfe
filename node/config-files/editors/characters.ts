import { type Edit, type Edited, Unreadable } from './edit.ts';

/**
 * The characters that can be written into a file as they are: all of Unicode, or those of Latin-1 only. A file that is
 * not UTF-8 is read and written as Latin-1, one byte a character, which cuts any other character into a different one,
 * a line feed among them.
 */
export type Repertoire = 'unicode' | 'latin1';

/** A file as Unicode text without its byte order mark, and the way back. */
export interface Decoded {
  readonly text: string;
  readonly repertoire: Repertoire;
  restore(text: string): string;
}

/**
 * Finds UTF-16, which arrives here as Latin-1 (its byte order marks are not valid UTF-8), and takes byte order marks off.
 * Throws `Unreadable` for text with NUL characters, such as UTF-16 without a mark.
 */
export function decode(text: string): Decoded {
  const wide = decodeUtf16(text);
  if ((wide?.text ?? text).includes('\0')) {
    throw new Unreadable('it has NUL characters, as UTF-16 without a byte order mark does');
  }
  if (wide !== null) return wide;
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const repertoire = repertoireOf(text);
  return { text: text.slice(mark.length), repertoire, restore: (after) => mark + after };
}

function decodeUtf16(text: string): Decoded | null {
  const mark = text.slice(0, 2);
  if (mark !== '\xff\xfe' && mark !== '\xfe\xff') return null;
  if (/[^\0-\xff]/.test(text)) return null;
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length % 2 === 1) throw new Unreadable('it is UTF-16 with half a character at the end');
  const inOrder = (data: Buffer): Buffer => (mark === '\xff\xfe' ? data : data.swap16());
  const decoded = inOrder(bytes.subarray(2)).toString('utf16le');
  if (!decoded.isWellFormed()) throw new Unreadable('it is UTF-16 with half a surrogate pair');
  const restore = (after: string): string =>
    mark + inOrder(Buffer.from(after, 'utf16le')).toString('latin1');
  return { text: decoded, repertoire: 'unicode', restore };
}

/**
 * Latin-1 if the text may have come from a file that is not UTF-8. A UTF-8 file whose only characters beyond ASCII are
 * of Latin-1 looks the same.
 */
function repertoireOf(text: string): Repertoire {
  if (!/[^\0-\x7f]/.test(text) || /[^\0-\xff]/.test(text)) return 'unicode';
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.from(bytes.toString('utf8'), 'utf8').equals(bytes) ? 'unicode' : 'latin1';
}

/** The values that a format can hold. */
export interface Limits {
  /** Whether a line break or a control character in a value would be read as one: the format has no escapes. */
  readonly isPlainLine: boolean;
  /** Whether characters that the file's encoding lacks can be written by an escape. */
  readonly hasEscapes: boolean;
}

/**
 * The edits that the file can hold, and a problem for each other one. In front of every editor, so that no value can
 * ever become a line, a key or an element of its own.
 */
export function writable(
  edits: readonly Edit[],
  repertoire: Repertoire,
  limits: Limits,
): { readonly edits: readonly Edit[]; readonly problems: Edited['problems'] } {
  const problems: string[] = [];
  const kept = edits.filter((edit) => {
    const reason = obstacle(String(edit.value), repertoire, limits);
    if (reason !== null) problems.push(`"${edit.match}": ${reason}`);
    return reason === null;
  });
  return { edits: kept, problems };
}

function obstacle(value: string, repertoire: Repertoire, limits: Limits): string | null {
  if (!value.isWellFormed()) return 'a value with half a surrogate pair cannot be written.';
  if (value.includes('\0')) return 'a value with a NUL character cannot be written.';
  if (limits.isPlainLine) {
    if (/[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/.test(value)) {
      return 'a value of several lines cannot be written.';
    }
    if (/[^\P{Cc}\t]/u.test(value)) return 'a value with control characters cannot be written.';
  }
  if (repertoire === 'unicode' || limits.hasEscapes) return null;
  const [lacking] = /[^\0-\xff]/u.exec(value) ?? [];
  return lacking === undefined
    ? null
    : `the file is not safely UTF-8, so "${lacking}" cannot be written. Save the file as UTF-8 with a byte order mark, or as UTF-16.`;
}
