import type { Db } from '../db/database.ts';
import { type Cursor, loadEvents, newestCursor, type StoredEvent } from './store.ts';

/** Wakes readers when there may be events for them. */
export interface EventFeed {
  /** Called on a notification of `portcullis_events`, and after notifications were lost. */
  wake(): void;
  /**
   * Batches of events after a cursor, for ever, of one organisation or of all with null. An empty batch after `idleMs`
   * without one. Ends when the signal is aborted.
   */
  follow(of: {
    readonly organisationId: number | null;
    readonly after: Cursor | null;
    readonly idleMs: number;
    readonly signal: AbortSignal;
  }): AsyncGenerator<readonly StoredEvent[], void>;
}

const BATCH = 500;
/** How soon events of a transaction that waits for an older one are read. */
const RETRY_MS = 50;

export function createEventFeed(db: Db): EventFeed {
  const waiting = new Set<() => void>();
  let wakes = 0;

  /** Resolves on the next wake, after `ms`, or on abort. */
  function pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
  }

  return {
    wake() {
      wakes++;
      for (const done of waiting) done();
    },
    async *follow({ organisationId, after, idleMs, signal }) {
      let cursor = after ?? (await newestCursor(db));
      let lastYieldAtMs = performance.now();
      while (!signal.aborted) {
        const before = wakes;
        const { events, isWaiting } = await loadEvents(db, cursor, organisationId, BATCH);
        const last = events.at(-1);
        if (last !== undefined) {
          cursor = { transaction: last.transaction, id: last.id };
          lastYieldAtMs = performance.now();
          yield events;
          continue;
        }
        if (performance.now() - lastYieldAtMs >= idleMs) {
          lastYieldAtMs = performance.now();
          yield [];
        }
        if (wakes === before) await pause(isWaiting ? RETRY_MS : idleMs, signal);
      }
    },
  };
}
