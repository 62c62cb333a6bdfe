/**
 * Parses the parts of ELF that a BPF object uses: 64 bits, little-endian, relocations without addends. Source: the
 * System V ABI, and llvm's description of R_BPF_64_64.
 */
export interface Section {
  readonly name: string;
  readonly bytes: Buffer;
}
export interface Symbol {
  readonly name: string;
  readonly section: string | null;
  readonly value: number;
}
export interface Relocation {
  /** In bytes from the start of the section. */
  readonly offset: number;
  readonly type: number;
  readonly symbol: Symbol;
}

const SYMBOL_TABLE = 2;
const RELOCATIONS = 9;
const HEADER_BYTES = 64;
const SYMBOL_BYTES = 24;
const RELOCATION_BYTES = 16;

interface Header {
  readonly name: string;
  readonly type: number;
  readonly bytes: Buffer;
  readonly link: number;
  readonly info: number;
}

export class Elf {
  readonly #headers: readonly Header[];
  readonly symbols: readonly Symbol[];

  /** Throws unless the file is 64-bit little-endian ELF. */
  constructor(file: Buffer) {
    if (file.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') throw new Error('not a BPF object');
    this.#headers = readHeaders(file);
    const table = this.#headers.find(({ type }) => type === SYMBOL_TABLE);
    if (table === undefined) throw new Error('a BPF object without symbols');
    this.symbols = this.#readSymbols(table);
  }

  section(name: string): Buffer | null {
    return this.#headers.find((header) => header.name === name)?.bytes ?? null;
  }

  sections(): Section[] {
    return this.#headers.map(({ name, bytes }) => ({ name, bytes }));
  }

  relocationsOf(section: string): Relocation[] {
    const place = this.#headers.findIndex(({ name }) => name === section);
    const found = this.#headers.find(({ type, info }) => type === RELOCATIONS && info === place);
    if (found === undefined) return [];
    return records(found.bytes, RELOCATION_BYTES).map((record) => {
      const symbol = this.symbols[record.readUInt32LE(12)];
      if (symbol === undefined) throw new Error('a relocation against no symbol');
      return { offset: Number(record.readBigUInt64LE(0)), type: record.readUInt32LE(8), symbol };
    });
  }

  #readSymbols(table: Header): Symbol[] {
    const names = this.#headers[table.link]?.bytes ?? Buffer.alloc(0);
    return records(table.bytes, SYMBOL_BYTES).map((record) => ({
      name: textAt(names, record.readUInt32LE(0)),
      section: this.#headers[record.readUInt16LE(6)]?.name ?? null,
      value: Number(record.readBigUInt64LE(8)),
    }));
  }
}

function readHeaders(file: Buffer): Header[] {
  const offset = Number(file.readBigUInt64LE(40));
  const count = file.readUInt16LE(60);
  const raw = records(file.subarray(offset, offset + count * HEADER_BYTES), HEADER_BYTES);
  const bytesOf = (header: Buffer): Buffer => {
    const begin = Number(header.readBigUInt64LE(24));
    return file.subarray(begin, begin + Number(header.readBigUInt64LE(32)));
  };
  const nameTable = raw[file.readUInt16LE(62)];
  const names = nameTable === undefined ? Buffer.alloc(0) : bytesOf(nameTable);
  return raw.map((header) => ({
    name: textAt(names, header.readUInt32LE(0)),
    type: header.readUInt32LE(4),
    bytes: bytesOf(header),
    link: header.readUInt32LE(40),
    info: header.readUInt32LE(44),
  }));
}

function records(bytes: Buffer, size: number): Buffer[] {
  const count = Math.floor(bytes.length / size);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

function textAt(bytes: Buffer, offset: number): string {
  return bytes.toString('latin1', offset, bytes.indexOf(0, offset));
}
