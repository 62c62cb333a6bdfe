/** Files of a channel of which something is known ahead: a client that reads whole files has one or two open. */
const MAX_FILES = 2;
/** A file may change, and a right may end. */
const KNOWN_MS = 500;

/** Bytes of a file that were read before the client asked for them. */
export interface Ahead {
  readonly offset: number;
  readonly data: Uint8Array;
  /** Whether the file ended behind them. */
  readonly isEnd: boolean;
}

/**
 * The next bytes of files that a client reads from their start: those that came when the file was opened, and its end. Each is
 * given once and soon, so a client that looks whether a file has grown is answered by the file.
 */
export class ReadAhead {
  readonly #files = new Map<number, Ahead & { readonly untilMs: number }>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  set(handle: number, ahead: Ahead): void {
    this.#files.delete(handle);
    for (const oldest of this.#files.keys()) {
      if (this.#files.size < MAX_FILES) break;
      this.#files.delete(oldest);
    }
    this.#files.set(handle, { ...ahead, untilMs: this.#now() + KNOWN_MS });
  }

  forget(handle: number): void {
    this.#files.delete(handle);
  }

  /** The answer to a read, null for the end of the file; undefined if it is not known. */
  take(handle: number, offset: number, length: number): Uint8Array | null | undefined {
    const known = this.#files.get(handle);
    if (known === undefined) return undefined;
    this.#files.delete(handle);
    const { data, isEnd, untilMs } = known;
    // Fewer bytes than were asked for would be taken for the end.
    const isWhole = isEnd || length <= data.length;
    if (offset !== known.offset || !isWhole || this.#now() > untilMs) return undefined;
    if (data.length === 0 || length === 0) return null;
    const taken = data.subarray(0, length);
    const rest = { offset: offset + taken.length, data: data.subarray(length), isEnd };
    if (isEnd || rest.data.length > 0) this.#files.set(handle, { ...rest, untilMs });
    return taken;
  }
}
