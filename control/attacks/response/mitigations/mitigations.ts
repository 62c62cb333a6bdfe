import type { Db } from '../../../db/database.ts';
import { awaitsConfirmation, recordConfirmed } from './confirm.ts';
import type { MitigationEvents } from './events.ts';
import type { ReportedAttack } from '../../detection/index.ts';
import { type Responded, type RespondHooks, respondToReports, sweepResponses } from './respond.ts';
import { hasAttacks } from './store.ts';

export interface MitigationOptions {
  readonly db: Db;
  readonly events: MitigationEvents;
  /** The interval of the sweep for missed work; default 5 s. */
  readonly sweepMs?: number;
  /** Called when responders may have to be called. */
  readonly onCalls?: () => void;
}

/** The mitigations of the control plane. */
export interface Mitigations {
  /** Called after the attack was recorded. Never rejects: the next sweep repeats what failed. */
  onAttack(reported: ReportedAttack): Promise<void>;
  /** Called when settings changed. */
  wake(): void;
  stop(): Promise<void>;
}

const SWEEP_MS = 5_000;
/** The number of sweeps between full comparisons with the settings. */
const WHOLE_EVERY = 2;
/** How long a confirmation is awaited: there may be no enforcing edge. */
const CONFIRM_MS = 100;
const AWAITED_MS = 30_000;

export function startMitigations(options: MitigationOptions): Mitigations {
  return new Responder(options);
}

/** Runs one task at a time; database locks prevent double work of replicas. */
class Responder implements Mitigations {
  readonly #db: Db;
  readonly #events: MitigationEvents;
  readonly #sweepMs: number;
  readonly #hooks: RespondHooks;
  readonly #onCalls: () => void;
  /** The latest unprocessed report of each attack. */
  readonly #reports = new Map<number, ReportedAttack>();
  #flushing: Promise<void> | null = null;
  #queue: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #sweepAtMs = 0;
  #sweeps = 0;
  #awaitedUntilMs = 0;

  constructor({ db, events, sweepMs = SWEEP_MS, onCalls = () => {} }: MitigationOptions) {
    this.#db = db;
    this.#events = events;
    this.#sweepMs = sweepMs;
    this.#onCalls = onCalls;
    this.#hooks = {
      responded: (responded) => this.#logResponse(responded),
      failed: (what, error) => events.failed(what, error),
    };
    this.#arm(0);
  }

  /** Reports that arrive during a run are processed together. */
  onAttack(reported: ReportedAttack): Promise<void> {
    const before = this.#reports.get(reported.attackId);
    this.#reports.set(reported.attackId, {
      ...reported,
      tops: reported.tops ?? (reported.kind === 'continued' ? null : (before?.tops ?? null)),
    });
    this.#flushing ??= this.#enqueue('mitigating attacks', async () => {
      this.#flushing = null;
      const all = [...this.#reports.values()];
      this.#reports.clear();
      await respondToReports(this.#db, all, this.#hooks);
      this.#onCalls();
      this.#arm(CONFIRM_MS);
    });
    return this.#flushing;
  }

  wake(): void {
    this.#sweepAtMs = 0;
    this.#sweeps = 0;
    this.#arm(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#queue;
  }

  #enqueue(what: string, work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue
      .then(work)
      .catch((error: unknown) => this.#events.failed(what, error));
    return this.#queue;
  }

  #arm(waitMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#poll(), waitMs);
  }

  async #poll(): Promise<void> {
    let waitMs = this.#sweepMs;
    await this.#enqueue('mitigating attacks', async () => {
      if (!(await hasAttacks(this.#db))) return;
      await this.#sweepWhenDue();
      for (const id of await recordConfirmed(this.#db)) this.#events.mitigated(id);
      const awaits = performance.now() < this.#awaitedUntilMs;
      if (awaits && (await awaitsConfirmation(this.#db))) waitMs = Math.min(CONFIRM_MS, waitMs);
    });
    this.#arm(waitMs);
  }

  async #sweepWhenDue(): Promise<void> {
    if (performance.now() < this.#sweepAtMs) return;
    this.#sweepAtMs = performance.now() + this.#sweepMs;
    const all = this.#sweeps++ % WHOLE_EVERY === 0;
    await sweepResponses(this.#db, all, this.#hooks);
  }

  #logResponse(responded: Responded): void {
    this.#awaitedUntilMs = performance.now() + AWAITED_MS;
    this.#events.responded(responded);
  }
}
