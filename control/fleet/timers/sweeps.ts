import type { Db } from '../../db/database.ts';
import { LEASE_MS } from '../edge-handler.ts';
import { expireLeases, markLive } from '../edges/store.ts';
import type { FleetEvents, LiveGeneration } from '../events.ts';
import { type OtherSweeps, sweepOldRows } from './retention.ts';
import type { SyncService } from '../sync/sync.ts';

export interface SweepOptions {
  readonly db: Db;
  readonly sync: SyncService;
  readonly events: FleetEvents;
  readonly otherSweeps: OtherSweeps;
  readonly leaseMs?: number;
  /** How often leases are checked; default a twelfth of the lease. */
  readonly leaseCheckMs?: number;
  readonly retentionMs?: number;
}
export interface Sweeps {
  stop(): Promise<void>;
}

const RETENTION_MS = 10 * 60_000;

/** Starts the timers of the fleet: leases, idle syncs and retention. */
export function startSweeps(options: SweepOptions): Sweeps {
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const { db, sync, events, otherSweeps } = options;
  const store = { markLive: () => markLive(db), expire: (ms: number) => expireLeases(db, ms) };
  const leases = new LeaseCheck(store, events, leaseMs);
  const stops = [
    every(options.leaseCheckMs ?? leaseMs / 12, () => leases.check(performance.now())),
    every(leaseMs / 4, async () => sync.sweep()),
    every(options.retentionMs ?? RETENTION_MS, () =>
      sweepOldRows(db, otherSweeps, events.swept).catch((error: unknown) =>
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
 * Checks leases only after control was reachable for a whole lease: after a start, or after the database returns,
 * every edge gets a whole lease before it is taken out of service.
 */
export class LeaseCheck {
  readonly #store: LeaseStore;
  readonly #events: Pick<FleetEvents, 'edgeLeft' | 'generationsLive' | 'failed'>;
  readonly #leaseMs: number;
  #reachableSinceMs: number | null = null;

  constructor(
    store: LeaseStore,
    events: Pick<FleetEvents, 'edgeLeft' | 'generationsLive' | 'failed'>,
    leaseMs: number,
  ) {
    this.#store = store;
    this.#events = events;
    this.#leaseMs = leaseMs;
  }

  /** Checks the leases at a time of a monotonic clock. Never rejects. */
  async check(nowMs: number): Promise<void> {
    try {
      // Marks what a crash between a confirmation and its mark left, and detects a missing database.
      this.#events.generationsLive(await this.#store.markLive());
      this.#reachableSinceMs ??= nowMs;
      if (nowMs - this.#reachableSinceMs < this.#leaseMs) return;
      const expired = await this.#store.expire(this.#leaseMs);
      for (const name of expired) this.#events.edgeLeft(name, 'its lease expired');
      if (expired.length > 0) this.#events.generationsLive(await this.#store.markLive());
    } catch (error) {
      this.#reachableSinceMs = null;
      this.#events.failed('checking leases', error);
    }
  }
}

/** Runs `work` periodically, never concurrently. Returns a function that stops it and waits for it. */
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
