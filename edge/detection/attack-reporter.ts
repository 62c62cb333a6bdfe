import type { Log } from '@portcullis/core/log.ts';
import { RefusedByControl, request } from '@portcullis/agent/request.ts';
import {
  isWireAttack,
  MAX_ATTACKS_PER_MESSAGE,
  type WireAttack,
} from '@portcullis/link/messages/attacks.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';

export interface AttackTellerOptions {
  readonly link: AgentSide;
  readonly instance: string;
  readonly nowMs: () => number;
  readonly log: Log;
  /** Control has these now. */
  readonly told: (attacks: readonly WireAttack[]) => void;
  /** After what was not taken; twice as long each time. */
  readonly firstRetryMs?: number;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** Tells control of attacks, one message at a time, each until it is answered. */
export class AttackTeller {
  readonly #options: AttackTellerOptions;
  #sequence = 1;
  /** What is told under this sequence: the same until it is answered. */
  #pending: readonly WireAttack[] = [];
  #telling: Promise<void> | null = null;
  #notBeforeMs = 0;
  #retryMs: number;
  /** Control does not know of this: as of its last hello. */
  #unwanted = false;

  constructor(options: AttackTellerOptions) {
    this.#options = options;
    this.#retryMs = this.#firstRetryMs;
  }

  /** Control may be another one now. */
  greeted(): void {
    this.#unwanted = false;
    this.#notBeforeMs = 0;
    this.#retryMs = this.#firstRetryMs;
  }

  get #firstRetryMs(): number {
    return this.#options.firstRetryMs ?? FIRST_RETRY_MS;
  }

  /** Whether it would be told now; while control answers, ask often. */
  get ready(): boolean {
    const isDue = performance.now() >= this.#notBeforeMs;
    return this.#telling === null && !this.#unwanted && isDue;
  }

  /** Never rejects, never waits. */
  tell(attacks: readonly WireAttack[]): void {
    if (!this.ready) return;
    if (this.#pending.length === 0) this.#pending = this.#next(attacks);
    if (this.#pending.length > 0) this.#telling = this.#tell();
  }

  async stop(): Promise<void> {
    await this.#telling;
  }

  #next(attacks: readonly WireAttack[]): WireAttack[] {
    return attacks.slice(0, MAX_ATTACKS_PER_MESSAGE).filter((one) => {
      if (isWireAttack(one)) return true;
      // Control hangs up on what it does not understand, and takes the policies with it.
      this.#options.log.error({ id: one.id }, 'an attack makes no sense, and is not told');
      this.#options.told([one]);
      return false;
    });
  }

  async #tell(): Promise<void> {
    const { link, instance, nowMs, log, told } = this.#options;
    const attacks = this.#pending;
    const atMs = Math.round(nowMs());
    try {
      const sequence = this.#sequence;
      await request(link, { kind: 'edge.attacks', instance, sequence, atMs, attacks }, 'done');
      this.#sequence++;
      this.#pending = [];
      this.#retryMs = this.#firstRetryMs;
      log.info({ attacks: attacks.map(({ id }) => id) }, 'told control what was seen alone');
      told(attacks);
    } catch (error) {
      this.#unwanted = error instanceof RefusedByControl && error.code === 'unsupported';
      this.#notBeforeMs = performance.now() + this.#retryMs;
      this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
      log.debug({ error }, 'attacks did not reach control');
    }
    this.#telling = null;
  }
}
