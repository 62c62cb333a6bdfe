import { createHash } from 'node:crypto';

/**
 * Records as lines. Each has a checksum over itself and all lines before it:
 *
 *     <32 hex digits> <JSON>
 *
 * So after truncation or corruption the reader gets a prefix of what was written, and never a mix of two files.
 */
export interface Frames {
  readonly text: string;
  /** The checksum after these lines, from which the next ones continue. */
  readonly chain: string;
}

export interface Unframed {
  readonly records: readonly unknown[];
  /** The checksum and the length in bytes after each record. */
  readonly marks: readonly Mark[];
  /** Whether invalid bytes follow the last record. */
  readonly damaged: boolean;
}
export interface Mark {
  readonly chain: string;
  readonly bytes: number;
}

export const CHAIN_START = '';
const HEX = 32;
const NEWLINE = 10;

export function frame(chain: string, record: object): Frames {
  const json = JSON.stringify(record);
  const next = link(chain, json);
  return { text: `${next} ${json}\n`, chain: next };
}

/** Never throws: invalid bytes end the reading. */
export function unframe(bytes: Buffer): Unframed {
  const records: unknown[] = [];
  const marks: Mark[] = [];
  let chain = CHAIN_START;
  let begin = 0;
  for (;;) {
    const end = bytes.indexOf(NEWLINE, begin);
    if (end < 0) break;
    const next = bytes.toString('latin1', begin, Math.min(begin + HEX, end));
    const json = bytes.subarray(Math.min(begin + HEX + 1, end), end);
    if (bytes[begin + HEX] !== 0x20 || link(chain, json) !== next) break;
    records.push(JSON.parse(json.toString()));
    chain = next;
    begin = end + 1;
    marks.push({ chain, bytes: begin });
  }
  return { records, marks, damaged: begin < bytes.length };
}

function link(chain: string, json: string | Buffer): string {
  return createHash('sha256').update(chain).update(json).digest('hex').slice(0, HEX);
}
