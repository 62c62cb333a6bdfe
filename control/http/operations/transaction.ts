import { Problem } from '../../problem.ts';
import type { Db, Tx } from '../../db/database.ts';
import { codeOf, isUnavailable } from '../../db/failure.ts';
import { isStalePlan } from '../../db/statement.ts';

const RETRY_AFTER = { 'retry-after': '5' };

/** Made once: every request ends, and hardly any is waited for then. */
const ENDED = notAnswered();

/** The time that the server may spend on a request, whatever the database does. Receiving the body does not count. */
export class Deadline {
  #leftMs: number;
  #isExpired = false;
  #isCommitting = false;
  #isEnded = false;
  /** Made when somebody waits for it: most requests never queue. */
  #end: AbortController | null = null;

  constructor(withinMs: number) {
    this.#leftMs = withinMs;
  }

  /** Resolves like `work`. Throws 503 when the time is over; then a later `begin` or `commit` of `work` throws too. */
  async limit<T>(work: Promise<T>): Promise<T> {
    const begunMs = performance.now();
    const { promise: timedOut, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.#isExpired = true;
      reject(this.#isCommitting ? outcomeUnknown() : notAnswered());
      this.end();
    }, this.#leftMs);
    try {
      return await Promise.race([work, timedOut]);
    } finally {
      clearTimeout(timer);
      this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - begunMs));
    }
  }

  /** Aborts when the time is over or the client left: what waits for its turn need not begin. */
  get ended(): AbortSignal {
    this.#end ??= new AbortController();
    if (this.#isEnded) this.#end.abort(ENDED);
    return this.#end.signal;
  }

  /** Called when the answer was sent or the client left. */
  end(): void {
    this.#isEnded = true;
    this.#end?.abort(ENDED);
  }

  /** Whether a COMMIT was sent whose answer has not come. */
  get isCommitting(): boolean {
    return this.#isCommitting;
  }

  /** Called when a transaction begins. Throws when the time is over. */
  begin(): void {
    if (this.#isExpired) throw notAnswered();
    this.#isCommitting = false;
  }

  /** Called before COMMIT is sent. Throws when the time is over, so that the transaction is rolled back. */
  commit(): void {
    if (this.#isExpired) throw notAnswered();
    this.#isCommitting = true;
  }
}

function notAnswered(): Problem {
  return new Problem(
    'unavailable',
    'The database did not answer in time. Nothing was written. Try again in 5 s.',
    { headers: RETRY_AFTER },
  );
}

/** `cause`: why the answer to the COMMIT did not come. */
function outcomeUnknown(cause?: unknown): Problem {
  return new Problem(
    'outcome_unknown',
    'The write was sent to the database, and no answer came. Read back whether it took effect, or send it again with the same Idempotency-Key.',
    { headers: RETRY_AFTER, cause },
  );
}

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
  return AGAIN.has(codeOf(error) ?? '') || isStalePlan(error);
}
