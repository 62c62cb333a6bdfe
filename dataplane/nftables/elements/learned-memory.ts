import { describeError, type Log } from '@portcullis/core/log.ts';
import type { ChangedPort } from '../../filters/changes.ts';
import type { FilterState } from '../filters/state.ts';
import { DENIED, type Learned, withoutPorts } from './learned-elements.ts';
import type { LearnedReader } from './learned-reader.ts';

export interface LearnedMemoryOptions {
  readonly open: () => LearnedReader;
  readonly log: Log;
  readonly everyMs?: number;
  /** The denied flows that were saved before the table was removed. */
  readonly deniedFlowFile?: {
    load(): Promise<readonly Learned[]>;
    delete(): void;
  };
}

const EVERY_MS = 5_000;
/** The pause is 20 times the duration of the read, so reading takes 5% of the time. */
const PAUSE_RATIO = 20;
/**
 * The number of elements copied of each set: those with the longest remaining timeout. Active clients renew theirs with
 * every packet; in a flood most others are forged. 100,000 would delay the write of the table by four seconds.
 */
const MAX_COPIED = 20_000;

/**
 * A copy of the validated sources and denied flows, a few seconds old. If another program deletes the table, the new
 * table gets them from here. A failure to read them stops nothing: sources are then validated again.
 */
export class LearnedMemory {
  readonly #options: LearnedMemoryOptions;
  #reader: LearnedReader | null = null;
  #known: readonly Learned[] = [];
  /** Incremented by each change, so that an earlier read is discarded. */
  #changed = 0;
  #filters = false;
  #reading: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #loggedError: string | null = null;

  constructor(options: LearnedMemoryOptions) {
    this.#options = options;
  }

  /** Starts the copying. `filters`: whether any target has filters. */
  watch(filters: boolean): void {
    this.#options.deniedFlowFile?.delete();
    if (!filters && this.#filters) {
      this.#changed++;
      this.#known = this.#known.filter(({ set }) => set.startsWith('denied'));
    }
    this.#filters = filters;
    if (this.#stopped || this.#timer !== undefined) return;
    this.#readAfter(this.#options.everyMs ?? EVERY_MS);
  }

  /** Records elements that the caller is about to add to the table. */
  add(elements: readonly Learned[]): void {
    this.#changed++;
    const known = new Map(this.#known.map((one) => [keyOf(one), one]));
    for (const one of elements) known.set(keyOf(one), one);
    this.#known = [...known.values()];
  }

  /**
   * Returns the elements that a new table must contain. Reads the present table if it exists. `filters`: with validated
   * sources.
   */
  async recall(filters: boolean): Promise<Learned[]> {
    this.#filters ||= filters;
    await this.#read();
    await this.#loadFile();
    const nowMs = performance.now();
    return this.#known.filter(
      ({ set, expiresAtMs }) => expiresAtMs > nowMs && (filters || set.startsWith('denied')),
    );
  }

  /** Sources must be validated again on these ports. */
  forget(ports: readonly ChangedPort[]): void {
    if (ports.length === 0) return;
    this.#changed++;
    this.#known = withoutPorts(this.#known, ports);
  }

  clear(): void {
    this.#changed++;
    this.#known = [];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#reading;
    this.#reader?.close();
    this.#reader = null;
  }

  async #loadFile(): Promise<void> {
    try {
      const flows = (await this.#options.deniedFlowFile?.load()) ?? [];
      if (flows.length > 0) this.add(flows);
    } catch (error) {
      this.#options.log.warn({ error }, 'flows denied before edge off could not be loaded');
    }
  }

  #readAfter(ms: number): void {
    this.#timer = setTimeout(() => {
      const beginMs = performance.now();
      void this.#read().then(() => {
        const tookMs = performance.now() - beginMs;
        const { everyMs = EVERY_MS } = this.#options;
        if (this.#timer !== undefined) this.#readAfter(Math.max(everyMs, tookMs * PAUSE_RATIO));
      });
    }, ms);
    this.#timer.unref();
  }

  /** Serialised, because reads share a socket. Never rejects. */
  #read(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readTable());
    return this.#reading;
  }

  async #readTable(): Promise<void> {
    const changed = this.#changed;
    const states: readonly FilterState[] = this.#filters ? [...DENIED, 'validated'] : DENIED;
    try {
      this.#reader ??= this.#options.open();
      const seen: Learned[] = [];
      for (const state of states) {
        for (const family of [4, 6] as const) {
          const found = await this.#reader.read(state, family);
          // The table is absent: the copy is needed now.
          if (found === null) return;
          const newest = found.toSorted((a, b) => b.expiresAtMs - a.expiresAtMs);
          seen.push(...newest.slice(0, MAX_COPIED));
        }
      }
      if (changed === this.#changed) this.#known = seen;
    } catch (error) {
      const text = describeError(error);
      if (text !== this.#loggedError)
        this.#options.log.warn({ error }, 'the learned elements of the table cannot be read');
      this.#loggedError = text;
    }
  }
}

function keyOf({ set, fields }: Learned): string {
  return `${set} ${fields.join(' ')}`;
}
