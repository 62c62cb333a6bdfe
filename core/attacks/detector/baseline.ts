import type { Thresholds } from '../attack.ts';
import type { Rates } from './window.ts';

/** The usual traffic of a subject: mean and mean deviation of its rates, and the learning time. */
export interface Baseline {
  readonly pps: number;
  readonly bps: number;
  readonly ppsDeviation: number;
  readonly bpsDeviation: number;
  readonly learntMs: number;
}

/** The time constant of the baseline. */
const BASELINE_FADE_MS = 600_000;
/**
 * An inherited baseline weighs as much as a minute of own traffic, so that the first second of a flood does not count
 * as usual.
 */
const INHERITED_WEIGHT_MS = 60_000;
/** Traffic is excessive above three times the usual, if that is above the threshold. */
const TIMES_USUAL = 3;
const DEVIATIONS = 4;
/** A flood that rises slowly would be learned as usual; above this multiple of the threshold nothing is. */
const MAX_LIMIT_FACTOR = 10;

/** The baseline of a subject that was below tracking so far. */
export function quietBaseline(watchedMs: number): Baseline {
  const learntMs = Math.min(BASELINE_FADE_MS, watchedMs);
  return { pps: 0, bps: 0, ppsDeviation: 0, bpsDeviation: 0, learntMs };
}

export function learn(
  baseline: Baseline,
  { pps, bps }: Pick<Rates, 'pps' | 'bps'>,
  durationMs: number,
): Baseline {
  const learntMs = Math.min(BASELINE_FADE_MS, baseline.learntMs + durationMs);
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

/** The limits of a subject: the thresholds, or a multiple of its usual traffic. */
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
  return Math.min(Math.max(floor, usual), floor * MAX_LIMIT_FACTOR);
}

/** The baseline of a new address: an equal share of its prefix's baseline. */
export function inheritedBaseline(
  prefix: Baseline | null,
  addresses: number,
  watchedMs: number,
): Baseline {
  const learntMs = Math.max(INHERITED_WEIGHT_MS, quietBaseline(watchedMs).learntMs);
  if (prefix === null) return { ...quietBaseline(watchedMs), learntMs };
  const parts = Math.max(1, addresses);
  return {
    pps: prefix.pps / parts,
    bps: prefix.bps / parts,
    ppsDeviation: prefix.ppsDeviation / parts,
    bpsDeviation: prefix.bpsDeviation / parts,
    learntMs,
  };
}
