import type { Db } from '../../db/database.ts';
import { LEASE_MS } from '../edges/handler.ts';
import { expireLeases, type LiveGeneration, markLive } from '../edges/store.ts';
import type { FleetEvents } from '../events.ts';
import { type Sweep, sweepOldRows } from './retention.ts';
import type { SyncDesk } from '../sync/sync.ts';

export interface SweepOptions {
  readonly db: Db;
  readonly desk: SyncDesk;
  readonly events: FleetEvents;
  readonly sweepAttacks: Sweep;
  readonly leaseMs?: number;
  /** How often leases are looked at; default a twelfth of the lease. */
  readonly leaseCheckMs?: number;
  readonly retentionMs?: number;
}
export interface Sweeps {
  stop(): Promise<void>;
}

const RETENTION_MS = 10 * 60_000;

/** Everything in the fleet that happens because time passes, but for holdings. */
export function startSweeps(options: SweepOptions): Sweeps {
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const { db, desk, events, sweepAttacks } = options;
  const store = { markLive: () => markLive(db), expire: (ms: number) => expireLeases(db, ms) };
  const watch = new LeaseWatch(store, events, leaseMs);
  const stops = [
    every(options.leaseCheckMs ?? leaseMs / 12, () => watch.look(performance.now())),
    every(leaseMs / 4, async () => desk.sweep()),
    every(options.retentionMs ?? RETENTION_MS, () =>
      sweepOldRows(db, sweepAttacks, events.swept).catch((error: unknown) =>
        events.failed('removing old rows', error),
      ),
    ),
  ];
  return {
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

export interface LeaseStore {
  markLive(): Promise<readonly LiveGeneration[]>;
  expire(leaseMs: number): Promise<readonly string[]>;
}

/**
 * Leases run only while we could have heard: after a start, or once the database is back, every edge gets a
 * whole lease to be heard again before it is taken out of service for our silence.
 */
export class LeaseWatch {
  readonly #store: LeaseStore;
  readonly #events: Pick<FleetEvents, 'edgeLeft' | 'generationsLive' | 'failed'>;
  readonly #leaseMs: number;
  #hearingSinceMs: number | null = null;

  constructor(
    store: LeaseStore,
    events: Pick<FleetEvents, 'edgeLeft' | 'generationsLive' | 'failed'>,
    leaseMs: number,
  ) {
    this.#store = store;
    this.#events = events;
    this.#leaseMs = leaseMs;
  }

  /** One look at a moment of a clock that only goes forward. Never rejects. */
  async look(nowMs: number): Promise<void> {
    try {
      // Marks what a crash between a confirmation and its mark left; and tells whether the database is there.
      this.#events.generationsLive(await this.#store.markLive());
      this.#hearingSinceMs ??= nowMs;
      if (nowMs - this.#hearingSinceMs < this.#leaseMs) return;
      const expired = await this.#store.expire(this.#leaseMs);
      for (const name of expired) this.#events.edgeLeft(name, 'it was not heard for its lease');
      if (expired.length > 0) this.#events.generationsLive(await this.#store.markLive());
    } catch (error) {
      this.#hearingSinceMs = null;
      this.#events.failed('looking at leases', error);
    }
  }
}

/** Runs `work` again and again, never twice at once; the returned function stops it and waits for it. */
function every(ms: number, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= work().finally(() => {
      running = null;
    });
  }, ms);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
