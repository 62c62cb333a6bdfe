import type { Log } from '@portcullis/core/log.ts';
import { RefusedByControl, request } from '@portcullis/agent/request.ts';
import {
  isWireAttack,
  MAX_ATTACKS_PER_MESSAGE,
  type WireAttack,
} from '@portcullis/link/messages/attacks.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';

export interface AttackReporterOptions {
  readonly link: AgentSide;
  readonly instance: string;
  readonly nowMs: () => number;
  readonly log: Log;
  /** Control has acknowledged these. */
  readonly acknowledged: (attacks: readonly WireAttack[]) => void;
  /** The first pause after a failure; doubles each time. */
  readonly firstRetryMs?: number;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** Sends autonomously detected attacks to control, one message at a time, each until control acknowledges it. */
export class AttackReporter {
  readonly #options: AttackReporterOptions;
  #sequence = 1;
  /** The attacks of the present sequence number: unchanged until control acknowledges them. */
  #pending: readonly WireAttack[] = [];
  #sending: Promise<void> | null = null;
  #notBeforeMs = 0;
  #retryMs: number;
  /** Control is too old for this message, as of the last hello. */
  #unsupported = false;

  constructor(options: AttackReporterOptions) {
    this.#options = options;
    this.#retryMs = this.#firstRetryMs;
  }

  /** After a hello control may be a newer one. */
  greeted(): void {
    this.#unsupported = false;
    this.#notBeforeMs = 0;
    this.#retryMs = this.#firstRetryMs;
  }

  get #firstRetryMs(): number {
    return this.#options.firstRetryMs ?? FIRST_RETRY_MS;
  }

  /** Whether `report` would send now. */
  get ready(): boolean {
    const isDue = performance.now() >= this.#notBeforeMs;
    return this.#sending === null && !this.#unsupported && isDue;
  }

  /** Never rejects, never waits. */
  report(attacks: readonly WireAttack[]): void {
    if (!this.ready) return;
    if (this.#pending.length === 0) this.#pending = this.#next(attacks);
    if (this.#pending.length > 0) this.#sending = this.#send();
  }

  async stop(): Promise<void> {
    await this.#sending;
  }

  #next(attacks: readonly WireAttack[]): WireAttack[] {
    return attacks.slice(0, MAX_ATTACKS_PER_MESSAGE).filter((one) => {
      if (isWireAttack(one)) return true;
      // Control closes the connection on a malformed message, and with it the one that carries policies.
      this.#options.log.error({ id: one.id }, 'an attack is malformed and is not reported');
      this.#options.acknowledged([one]);
      return false;
    });
  }

  async #send(): Promise<void> {
    const { link, instance, nowMs, log, acknowledged } = this.#options;
    const attacks = this.#pending;
    const atMs = Math.round(nowMs());
    try {
      const sequence = this.#sequence;
      await request(link, { kind: 'edge.attacks', instance, sequence, atMs, attacks }, 'done');
      this.#sequence++;
      this.#pending = [];
      this.#retryMs = this.#firstRetryMs;
      log.info(
        { attacks: attacks.map(({ id }) => id) },
        'reported autonomously detected attacks to control',
      );
      acknowledged(attacks);
    } catch (error) {
      this.#unsupported = error instanceof RefusedByControl && error.code === 'unsupported';
      this.#notBeforeMs = performance.now() + this.#retryMs;
      this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
      log.debug({ error }, 'control did not receive attacks');
    }
    this.#sending = null;
  }
}
