import type { Db, Tx } from '../db/database.ts';
import { codeOf } from '../db/failure.ts';

/** Deadlock and serialization failure: the database undid everything, and doing it again is right. */
const AGAIN = new Set(['40P01', '40001']);
const ATTEMPTS = 4;

/** Runs a transaction script; again, a few times, when the database asks for it. */
export async function runTransaction<T>(db: Db, script: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(script);
    } catch (error) {
      if (!isRetryable(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Whether the whole transaction was undone for a reason that will not be there again. */
export function isRetryable(error: unknown): boolean {
  return AGAIN.has(codeOf(error) ?? '');
}
