import type { Log } from '@portcullis/core/log.ts';
import { EngineError, sentenceOf } from '../engine/engine.ts';
import type { BuildRecord } from '../journal/record.ts';
import type { Limiter } from '../server/limiter.ts';
import { BuildFailed } from './build.ts';

const AGAIN_MS = 15_000;

export interface BuilderOptions {
  readonly uuid: string;
  readonly builds: Limiter;
  readonly log: Log;
  readonly record: BuildRecord;
  /** Resolves once it is on the disk. */
  readonly keep: (record: BuildRecord) => Promise<void>;
  readonly build: (signal: AbortSignal) => Promise<void>;
}

/**
 * Sees to it that a server is built as of the epoch that is wanted, once. A failed build is not tried again by itself;
 * one that could not be done, as the engine was away or the agent was stopped, is.
 */
export class Builder {
  readonly #options: BuilderOptions;
  #record: BuildRecord;
  #waitsFor: string | null = null;
  #abort: AbortController | null = null;
  #again: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#record = options.record;
  }

  get record(): BuildRecord {
    return this.#record;
  }

  /** Why nothing has begun, a sentence; null: it has, or nothing is to do. */
  get waitsFor(): string | null {
    return this.#waitsFor;
  }

  isBuilt(epoch: number): boolean {
    return this.#record.state === 'built' && this.#record.epoch >= epoch;
  }

  /** Whether a build is to be done, or done again as it was cut off. */
  isDue(epoch: number): boolean {
    const { state, epoch: last } = this.#record;
    return last < epoch || state === 'none' || state === 'building';
  }

  get isUnderWay(): boolean {
    return this.#abort !== null;
  }

  /** Fails what is under way, for a reason of the server's own. */
  end(reason: string): void {
    this.#abort?.abort(new EngineError('refused', reason));
  }

  /** It was built, says what is there, though nobody remembers. */
  assume(epoch: number): void {
    void this.#keep({ epoch, state: 'built', reason: null, log: null });
  }

  /** No-op while a build is under way. */
  begin(epoch: number): void {
    if (this.#closed || this.#abort !== null || !this.isDue(epoch)) return;
    void this.#run(epoch);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#again);
    this.#abort?.abort(new EngineError('aborted', 'The build was called off.'));
  }

  async #run(epoch: number): Promise<void> {
    const { uuid, builds, build, log } = this.#options;
    const abort = new AbortController();
    this.#abort = abort;
    this.#waitsFor = 'Other servers are being built.';
    try {
      await builds.run(abort.signal, async () => {
        this.#waitsFor = null;
        await this.#keep({ epoch, state: 'building', reason: null, log: null });
        await build(abort.signal);
      });
      await this.#keep({ epoch, state: 'built', reason: null, log: null });
    } catch (error) {
      log.warn({ uuid, epoch, error }, 'a server could not be built');
      await this.#failed(epoch, error);
    } finally {
      this.#abort = null;
    }
  }

  async #failed(epoch: number, error: unknown): Promise<void> {
    if (this.#closed) return;
    const isAway = error instanceof EngineError && error.code === 'unreachable';
    if (!isAway) {
      const tail = error instanceof BuildFailed ? error.log : '';
      const reason = error instanceof BuildFailed ? error.message : sentenceOf(error);
      await this.#keep({ epoch, state: 'failed', reason, log: tail });
      return;
    }
    this.#waitsFor = sentenceOf(error);
    this.#again = setTimeout(() => this.begin(epoch), AGAIN_MS);
    await this.#keep({ ...this.#record, state: 'none' });
  }

  async #keep(record: BuildRecord): Promise<void> {
    if (this.#closed) return;
    this.#record = record;
    await this.#options.keep(record);
  }
}
