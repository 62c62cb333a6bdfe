import { createHash, type Hash } from 'node:crypto';

/**
 * A backup is one gzip file. Its first line is a `Manifest` as JSON. Then come the rows of each table, in the
 * manifest's order, as PostgreSQL's COPY writes them, each table ended by the line `\.`, which no row can be. The
 * last but one line is an `Ending`, the last one the SHA-256 of everything before it, in hex.
 */
export const FORMAT = 1;

/** Why a backup cannot be made or restored, as the rest of a sentence about the file. Nothing was changed. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export interface Manifest {
  readonly format: typeof FORMAT;
  readonly madeAt: string;
  /** The generation that was accepted. */
  readonly generation: number;
  readonly migrations: readonly { readonly name: string; readonly hash: string }[];
  /** In an order in which each finds the rows that it refers to. */
  readonly tables: readonly BackupTable[];
  /** Months of tables that are partitioned. */
  readonly partitions: readonly { readonly parent: string; readonly month: string }[];
}

export interface BackupTable {
  readonly name: string;
  /** Columns without generated ones. */
  readonly columns: readonly string[];
}

export interface Ending {
  /** Null: it was never used. */
  readonly sequences: Readonly<Record<string, string | null>>;
}

export const END_OF_TABLE = Buffer.from('\\.\n');

/** Reads lines and tables from the chunks of a file that may be damaged or cut. */
export class BackupReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #hash: Hash = createHash('sha256');
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** One line of JSON, of at most a few megabytes. */
  async json(): Promise<unknown> {
    const line = await this.#line();
    this.#hash.update(line);
    try {
      return JSON.parse(line.toString('utf8'));
    } catch (cause) {
      throw new BackupError('it is damaged', { cause });
    }
  }

  /** The rows of the next table. */
  async *rows(): AsyncGenerator<Buffer, void> {
    let isLineStart = true;
    for (;;) {
      const end = endOfRows(this.#rest, isLineStart);
      if (end !== -1) {
        const rows = this.#take(end);
        this.#hash.update(rows).update(this.#take(END_OF_TABLE.length));
        if (rows.length > 0) yield rows;
        return;
      }
      // The end may be cut in two: it and the line break before it stay until there is more.
      const safe = this.#rest.length - END_OF_TABLE.length - 1;
      if (safe > 0) {
        const rows = this.#take(safe);
        this.#hash.update(rows);
        isLineStart = rows.at(-1) === LINE_BREAK;
        yield rows;
      }
      await this.#more();
    }
  }

  /** Reads the last line, and throws unless it is the hash of everything before it. */
  async verify(): Promise<void> {
    const expected = this.#hash.digest('hex');
    const line = (await this.#line()).toString('utf8').trimEnd();
    if (line !== expected) throw new BackupError('it is damaged: its checksum differs');
  }

  async #line(): Promise<Buffer> {
    for (;;) {
      const end = this.#rest.indexOf(LINE_BREAK);
      if (end !== -1) return this.#take(end + 1);
      await this.#more();
    }
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#chunks.next();
    if (done === true) throw new BackupError('it is incomplete: its end is missing');
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
  }
}

const LINE_BREAK = 0x0a;
const END_AFTER_ROWS = Buffer.concat([Buffer.from([LINE_BREAK]), END_OF_TABLE]);

/** Where the rows end in these bytes, or -1. */
function endOfRows(bytes: Buffer, isLineStart: boolean): number {
  if (isLineStart && bytes.subarray(0, END_OF_TABLE.length).equals(END_OF_TABLE)) return 0;
  const at = bytes.indexOf(END_AFTER_ROWS);
  return at === -1 ? -1 : at + 1;
}
