import { Problem } from '../../problem.ts';

const RETRY_AFTER = { 'retry-after': '5' };

/** The time by which a request is answered, whatever the database does. */
export class Deadline {
  readonly #atMs: number;
  #phase: 'open' | 'committing' | 'expired' = 'open';

  constructor(withinMs: number) {
    this.#atMs = performance.now() + withinMs;
  }

  /** Resolves like `work`. Throws 503 when the deadline passes first; then a later `commit` of `work` throws too. */
  async limit<T>(work: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => {
        const isKnown = this.#phase !== 'committing';
        this.#phase = 'expired';
        reject(isKnown ? notAnswered() : outcomeUnknown());
      },
      Math.max(0, this.#atMs - performance.now()),
    );
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether a COMMIT was sent whose answer has not come. */
  get isCommitting(): boolean {
    return this.#phase === 'committing';
  }

  /** Called when a transaction begins, or begins again. Throws when the deadline has passed. */
  begin(): void {
    this.#requireTime();
    this.#phase = 'open';
  }

  /** Called before COMMIT is sent, once or twice. Throws when the deadline has passed, so that the transaction is rolled back. */
  commit(): void {
    this.#requireTime();
    this.#phase = 'committing';
  }

  #requireTime(): void {
    if (this.#phase === 'expired') throw notAnswered();
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
export function outcomeUnknown(cause?: unknown): Problem {
  return new Problem(
    'outcome_unknown',
    'The write was sent to the database, and no answer came. Read back whether it took effect, or send it again with the same Idempotency-Key.',
    { headers: RETRY_AFTER, cause },
  );
}
