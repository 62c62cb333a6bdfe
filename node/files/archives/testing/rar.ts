import { crc32 } from 'node:zlib';

export interface RarEntry {
  readonly name: string;
  readonly content?: string;
  /** Where a symbolic link leads. */
  readonly link?: string;
  readonly mode?: number;
}

const SIGNATURE = Buffer.from('526172211a070100', 'hex');
const MAIN = 1;
const FILE = 2;
const END = 5;
const UNIX = 1;
const UNIX_LINK = 1;

/** A RAR archive of version 5 whose files are stored as they are. Source: https://www.rarlab.com/technote.htm */
export function rarOf(...entries: readonly RarEntry[]): Buffer {
  return Buffer.concat([
    SIGNATURE,
    block([number(MAIN), number(0), number(0)]),
    ...entries.map(fileOf),
    block([number(END), number(0), number(0)]),
  ]);
}

function fileOf({ name, content = '', link, mode = 0o100644 }: RarEntry): Buffer {
  const data = Buffer.from(content);
  const crc = Buffer.alloc(4);
  crc.writeUInt32LE(crc32(data));
  const extra = link === undefined ? Buffer.alloc(0) : redirection(link);
  const header = block([
    number(FILE),
    // With data, and with extra fields.
    number(link === undefined ? 2 : 3),
    ...(link === undefined ? [] : [number(extra.length)]),
    number(data.length),
    // With a checksum.
    number(4),
    number(data.length),
    number(link === undefined ? mode : 0o120777),
    crc,
    number(0),
    number(UNIX),
    number(Buffer.byteLength(name)),
    Buffer.from(name),
    extra,
  ]);
  return Buffer.concat([header, data]);
}

function redirection(target: string): Buffer {
  const record = Buffer.concat([
    number(5),
    number(UNIX_LINK),
    number(0),
    number(Buffer.byteLength(target)),
    Buffer.from(target),
  ]);
  return Buffer.concat([number(record.length), record]);
}

function block(fields: readonly Buffer[]): Buffer {
  const body = Buffer.concat(fields);
  const sized = Buffer.concat([number(body.length), body]);
  const crc = Buffer.alloc(4);
  crc.writeUInt32LE(crc32(sized));
  return Buffer.concat([crc, sized]);
}

/** Seven bits a byte, the lowest first. */
function number(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}
