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
/** Looking never takes more than about a twentieth of the time. */
const PAUSES = 20;
/**
 * Of each set, the elements with the most time left: active clients renew theirs with every packet, and in a flood most
 * others are forged. 100,000 would delay the write of the table by four seconds.
 */
const MOST = 20_000;

/**
 * Who was validated a few seconds ago, and which connections were denied. A table that somebody else deletes takes that
 * with it; from here it is put back, so that players go on playing. Nothing here fails anything: without a memory they
 * are validated anew.
 */
export class LearnedMemory {
  readonly #options: LearnedMemoryOptions;
  #reader: LearnedReader | null = null;
  #known: readonly Learned[] = [];
  /** Others than before: what a look under way has seen of before is not to be kept. */
  #changed = 0;
  #filters = false;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #said: string | null = null;

  constructor(options: LearnedMemoryOptions) {
    this.#options = options;
  }

  /** From now on. `filters`: there are some, or none any more. */
  watch(filters: boolean): void {
    this.#options.deniedFlowFile?.delete();
    if (!filters && this.#filters) {
      this.#changed++;
      this.#known = this.#known.filter(({ set }) => set.startsWith('denied'));
    }
    this.#filters = filters;
    if (this.#stopped || this.#timer !== undefined) return;
    this.#lookIn(this.#options.everyMs ?? EVERY_MS);
  }

  /** Somebody is about to put these into the table. */
  add(elements: readonly Learned[]): void {
    this.#changed++;
    const known = new Map(this.#known.map((one) => [keyOf(one), one]));
    for (const one of elements) known.set(keyOf(one), one);
    this.#known = [...known.values()];
  }

  /**
   * What a table that is about to be created must contain. Reads the table of now if there is one. `filters`: validated
   * sources too.
   */
  async recall(filters: boolean): Promise<Learned[]> {
    this.#filters ||= filters;
    await this.#looking;
    await this.#look();
    await this.#takeBack();
    const nowMs = performance.now();
    return this.#known.filter(
      ({ set, expiresAtMs }) => expiresAtMs > nowMs && (filters || set.startsWith('denied')),
    );
  }

  /** Everybody on these ports begins anew. */
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
    this.#rest();
    await this.#looking;
    this.#reader?.close();
    this.#reader = null;
  }

  async #takeBack(): Promise<void> {
    try {
      const back = (await this.#options.deniedFlowFile?.load()) ?? [];
      if (back.length > 0) this.add(back);
    } catch (error) {
      this.#options.log.warn({ error }, 'flows denied before edge off could not be loaded');
    }
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => {
      const beginMs = performance.now();
      this.#looking = this.#look().finally(() => {
        this.#looking = null;
        const tookMs = performance.now() - beginMs;
        const { everyMs = EVERY_MS } = this.#options;
        if (this.#timer !== undefined) this.#lookIn(Math.max(everyMs, tookMs * PAUSES));
      });
    }, ms);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const changed = this.#changed;
    const states: readonly FilterState[] = this.#filters ? [...DENIED, 'validated'] : DENIED;
    try {
      this.#reader ??= this.#options.open();
      const seen: Learned[] = [];
      for (const state of states) {
        for (const family of [4, 6] as const) {
          const found = await this.#reader.read(state, family);
          // The table is gone: this is what it is remembered for.
          if (found === null) return;
          const newest = found.toSorted((a, b) => b.expiresAtMs - a.expiresAtMs);
          seen.push(...newest.slice(0, MOST));
        }
      }
      if (changed === this.#changed) this.#known = seen;
    } catch (error) {
      const said = describeError(error);
      if (said !== this.#said)
        this.#options.log.warn({ error }, 'what the table has learnt cannot be read');
      this.#said = said;
    }
  }
}

function keyOf({ set, fields }: Learned): string {
  return `${set} ${fields.join(' ')}`;
}
