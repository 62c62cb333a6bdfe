/** How often work is tried, and the waits between: the first, times the factor each, at most the longest. */
export interface BackOff {
  readonly attempts: number;
  readonly firstMs: number;
  readonly factor: number;
  readonly longestMs: number;
}

/** Deliveries of webhooks: for about a day. */
export const DELIVERY_BACK_OFF: BackOff = {
  attempts: 10,
  firstMs: 5_000,
  factor: 4,
  longestMs: 8 * 3_600_000,
};

/**
 * Calls of responders: a start for a quarter of a minute, a withdrawal for a quarter of an hour, because a missing
 * withdrawal does harm.
 */
export const CALL_BACK_OFF: Readonly<Record<'start' | 'withdraw', BackOff>> = {
  start: { attempts: 5, firstMs: 1_000, factor: 2, longestMs: 60_000 },
  withdraw: { attempts: 20, firstMs: 1_000, factor: 2, longestMs: 60_000 },
};

/** Waits differ by up to a fifth in each direction, so that what failed together is not repeated together. */
const JITTER = 0.2;

/** The wait after a failed attempt, counted from 1; null: it was the last. `random` is in [0, 1). */
export function retryAfterMs(
  { attempts, firstMs, factor, longestMs }: BackOff,
  attempt: number,
  random: number,
): number | null {
  if (attempt >= attempts) return null;
  const wait = Math.min(longestMs, firstMs * factor ** (attempt - 1));
  return Math.round(wait * (1 + JITTER * (2 * random - 1)));
}
