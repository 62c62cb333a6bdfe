import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { storeLastUses } from './key-store.ts';

export interface LastUse {
  record(keyId: number, at: Date): void;
  /** Writes what is waiting, and stops writing by itself. */
  stop(): Promise<void>;
}

/** How late `last_used_at` may be. */
const FLUSH_MS = 10_000;

/**
 * When each key was last used: one statement for all keys every few seconds, because a write for each request
 * would cost more than most requests. What waits when the process is killed is lost, which is a few seconds.
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
