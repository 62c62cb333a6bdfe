import type { Log } from '@portcullis/core/log.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import {
  isWireSample,
  MAX_SAMPLES_PER_MESSAGE,
  type WireSample,
} from '@portcullis/link/messages/attacks.ts';
import { type AgentSide, LinkError } from '@portcullis/link/transport/transport.ts';

export interface SampleSenderOptions {
  readonly link: AgentSide;
  readonly instance: string;
  /** The wall clock. */
  readonly nowMs: () => number;
  readonly log: Log;
  /** How long a message may take; what waits meanwhile is thrown away from the oldest on. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 2_000;
/** Subjects of a message: what a peer takes in some milliseconds. */
const MAX_SUBJECTS = 4_096;

/**
 * Sends samples, one message at a time. Control that is slow or away gets the newest when it is back; nothing here
 * waits for it or grows meanwhile. Whether control answers at all is known best here, where it is asked all the time.
 */
export class SampleSender {
  readonly #options: SampleSenderOptions;
  readonly #waiting: WireSample[] = [];
  #sequence = 0;
  #sending: Promise<void> | null = null;
  #heardAtMs = performance.now();
  #unheardAtMs: number | null = null;
  #answers = true;
  #stopped = false;

  constructor(options: SampleSenderOptions) {
    this.#options = options;
  }

  /** Since control last answered as one that works. Never rejects, never waits. */
  get silentMs(): number {
    return performance.now() - this.#heardAtMs;
  }

  /** Whether control took the last message that is settled: what is told now is likely to arrive as it is now. */
  get answers(): boolean {
    return this.#answers;
  }

  /** When the newest bucket that control did not take ended, of those since this was last asked; null: it took all. */
  takeUnheard(): number | null {
    const atMs = this.#unheardAtMs;
    this.#unheardAtMs = null;
    return atMs;
  }

  /** Control was heard elsewhere. */
  heard(): void {
    this.#answers = true;
    this.#heardAtMs = performance.now();
  }

  push(sample: WireSample): void {
    if (this.#stopped) return;
    if (!isWireSample(sample)) {
      // Control hangs up on what it does not understand, and takes the policies with it.
      this.#options.log.error({ atMs: sample.atMs }, 'counters told what makes no sense');
      return;
    }
    this.#waiting.push(sample);
    while (this.#waiting.length > MAX_SAMPLES_PER_MESSAGE) this.#missed(this.#waiting.shift());
    this.#sending ??= this.#sendAll();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.length = 0;
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send(this.#newest());
    this.#sending = null;
  }

  /** What fits into a message, from the newest back; the rest is too old to be of use. */
  #newest(): WireSample[] {
    const all = this.#waiting.splice(0);
    let room = MAX_SUBJECTS;
    const begin = all.findLastIndex(({ addresses, prefixes }) => {
      room -= addresses.length + prefixes.length;
      return room < 0;
    });
    const first = Math.min(begin + 1, all.length - 1);
    this.#missed(all[first - 1]);
    return all.slice(first);
  }

  #refused(samples: readonly WireSample[]): void {
    this.#answers = false;
    this.#missed(samples.at(-1));
  }

  /** Control judges without this bucket, and those before it. */
  #missed(sample: WireSample | undefined): void {
    if (sample === undefined) return;
    this.#unheardAtMs = Math.max(this.#unheardAtMs ?? sample.atMs, sample.atMs);
  }

  async #send(samples: readonly WireSample[]): Promise<void> {
    const { link, instance, nowMs, log, timeoutMs = TIMEOUT_MS } = this.#options;
    const sequence = ++this.#sequence;
    const atMs = Math.round(nowMs());
    try {
      const message = { kind: 'watch.samples', instance, sequence, atMs, samples } as const;
      if (isWorking(await link.request(message, timeoutMs))) this.heard();
      else this.#refused(samples);
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      this.#refused(samples);
      log.debug({ error }, 'samples did not reach control');
    }
  }
}

/** One whose database is away can neither record an attack nor do anything against it. */
function isWorking(reply: ControlReply): boolean {
  return reply.kind !== 'refused' || reply.code !== 'unavailable';
}
