/** How often a delivery is tried, over about a day. */
export const ATTEMPTS = 10;

const FIRST_MS = 5_000;
const FACTOR = 4;
const LONGEST_MS = 8 * 3_600_000;
/** Waits differ by up to a fifth in each direction, so that what failed together is not repeated together. */
const JITTER = 0.2;

/** The wait after a failed attempt, counted from 1; null: it was the last. `random` is in [0, 1). */
export function retryAfterMs(attempt: number, random: number): number | null {
  if (attempt >= ATTEMPTS) return null;
  const wait = Math.min(LONGEST_MS, FIRST_MS * FACTOR ** (attempt - 1));
  return Math.round(wait * (1 + JITTER * (2 * random - 1)));
}
