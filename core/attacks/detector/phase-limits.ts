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

/** Those of a moving attack are of an address, not of its prefix. */
export function phaseLimits(phase: Phase): Limits | null {
  return phase.name === 'quiet' || phase.moves ? null : phase.limits;
}
