import type { Thresholds } from '../attack.ts';
import type { Phase, SubjectState } from './subject.ts';
import type { Rates } from './window.ts';

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

/** An attack waits at most this many buckets for a known type. */
const UNKNOWN_VECTOR_BUCKETS = 2;

/** Counters report vectors of busy subjects only, and get two buckets for it. */
export function hasKnownVectors({ window, vectors }: SubjectState): boolean {
  return (
    window.buckets.length > UNKNOWN_VECTOR_BUCKETS || vectors.recent.some((amount) => amount > 0)
  );
}

export function isUsual(rates: Rates, { pps, bps }: Limits): boolean {
  return rates.pps < pps && rates.bps < bps;
}

/** The limits of an attack, at least the thresholds of now. Those of a moving one are of an address, not of its prefix. */
export function phaseLimits(phase: Phase, { pps, bps }: Limits): Limits | null {
  if (phase.name === 'quiet' || phase.moves) return null;
  return { pps: Math.max(phase.limits.pps, pps), bps: Math.max(phase.limits.bps, bps) };
}
