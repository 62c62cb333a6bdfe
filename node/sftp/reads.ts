import { ReadAhead } from './ahead.ts';
import type { ReadBytes, SftpResult } from './messages.ts';

/** The longest read of the agent. */
const MAX_BYTES = 256 * 1024;
/** Reads of the agent at once: one is sent to the client while the next is done. */
const MAX_RUNNING = 2;

export interface ReadRequest {
  readonly handle: number;
  readonly offset: number;
  readonly length: number;
}

interface Read extends ReadRequest {
  readonly kind: 'read';
  readonly resolve: (result: Promise<SftpResult>) => void;
}

/** Other work on a handle, which does not overtake its reads. */
interface Following {
  readonly kind: 'following';
  readonly handle: number;
  readonly begin: () => void;
}

export interface ReadQueueOptions {
  /** Whether the client takes what it gets. */
  readonly hasRoom: () => boolean;
  readonly perform: (read: ReadRequest) => Promise<SftpResult>;
  /** For tests. */
  readonly now?: () => number;
}

/**
 * Reads of one channel, in their order. Clients ask for many small parts of a file ahead; parts that follow one another and
 * wait are one read of the agent. A client that takes no answers has none made.
 */
export class ReadQueue {
  readonly #options: ReadQueueOptions;
  readonly #waiting: (Read | Following)[] = [];
  readonly #ahead: ReadAhead;
  #running = 0;
  /** Counts other work, after which what was read before is not known any more. */
  #followed = 0;

  constructor(options: ReadQueueOptions) {
    this.#options = options;
    this.#ahead = new ReadAhead(options.now);
  }

  /** Takes the start of a file that was opened. */
  opened(handle: number, { data, isEnd }: ReadBytes): void {
    this.#ahead.set(handle, { offset: 0, data: data ?? NO_BYTES, isEnd });
  }

  read(request: ReadRequest): Promise<SftpResult> {
    const { handle, offset, length } = request;
    const known = this.#hasWaiting(handle) ? undefined : this.#ahead.take(handle, offset, length);
    if (known !== undefined && this.#options.hasRoom())
      return Promise.resolve({ kind: 'data', data: known, isEnd: known === null });
    const { promise, resolve } = Promise.withResolvers<SftpResult>();
    this.#waiting.push({ kind: 'read', ...request, resolve });
    this.resume();
    return promise;
  }

  /** Runs other work on a handle, after the reads of it that wait. */
  follow(handle: number, work: () => Promise<SftpResult>): Promise<SftpResult> {
    this.#ahead.forget(handle);
    this.#followed += 1;
    if (!this.#hasWaiting(handle)) return work();
    const { promise, resolve } = Promise.withResolvers<SftpResult>();
    this.#waiting.push({ kind: 'following', handle, begin: () => resolve(work()) });
    return promise;
  }

  /** Begins what there is room for. Called when the client has taken something, too. */
  resume(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      if (first.kind === 'following') {
        this.#waiting.shift();
        first.begin();
        continue;
      }
      if (this.#running >= MAX_RUNNING || !this.#options.hasRoom()) return;
      this.#begin(first, this.#takeAfter(first));
    }
  }

  #hasWaiting(handle: number): boolean {
    return this.#waiting.some((one) => one.handle === handle);
  }

  /** Takes the first read, and those that go on where it ends. */
  #takeAfter(first: Read): readonly Read[] {
    const group: Read[] = [];
    let bytes = 0;
    for (const one of this.#waiting) {
      if (one.kind !== 'read' || one.handle !== first.handle) break;
      const isNext = one.offset === first.offset + bytes && bytes + one.length <= MAX_BYTES;
      if (group.length > 0 && !isNext) break;
      group.push(one);
      bytes += one.length;
    }
    this.#waiting.splice(0, group.length);
    return group;
  }

  async #perform(read: ReadRequest): Promise<SftpResult> {
    const followed = this.#followed;
    try {
      const result = await this.#options.perform(read);
      const isUnchanged = followed === this.#followed;
      if (result.kind === 'data' && result.data !== null && result.isEnd && isUnchanged) {
        const offset = read.offset + result.data.length;
        this.#ahead.set(read.handle, { offset, data: NO_BYTES, isEnd: true });
      }
      return result;
    } finally {
      this.#running -= 1;
      // After the answers, which take room.
      setImmediate(() => this.resume());
    }
  }

  #begin({ handle, offset }: Read, group: readonly Read[]): void {
    const length = group.reduce((sum, one) => sum + one.length, 0);
    this.#running += 1;
    const result = this.#perform({ handle, offset, length });
    let start = 0;
    for (const one of group) {
      const [from, to] = [start, start + one.length];
      one.resolve(result.then((whole) => partOf(whole, from, to)));
      start = to;
    }
  }
}

const NO_BYTES = new Uint8Array();

/** The answer to a part of a read. Behind the end of what was read is the end of the file. */
function partOf(whole: SftpResult, from: number, to: number): SftpResult {
  if (whole.kind !== 'data' || whole.data === null) return whole;
  const data = whole.data.subarray(from, to);
  return { ...whole, data: data.length === 0 ? null : data };
}
