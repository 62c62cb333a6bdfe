import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient } from '../api-client.ts';

/** Of operation 11, what tests look at. */
export interface AttackRead {
  readonly id: number;
  readonly destination_ip: string;
  readonly attack_type: string;
  readonly peak_pps: number;
  readonly peak_bps: number;
  readonly mitigated_at: string | null;
  readonly ended_at: string | null;
}

/** What a caller saw of one attack. Wall clock. */
export interface AttackSeen {
  readonly attack: AttackRead;
  readonly openedAtMs: number;
  readonly mitigatedAtMs: number | null;
  readonly endedAtMs: number | null;
}

const LOOK_MS = 100;
const PER_PAGE = 100;

/** Looks at the history of attacks as a caller does, again and again, and notes when it first shows what. */
export class AttackLog {
  readonly seen = new Map<number, AttackSeen>();
  readonly #api: ApiClient;
  readonly #looking: Promise<void>;
  #stopped = false;

  constructor(api: ApiClient) {
    this.#api = api;
    this.#looking = this.#look();
  }

  on(address: string): AttackSeen[] {
    return [...this.seen.values()].filter(({ attack }) => attack.destination_ip === address);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking;
  }

  async #look(): Promise<void> {
    while (!this.#stopped) {
      const { status, body } = await this.#api.call<{ readonly data: readonly AttackRead[] }>(
        'GET',
        `/api/v1/attacks?per_page=${PER_PAGE}`,
      );
      if (status !== 200) throw new Error(`attacks: ${status} ${JSON.stringify(body)}`);
      for (const attack of body.data) this.#note(attack, Date.now());
      await pause(LOOK_MS);
    }
  }

  #note(attack: AttackRead, atMs: number): void {
    const before = this.seen.get(attack.id);
    this.seen.set(attack.id, {
      attack,
      openedAtMs: before?.openedAtMs ?? atMs,
      mitigatedAtMs: before?.mitigatedAtMs ?? (attack.mitigated_at === null ? null : atMs),
      endedAtMs: attack.ended_at === null ? null : (before?.endedAtMs ?? atMs),
    });
  }
}
