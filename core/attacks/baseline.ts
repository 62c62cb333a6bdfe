import type { Thresholds } from './attack.ts';
import type { Rates } from './window.ts';

/** What is usual for a subject: mean and mean deviation of its rates, and for how long that has been learnt. */
export interface Baseline {
  readonly pps: number;
  readonly bps: number;
  readonly ppsDeviation: number;
  readonly bpsDeviation: number;
  readonly learntMs: number;
}

/** The past that counts. */
const MEMORY_MS = 600_000;
/** What an address is expected to get weighs as much as a minute of its own: the first second of a flood is not usual. */
const EXPECTED_MS = 60_000;
/** Traffic is too much from three times the usual on, where that is above the threshold. */
const TIMES_USUAL = 3;
const DEVIATIONS = 4;
/** Learnt slowly enough, any flood becomes usual: beyond so many thresholds nothing does. */
const MOST_USUAL = 10;

/** Of who got too little to be looked at, for as long as anything was looked at. */
export function calm(watchedMs: number): Baseline {
  const learntMs = Math.min(MEMORY_MS, watchedMs);
  return { pps: 0, bps: 0, ppsDeviation: 0, bpsDeviation: 0, learntMs };
}

export function learn(
  baseline: Baseline,
  { pps, bps }: Pick<Rates, 'pps' | 'bps'>,
  durationMs: number,
): Baseline {
  const learntMs = Math.min(MEMORY_MS, baseline.learntMs + durationMs);
  const weight = learntMs === 0 ? 0 : durationMs / learntMs;
  const toward = (from: number, to: number): number => from + (to - from) * weight;
  return {
    learntMs,
    pps: toward(baseline.pps, pps),
    bps: toward(baseline.bps, bps),
    ppsDeviation: toward(baseline.ppsDeviation, Math.abs(pps - baseline.pps)),
    bpsDeviation: toward(baseline.bpsDeviation, Math.abs(bps - baseline.bps)),
  };
}

/** What a subject may get: the thresholds, or several times what is usual for it. */
export function limitsOf(
  baseline: Baseline,
  { pps, bps }: Pick<Thresholds, 'pps' | 'bps'>,
): Pick<Thresholds, 'pps' | 'bps'> {
  return {
    pps: limitOf(pps, baseline.pps, baseline.ppsDeviation),
    bps: limitOf(bps, baseline.bps, baseline.bpsDeviation),
  };
}

function limitOf(floor: number, mean: number, deviation: number): number {
  const usual = Math.max(mean * TIMES_USUAL, mean + deviation * DEVIATIONS);
  return Math.min(Math.max(floor, usual), floor * MOST_USUAL);
}

/** Of an address that is new: an equal part of what is usual for the prefix around it. */
export function inherited(prefix: Baseline | null, addresses: number, watchedMs: number): Baseline {
  const learntMs = Math.max(EXPECTED_MS, calm(watchedMs).learntMs);
  if (prefix === null) return { ...calm(watchedMs), learntMs };
  const parts = Math.max(1, addresses);
  return {
    pps: prefix.pps / parts,
    bps: prefix.bps / parts,
    ppsDeviation: prefix.ppsDeviation / parts,
    bpsDeviation: prefix.bpsDeviation / parts,
    learntMs,
  };
}
