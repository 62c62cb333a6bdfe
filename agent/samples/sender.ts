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
  /** The timeout of a message. Of the samples that wait, the oldest are dropped. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 2_000;
/** The most subjects in a message: control processes that in some milliseconds. */
const MAX_SUBJECTS = 4_096;

/**
 * Sends samples, one message at a time. A slow or absent control gets only the newest later; memory stays bounded. It
 * also tracks whether control answers, because it sends a request several times a second.
 */
export class SampleSender {
  readonly #options: SampleSenderOptions;
  readonly #waiting: WireSample[] = [];
  #sequence = 0;
  #sending: Promise<void> | null = null;
  #repliedAtMs = performance.now();
  #answers = true;
  #stopped = false;

  constructor(options: SampleSenderOptions) {
    this.#options = options;
  }

  /** The time since the last reply of a working control plane. */
  get silentMs(): number {
    return performance.now() - this.#repliedAtMs;
  }

  /** This process did nothing for so long, so it could not be answered: that says nothing about control. */
  excuse(ms: number): void {
    this.#repliedAtMs += ms;
  }

  /** Whether control accepted the last message. */
  get answers(): boolean {
    return this.#answers;
  }

  /** Control replied, here or to another request. */
  noteReply(): void {
    this.#answers = true;
    this.#repliedAtMs = performance.now();
  }

  push(sample: WireSample): void {
    if (this.#stopped) return;
    if (!isWireSample(sample)) {
      // Control closes the connection on a malformed message, and with it the one that carries policies.
      this.#options.log.error(
        { atMs: sample.atMs },
        'the counters returned a malformed sample, which is not sent',
      );
      return;
    }
    this.#waiting.push(sample);
    while (this.#waiting.length > MAX_SAMPLES_PER_MESSAGE) this.#waiting.shift();
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

  /** The newest samples that fit into a message; older ones are dropped. */
  #newest(): WireSample[] {
    const all = this.#waiting.splice(0);
    let capacity = MAX_SUBJECTS;
    const begin = all.findLastIndex(({ addresses, prefixes }) => {
      capacity -= addresses.length + prefixes.length;
      return capacity < 0;
    });
    return all.slice(Math.min(begin + 1, all.length - 1));
  }

  async #send(samples: readonly WireSample[]): Promise<void> {
    const { link, instance, nowMs, log, timeoutMs = TIMEOUT_MS } = this.#options;
    const sequence = ++this.#sequence;
    const atMs = Math.round(nowMs());
    try {
      const message = { kind: 'watch.samples', instance, sequence, atMs, samples } as const;
      if (isWorking(await link.request(message, timeoutMs))) this.noteReply();
      else this.#answers = false;
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      this.#answers = false;
      log.debug({ error }, 'control did not receive samples');
    }
  }
}

/** Control without its database can neither record nor mitigate an attack. */
function isWorking(reply: ControlReply): boolean {
  return reply.kind !== 'refused' || reply.code !== 'unavailable';
}
