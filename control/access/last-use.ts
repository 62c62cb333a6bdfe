import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { storeLastUses } from './key-store.ts';

export interface LastUse {
  record(keyId: number, at: Date): void;
  /** Writes what is pending, and stops the timer. */
  stop(): Promise<void>;
}

/** The delay of `last_used_at`. */
const FLUSH_MS = 10_000;

/**
 * Records the last use of keys with one statement every few seconds, because a write per request would cost more than
 * most requests. A killed process loses a few seconds.
 */
export function createLastUse(db: Db, log: Logger, flushMs: number = FLUSH_MS): LastUse {
  let waiting = new Map<number, Date>();
  let flushing: Promise<void> = Promise.resolve();

  async function flush(): Promise<void> {
    if (waiting.size === 0) return;
    const uses = waiting;
    waiting = new Map();
    try {
      await storeLastUses(db, uses);
    } catch (err) {
      log.warn({ err }, 'the last use of keys could not be stored; trying again');
      for (const [keyId, at] of waiting) uses.set(keyId, at);
      waiting = uses;
    }
  }

  const timer = setInterval(() => {
    flushing = flushing.then(flush);
  }, flushMs).unref();

  return {
    record: (keyId, at) => void waiting.set(keyId, at),
    async stop() {
      clearInterval(timer);
      await flushing.then(flush);
    },
  };
}
