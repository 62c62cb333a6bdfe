import type { Db, Tx } from '../../db/database.ts';
import { codeOf, isUnavailable } from '../../db/failure.ts';
import { type Deadline, outcomeUnknown } from './deadline.ts';

/** Deadlock and serialization failure: the transaction was rolled back and can be repeated. */
const AGAIN = new Set(['40P01', '40001']);
const ATTEMPTS = 4;

/** Runs a transaction, with a few retries. After the deadline it is rolled back. */
export async function runTransaction<T>(
  db: Db,
  deadline: Deadline,
  script: (tx: Tx) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(async (tx) => {
        deadline.begin();
        const result = await script(tx);
        deadline.commit();
        return result;
      });
    } catch (error) {
      if (deadline.isCommitting && isUnavailable(error)) throw outcomeUnknown(error);
      if (!isRetryable(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Whether the transaction was rolled back for a temporary reason. */
export function isRetryable(error: unknown): boolean {
  return AGAIN.has(codeOf(error) ?? '');
}
