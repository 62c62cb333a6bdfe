const MIB = 1_048_576;
export const FIRST_PART = MIB;
const SMALLEST_PART = 128 * 1024;
const LARGEST_PART = 32 * MIB;
/** A part that takes longer is too large: progress would stand still, and a broken line would lose much. */
const SLOW_MS = 5_000;
const FAST_MS = 1_500;

/** The size of the next part of a file, by how long the last one took. */
export function nextPart(size: number, tookMs: number): number {
  if (tookMs > SLOW_MS) return smallerPart(size);
  return tookMs < FAST_MS ? Math.min(LARGEST_PART, size * 2) : size;
}

export function smallerPart(size: number): number {
  return Math.max(SMALLEST_PART, Math.floor(size / 2));
}
