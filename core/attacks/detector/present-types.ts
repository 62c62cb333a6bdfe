import type { PresentType, Thresholds } from '../attack.ts';
import { createTotals, typesAbove, typesTogether, type VectorTotals } from '../classify.ts';

/**
 * The types that exceed a threshold by themselves in an attack, now or within the hold time. The mitigation is planned from
 * these: the type of the record is a share of the whole since its start, in which a second vector may be small
 * however far it is above the threshold.
 */
export interface PresentTypes {
  /** Packets and bytes by vector, faded fast. */
  readonly rates: VectorTotals;
  /** How long each type has been below its threshold, in ms. */
  readonly belowMs: ReadonlyMap<PresentType, number>;
}

/** A flood of 1.2 thresholds exceeds one within a second; two buckets of counting error do not. */
const FADE_MS = 500;

export const NONE_PRESENT: PresentTypes = { rates: createTotals(), belowMs: new Map() };

/** `excess`: the traffic beyond the usual per second, by vector. */
export function startPresent(
  excess: VectorTotals,
  limits: Pick<Thresholds, 'pps' | 'bps'>,
): PresentTypes {
  const above = typesAbove(excess, limits);
  // The name of the record may be that of what came before a pause, and tells nothing of what comes now.
  const types = above.length > 0 ? above : typesTogether(excess, limits);
  return { rates: excess, belowMs: new Map(types.map((type) => [type, 0])) };
}

/** `excess`: of this bucket. A type that has been below for `holdMs` is not present any more, unless it is the last. */
export function stepPresent(
  { rates, belowMs }: PresentTypes,
  excess: VectorTotals,
  limits: Pick<Thresholds, 'pps' | 'bps'>,
  { durationMs, holdMs }: { readonly durationMs: number; readonly holdMs: number },
): PresentTypes {
  const kept = Math.exp(-durationMs / FADE_MS);
  const next = rates.map((rate, index) => rate * kept + (excess[index] as number) * (1 - kept));
  const above = new Set(typesAbove(next, limits));
  const below = new Map<PresentType, number>();
  for (const [type, ms] of belowMs) {
    if (!above.has(type) && ms + durationMs < holdMs) below.set(type, ms + durationMs);
  }
  for (const type of above) below.set(type, 0);
  return { rates: next, belowMs: below.size === 0 ? belowMs : below };
}

export function presentTypes({ belowMs }: PresentTypes): PresentType[] {
  return [...belowMs.keys()].toSorted();
}
