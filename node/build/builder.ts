import type { Log } from '@portcullis/core/log.ts';
import { EngineError, describeFailure } from '../engine/engine.ts';
import type { BuildRecord } from '../journal/record.ts';
import type { Limiter } from '@portcullis/link/limiter.ts';
import { ServerConsole } from '../console/server-console.ts';
import { BuildFailed, logOf } from './build.ts';

const RETRY_MS = 15_000;
/** A finished build is reported with its log for this time: longer than two heartbeats. */
const LOG_REPORTED_MS = 60_000;
/** New lines of a build are reported this often: people watch it. */
const OUTPUT_MS = 2_000;

export interface BuilderOptions {
  readonly uuid: string;
  readonly builds: Limiter;
  readonly log: Log;
  readonly record: BuildRecord;
  /** Resolves once `record` is on the disk. */
  readonly save: () => Promise<void>;
  readonly build: (output: ServerConsole, signal: AbortSignal) => Promise<void>;
  /** There are new lines in the log of the build in progress. */
  readonly onOutput: () => void;
}

/**
 * Builds a server once for each build epoch. A failed build is not retried; one that was interrupted, because the engine
 * was away or the agent stopped, is.
 */
export class Builder {
  readonly #options: BuilderOptions;
  #record: BuildRecord;
  #waitReason: string | null = null;
  #abort: AbortController | null = null;
  /** The epoch that the build in progress is of. */
  #epoch = 0;
  /** A later epoch, whose build replaces the one in progress. */
  #next: number | null = null;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;
  /** The output of the last build of this agent. */
  #output: ServerConsole | null = null;
  #endedMs = 0;

  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#record = options.record;
  }

  /** With the log of a build that runs, or ended just now. */
  get record(): BuildRecord {
    if (this.#record.log !== null || this.#output === null) return this.#record;
    const isNews = this.isRunning || performance.now() - this.#endedMs < LOG_REPORTED_MS;
    return isNews ? { ...this.#record, log: logOf(this.#output) } : this.#record;
  }

  /** A sentence that says what a build waits for; null if none waits. */
  get waitReason(): string | null {
    return this.#waitReason;
  }

  isBuilt(epoch: number): boolean {
    return this.#record.state === 'built' && this.#record.epoch >= epoch;
  }

  /** Whether a build must be done, or was interrupted. */
  isDue(epoch: number): boolean {
    const { state, epoch: last } = this.#record;
    return last < epoch || state === 'none' || state === 'building';
  }

  get isRunning(): boolean {
    return this.#abort !== null;
  }

  /** Fails the build in progress, for a reason of the server's own. */
  fail(reason: string): void {
    this.#abort?.abort(new EngineError('refused', reason));
  }

  /** Records a build that the journal has lost, for a server that has an instance. */
  assumeBuilt(epoch: number): void {
    void this.#save({ epoch, state: 'built', reason: null, log: null });
  }

  /** A build in progress goes on, but for one of an earlier epoch, which is cancelled and replaced. */
  start(epoch: number): void {
    if (this.#closed || !this.isDue(epoch)) return;
    if (this.#abort === null) return void this.#run(epoch);
    if (epoch <= (this.#next ?? this.#epoch)) return;
    this.#next = epoch;
    this.#abort.abort(new EngineError('aborted', 'A newer build replaces this one.'));
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#abort?.abort(new EngineError('aborted', 'The build was cancelled.'));
  }

  async #run(epoch: number): Promise<void> {
    const { uuid, builds, build, log } = this.#options;
    const abort = new AbortController();
    this.#abort = abort;
    this.#epoch = epoch;
    this.#waitReason = 'Other servers are being built.';
    try {
      await builds.run(async () => {
        this.#waitReason = null;
        await this.#save({ epoch, state: 'building', reason: null, log: null });
        await this.#reporting((output) => build(output, abort.signal));
      }, abort.signal);
      await this.#save({ epoch, state: 'built', reason: null, log: null });
    } catch (error) {
      if (this.#next === null) {
        log.warn({ uuid, epoch, error }, 'a server could not be built');
        await this.#failed(epoch, error);
      }
    } finally {
      this.#endedMs = performance.now();
      this.#abort = null;
      const next = this.#next;
      this.#next = null;
      if (next !== null) this.start(next);
    }
  }

  /** Runs a build, and reports what it writes meanwhile. */
  async #reporting(run: (output: ServerConsole) => Promise<void>): Promise<void> {
    const output = new ServerConsole();
    this.#output = output;
    let reported = output.lastNumber;
    const timer = setInterval(() => {
      if (output.lastNumber === reported) return;
      reported = output.lastNumber;
      this.#options.onOutput();
    }, OUTPUT_MS);
    try {
      await run(output);
    } finally {
      clearInterval(timer);
    }
  }

  async #failed(epoch: number, error: unknown): Promise<void> {
    if (this.#closed) return;
    const isUnreachable = error instanceof EngineError && error.code === 'unreachable';
    if (!isUnreachable) {
      const tail = error instanceof BuildFailed && this.#output ? logOf(this.#output) : '';
      const reason = error instanceof BuildFailed ? error.message : describeFailure(error);
      await this.#save({ epoch, state: 'failed', reason, log: tail });
      return;
    }
    this.#waitReason = describeFailure(error);
    this.#retry = setTimeout(() => this.start(epoch), RETRY_MS);
    await this.#save({ ...this.#record, state: 'none' });
  }

  async #save(record: BuildRecord): Promise<void> {
    if (this.#closed) return;
    this.#record = record;
    await this.#options.save();
  }
}
