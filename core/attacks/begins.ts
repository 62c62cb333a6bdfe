import type { Thresholds } from './attack.ts';
import type { Phase, SubjectState } from './subject.ts';
import type { Rates } from './window.ts';

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

/** For so many buckets at most an attack is not opened because nothing says yet what kind it is. */
const NAMELESS_BUCKETS = 2;

/** Counters that only tell vectors of who gets much are given two buckets to do so. */
export function isNameable({ window, vectors }: SubjectState): boolean {
  return window.buckets.length > NAMELESS_BUCKETS || vectors.recent.some((amount) => amount > 0);
}

export function isUsual(rates: Rates, { pps, bps }: Limits): boolean {
  return rates.pps < pps && rates.bps < bps;
}

export function phaseLimits(phase: Phase): Limits | null {
  return phase.name === 'quiet' ? null : phase.limits;
}
