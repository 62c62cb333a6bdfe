/** The part of a file that was read. */
interface Part {
  readonly bytes: Uint8Array;
  /** Where it begins in the file. */
  readonly offset: number;
  /** The size of the whole file. */
  readonly size: number;
}

/** The end of a file as text, which grows while the file does. */
export interface Tail {
  readonly lines: readonly string[];
  /** A line that is not whole yet. */
  readonly open: string;
  /** Where the next part begins. */
  readonly end: number;
  readonly isBinary: boolean;
}

export const TAIL_BYTES = 256 * 1024;
/** More lines than anybody reads in a page; older ones are in the file. */
const MOST_LINES = 20_000;

export const EMPTY_TAIL: Tail = { lines: [], open: '', end: 0, isBinary: false };

/** The end of a file; its first line is left out where the part begins within it. */
export function tailOf({ bytes, offset }: Part): Tail {
  const tail = grown({ ...EMPTY_TAIL, end: offset }, bytes);
  return offset === 0 ? tail : { ...tail, lines: tail.lines.slice(1) };
}

/** The tail with what was appended to the file. */
export function grown(tail: Tail, bytes: Uint8Array): Tail {
  const { whole, length } = wholeCharacters(bytes);
  const text = tail.open + new TextDecoder().decode(whole);
  const lines = text.split(/\r?\n/);
  const open = lines.pop() ?? '';
  return {
    lines: [...tail.lines, ...lines].slice(-MOST_LINES),
    open,
    end: tail.end + length,
    isBinary: tail.isBinary || bytes.includes(0),
  };
}

/** The bytes without the beginning of a character whose other bytes are not there yet. */
function wholeCharacters(bytes: Uint8Array): {
  readonly whole: Uint8Array;
  readonly length: number;
} {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    const length = needed > back ? bytes.length - back : bytes.length;
    return { whole: bytes.subarray(0, length), length };
  }
  return { whole: bytes, length: bytes.length };
}
