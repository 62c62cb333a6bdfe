import type { Thresholds } from '../attack.ts';
import { type Baseline, limitsOf } from './baseline.ts';
import { BUCKET_MS } from '../sample.ts';
import { type SubjectState, exceedsLimits } from './subject.ts';
import { latest, type Rates, ratesOf, subtract, type Window } from './window.ts';

/** A subject whose window includes this bucket. */
export interface EvaluatedSubject {
  readonly state: SubjectState;
  readonly rates: Rates;
  readonly thresholds: Thresholds;
}

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

/** An address above this share of its prefix's traffic, without still busier ones, is evaluated by its own limits. */
const BUSY_SHARE = 0.25;
/** Two buckets, even if one of them is long. */
const NOW_MS = 2.4 * BUCKET_MS;

/** The traffic of a prefix by its spread over addresses. Addresses with their own attack are excluded. */
export interface PrefixTraffic {
  /** All other traffic. */
  readonly whole: Window;
  /**
   * The part without the traffic that a single address may get: the busiest one, and those with higher limits than
   * the prefix. Two addresses below their threshold may exceed that of the prefix together.
   */
  readonly shared: Part;
  /** The part without the traffic of all busy addresses. */
  readonly withoutBusy: Part;
  /** The rest without addresses that open their own attack in this bucket. */
  readonly measured: Window;
}

/** A part of a prefix's traffic, with its usual level. */
export interface Part {
  readonly window: Window;
  readonly baseline: Baseline;
}

/** `members`: the tracked addresses; others have too little traffic to be busy. */
export function splitPrefixTraffic(
  { state, thresholds }: EvaluatedSubject,
  members: readonly EvaluatedSubject[],
): PrefixTraffic {
  const { whole, others } = restOf(state, members);
  const rates = ratesOf(whole);
  const busy = busiest(others, rates, nearerUnit(rates, thresholds));
  const exempt = busy.filter(
    (member, index) => index === 0 || mayGetMore(member, rates, thresholds),
  );
  const opening = busy.filter((member) => exceedsLimits(member.rates, ownLimits(member)));
  const all = { window: whole, baseline: state.baseline };
  return {
    whole,
    shared: without(all, exempt),
    withoutBusy: without(all, busy),
    measured: without(all, opening).window,
  };
}

/**
 * The traffic of a prefix without its busy addresses and without addresses with their own attack. The short past may
 * still contain their traffic from before they were counted separately.
 */
export function splitLatestTraffic(
  { state, thresholds }: EvaluatedSubject,
  members: readonly EvaluatedSubject[],
): { readonly window: Window; readonly busy: readonly EvaluatedSubject[] } {
  const { whole, others } = restOf(state, members);
  const rates = ratesOf(latest(whole, NOW_MS));
  const latestTraffic = new Map(
    others.map((member) => [
      { ...member, rates: ratesOf(latest(member.state.window, NOW_MS)) },
      member,
    ]),
  );
  const busy = busiest([...latestTraffic.keys()], rates, nearerUnit(rates, thresholds));
  return {
    window: subtract(
      whole,
      busy.map((member) => member.state.window),
    ),
    busy: busy.map((member) => latestTraffic.get(member) as EvaluatedSubject),
  };
}

/**
 * The total traffic at which a part of a prefix is excessive: the same excess over the usual level. Traffic that only
 * moves between addresses is no attack.
 */
export function wholePrefixLimits(limits: Limits, part: Limits, whole: Limits): Limits {
  return { pps: whole.pps + limits.pps - part.pps, bps: whole.bps + limits.bps - part.bps };
}

/** The baseline of a prefix while some of its addresses are attacked: their usual traffic is kept. */
export function usualRates(
  rates: Pick<Rates, 'pps' | 'bps'>,
  baseline: Baseline,
  attacked: readonly Baseline[],
): Pick<Rates, 'pps' | 'bps'> {
  const kept = (present: number, usual: number, of: (one: Baseline) => number): number => {
    const before = present + attacked.reduce((sum, one) => sum + of(one), 0);
    return Math.max(present, Math.min(usual, before));
  };
  return {
    pps: kept(rates.pps, baseline.pps, ({ pps }) => pps),
    bps: kept(rates.bps, baseline.bps, ({ bps }) => bps),
  };
}

/** Splits a prefix into addresses with their own attack and all others. */
function restOf(
  { window }: SubjectState,
  members: readonly EvaluatedSubject[],
): { readonly whole: Window; readonly others: readonly EvaluatedSubject[] } {
  const isAttacked = ({ state }: EvaluatedSubject): boolean => state.phase.name === 'ongoing';
  const attacked = members.filter(isAttacked).map(({ state }) => state.window);
  return {
    whole: subtract(window, attacked),
    others: members.filter((member) => !isAttacked(member)),
  };
}

/** The addresses with a quarter of what the busier ones leave, busiest first. */
function busiest(
  members: readonly EvaluatedSubject[],
  whole: Rates,
  unit: 'pps' | 'bps',
): EvaluatedSubject[] {
  let left = whole[unit];
  // Usually empty, so nothing is sorted.
  if (left <= 0 || !members.some(({ rates }) => rates[unit] >= left * BUSY_SHARE)) return [];
  const sorted = members.toSorted((a, b) => b.rates[unit] - a.rates[unit]);
  const end = sorted.findIndex(({ rates }) => {
    if (left <= 0 || rates[unit] < left * BUSY_SHARE) return true;
    left -= rates[unit];
    return false;
  });
  return end < 0 ? sorted : sorted.slice(0, end);
}

/** The share of an address in its prefix's traffic, in packets or bits, whichever is nearer to the threshold. */
export function shareOf(part: Rates, whole: Rates, thresholds: Limits): number {
  const unit = nearerUnit(whole, thresholds);
  return whole[unit] <= 0 ? 0 : part[unit] / whole[unit];
}

function nearerUnit(rates: Rates, { pps, bps }: Limits): 'pps' | 'bps' {
  return rates.pps / pps >= rates.bps / bps ? 'pps' : 'bps';
}

function mayGetMore(member: EvaluatedSubject, whole: Rates, thresholds: Limits): boolean {
  const unit = nearerUnit(whole, thresholds);
  return ownLimits(member)[unit] > thresholds[unit];
}

function ownLimits({ state, thresholds }: EvaluatedSubject): Limits {
  return limitsOf(state.baseline, thresholds);
}

function without({ window, baseline }: Part, members: readonly EvaluatedSubject[]): Part {
  const sum = (of: (one: Baseline) => number): number =>
    members.reduce((total, { state }) => total + of(state.baseline), 0);
  return {
    window: subtract(
      window,
      members.map(({ state }) => state.window),
    ),
    baseline: {
      ...baseline,
      pps: Math.max(0, baseline.pps - sum(({ pps }) => pps)),
      bps: Math.max(0, baseline.bps - sum(({ bps }) => bps)),
    },
  };
}
