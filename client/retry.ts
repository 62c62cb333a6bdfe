import { ConnectionError, InstructionRefusedError, ProblemError } from './errors.ts';

export interface RetryRules {
  /** Attempts after the first. */
  readonly retries: number;
  /** The longest Retry-After that is waited for. */
  readonly maxRetryAfterMs: number;
}

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 8_000;

/**
 * How long to wait before the next attempt, or null when the error is final. `isSafe`: the operation reads, or the
 * service recognises its repetition. `random` is 0 to 1.
 */
export function delayBefore(
  rules: RetryRules,
  failed: {
    readonly error: unknown;
    readonly attempt: number;
    readonly isSafe: boolean;
  },
  random: number,
): number | null {
  const { error, attempt, isSafe } = failed;
  if (attempt > rules.retries || !isTransient(error, isSafe)) return null;
  const backoff = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  const asked = error instanceof ProblemError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  if (asked > rules.maxRetryAfterMs) return null;
  // Spread over half of the time, so that many clients do not return together.
  return asked + backoff / 2 + (backoff / 2) * random;
}

function isTransient(error: unknown, isSafe: boolean): boolean {
  if (error instanceof InstructionRefusedError) return false;
  if (error instanceof ConnectionError) return isSafe;
  if (!(error instanceof ProblemError)) return false;
  // A request over the rate limit did nothing, whatever it was.
  if (error.status === 429) return true;
  const repeats = [502, 503, 504].includes(error.status);
  return isSafe && (repeats || error.code === 'idempotency_in_progress');
}

/** Resolves after `ms`, or rejects with the reason of the signal. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
