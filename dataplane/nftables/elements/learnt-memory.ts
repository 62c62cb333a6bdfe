import { describeError, type Log } from '@portcullis/core/log.ts';
import type { ChangedPort } from '../../filters/changes.ts';
import type { FilterState } from '../filters/state.ts';
import { DENIED, type Learnt, newestFirst } from './kept-state.ts';
import { withoutPorts } from './learnt-later.ts';
import type { LearntReader } from './learnt-reader.ts';

export interface LearntMemoryOptions {
  readonly open: () => LearntReader;
  readonly log: Log;
  readonly everyMs?: number;
  /** The denied flows that were saved before the table was removed. */
  readonly deniedFlowFile?: {
    load(): Promise<readonly Learnt[]>;
    delete(): void;
  };
}

const EVERY_MS = 5_000;
/** Looking never takes more than about a twentieth of the time. */
const PAUSES = 20;
/** Of a set; those with the most time left, as in `keptState`. */
const MOST = 20_000;

/**
 * Who was validated a few seconds ago, and which connections were denied. A table that somebody else deletes takes that
 * with it; from here it is put back, so that players go on playing. Nothing here fails anything: without a memory they
 * are validated anew.
 */
export class LearntMemory {
  readonly #options: LearntMemoryOptions;
  #reader: LearntReader | null = null;
  #known: readonly Learnt[] = [];
  /** Others than before: what a look under way has seen of before is not to be kept. */
  #changed = 0;
  #filters = false;
  #rewriting = 0;
  #rewrites = 0;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #said: string | null = null;

  constructor(options: LearntMemoryOptions) {
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
  add(elements: readonly Learnt[]): void {
    this.#changed++;
    const known = new Map(this.#known.map((one) => [keyOf(one), one]));
    for (const one of elements) known.set(keyOf(one), one);
    this.#known = [...known.values()];
  }

  /** The table is being written anew, with what is known of it now, until what this gives is called. */
  beginRewrite(): () => void {
    this.#rewriting++;
    return () => {
      this.#rewriting--;
      this.#rewrites++;
    };
  }

  /**
   * Whoever puts something into the table and finds the same number before and after it knows that no rewrite has lost
   * it; null: one is under way.
   */
  get rewrites(): number | null {
    return this.#rewriting > 0 ? null : this.#rewrites;
  }

  /** For a table where there is none: as of the last look, without those whose time is up. */
  async recall(): Promise<Learnt[]> {
    await this.#takeBack();
    const nowMs = performance.now();
    return this.#known.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
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
      const seen: Learnt[] = [];
      for (const state of states) {
        for (const family of [4, 6] as const) {
          const found = await this.#reader.read(state, family);
          // The table is gone: this is what it is remembered for.
          if (found === null) return;
          for (const one of newestFirst(found).slice(0, MOST)) seen.push(one);
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

function keyOf({ set, fields }: Learnt): string {
  return `${set} ${fields.join(' ')}`;
}
