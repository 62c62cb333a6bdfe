import { describeError, type Log } from '@portcullis/link/agent-log.ts';
import type { ChangedPort } from '../filters/changes.ts';
import { type Learnt, newestFirst } from './kept-state.ts';
import { withoutPorts } from './learnt-later.ts';
import type { LearntReader } from './learnt-reader.ts';

export interface LearntMemoryOptions {
  readonly open: () => LearntReader;
  readonly log: Log;
  readonly everyMs?: number;
}

const EVERY_MS = 5_000;
/** Looking never takes more than about a twentieth of the time. */
const PAUSES = 20;
/** Of a family; those with the most time left, as in `keptState`. */
const MOST = 20_000;

/**
 * Who was validated a few seconds ago. A table that somebody else deletes takes that with it; from here it is put back,
 * so that players go on playing. Nothing here fails anything: without a memory they are validated anew.
 */
export class LearntMemory {
  readonly #options: LearntMemoryOptions;
  #reader: LearntReader | null = null;
  #known: readonly Learnt[] = [];
  /** Forgotten meanwhile: what a look under way has seen of before is not to be kept. */
  #forgotten = 0;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #said: string | null = null;

  constructor(options: LearntMemoryOptions) {
    this.#options = options;
  }

  /** There are filters, or none any more. */
  watch(wanted: boolean): void {
    if (!wanted) this.clear();
    if (this.#stopped || wanted === (this.#timer !== undefined)) return;
    if (wanted) this.#lookIn(this.#options.everyMs ?? EVERY_MS);
    else this.#rest();
  }

  /** As of the last look, without those whose time is up. */
  recall(): Learnt[] {
    const nowMs = performance.now();
    return this.#known.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  }

  /** Everybody on these ports begins anew. */
  forget(ports: readonly ChangedPort[]): void {
    if (ports.length === 0) return;
    this.#forgotten++;
    this.#known = withoutPorts(this.#known, ports);
  }

  clear(): void {
    this.#forgotten++;
    this.#known = [];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rest();
    await this.#looking;
    this.#reader?.close();
    this.#reader = null;
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
    const forgotten = this.#forgotten;
    try {
      this.#reader ??= this.#options.open();
      const seen: Learnt[] = [];
      for (const family of [4, 6] as const) {
        const found = await this.#reader.read('validated', family);
        // The table is gone: this is what it is remembered for.
        if (found === null) return;
        for (const one of newestFirst(found).slice(0, MOST)) seen.push(one);
      }
      if (forgotten === this.#forgotten) this.#known = seen;
    } catch (error) {
      const said = describeError(error);
      if (said !== this.#said)
        this.#options.log.warn({ error }, 'validated sources cannot be read');
      this.#said = said;
    }
  }
}
