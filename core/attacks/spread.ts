import type { Thresholds } from './attack.ts';
import { type Baseline, limitsOf } from './baseline.ts';
import { BUCKET_MS } from './sample.ts';
import { type SubjectState, tooMuch } from './subject.ts';
import { latest, type Rates, ratesOf, subtract, type Window } from './window.ts';

/** A subject with this bucket in its window. */
export interface Judged {
  readonly state: SubjectState;
  readonly rates: Rates;
  readonly thresholds: Thresholds;
}

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

/** An address that gets so much of what its prefix gets without still busier ones is judged by limits of its own. */
const BUSY_SHARE = 0.25;
/** Two buckets, though one of them was long. */
const NOW_MS = 2.4 * BUCKET_MS;

/** What a prefix gets, by how many of its addresses get it. What is attacked by itself is in no part of it. */
export interface Spread {
  /** All the rest. */
  readonly whole: Window;
  /**
   * Less what a single address may get by itself: the busiest one, and those that may get more than the prefix. Two
   * that are below a threshold each are too much together.
   */
  readonly shared: Part;
  /** Less everything that busy addresses get. */
  readonly thin: Part;
  /** The rest without addresses that become attacks of their own in this very bucket. */
  readonly measured: Window;
}

/** Some of a prefix's traffic, and what of it is usual. */
export interface Part {
  readonly window: Window;
  readonly baseline: Baseline;
}

/** `members`: the prefix's addresses, of which those that are not known get too little to be busy. */
export function spreadOf({ state, thresholds }: Judged, members: readonly Judged[]): Spread {
  const { whole, others } = restOf(state, members);
  const rates = ratesOf(whole);
  const busy = busiest(others, rates, nearer(rates, thresholds));
  const alone = busy.filter(
    (member, index) => index === 0 || mayGetMore(member, rates, thresholds),
  );
  const begun = busy.filter((member) => tooMuch(member.rates, ownLimits(member)));
  const all = { window: whole, baseline: state.baseline };
  return {
    whole,
    shared: without(all, alone),
    thin: without(all, busy),
    measured: without(all, begun).window,
  };
}

/**
 * What a prefix got without those who are busy now, and without attacks of their own. In its short past there may be
 * what they got before they were counted by themselves, so that they seem to have a lesser part of it.
 */
export function spreadNow(
  { state, thresholds }: Judged,
  members: readonly Judged[],
): { readonly window: Window; readonly busy: readonly Judged[] } {
  const { whole, others } = restOf(state, members);
  const rates = ratesOf(latest(whole, NOW_MS));
  const now = new Map(
    others.map((member) => [
      { ...member, rates: ratesOf(latest(member.state.window, NOW_MS)) },
      member,
    ]),
  );
  const busy = busiest([...now.keys()], rates, nearer(rates, thresholds));
  return {
    window: subtract(
      whole,
      busy.map((member) => member.state.window),
    ),
    busy: busy.map((member) => now.get(member) as Judged),
  };
}

/**
 * What a prefix must get in all when a part of it is to be too much: as much beyond what is usual. Traffic that only
 * moves from a busy address to others is no attack.
 */
export function around(limits: Limits, part: Limits, whole: Limits): Limits {
  return { pps: whole.pps + limits.pps - part.pps, bps: whole.bps + limits.bps - part.bps };
}

/** What is usual for a prefix while addresses of it are attacked: what they usually get is not forgotten. */
export function usualRates(
  rates: Pick<Rates, 'pps' | 'bps'>,
  baseline: Baseline,
  attacked: readonly Baseline[],
): Pick<Rates, 'pps' | 'bps'> {
  const kept = (now: number, usual: number, of: (one: Baseline) => number): number => {
    const before = now + attacked.reduce((sum, one) => sum + of(one), 0);
    return Math.max(now, Math.min(usual, before));
  };
  return {
    pps: kept(rates.pps, baseline.pps, ({ pps }) => pps),
    bps: kept(rates.bps, baseline.bps, ({ bps }) => bps),
  };
}

/** A prefix without the addresses that are attacked by themselves, and the others. */
function restOf(
  { window }: SubjectState,
  members: readonly Judged[],
): { readonly whole: Window; readonly others: readonly Judged[] } {
  const isAttacked = ({ state }: Judged): boolean => state.phase.name === 'ongoing';
  const attacked = members.filter(isAttacked).map(({ state }) => state.window);
  return {
    whole: subtract(window, attacked),
    others: members.filter((member) => !isAttacked(member)),
  };
}

/** Those that get a quarter of what the busier ones leave, the busiest first. */
function busiest(members: readonly Judged[], whole: Rates, unit: 'pps' | 'bps'): Judged[] {
  let left = whole[unit];
  // Nearly always there is none, and nothing to sort.
  if (left <= 0 || !members.some(({ rates }) => rates[unit] >= left * BUSY_SHARE)) return [];
  const sorted = members.toSorted((a, b) => b.rates[unit] - a.rates[unit]);
  const end = sorted.findIndex(({ rates }) => {
    if (left <= 0 || rates[unit] < left * BUSY_SHARE) return true;
    left -= rates[unit];
    return false;
  });
  return end < 0 ? sorted : sorted.slice(0, end);
}

/** How much of what a prefix gets one of its addresses has, in whatever is nearer to its threshold. */
export function shareOf(part: Rates, whole: Rates, thresholds: Limits): number {
  const unit = nearer(whole, thresholds);
  return whole[unit] <= 0 ? 0 : part[unit] / whole[unit];
}

function nearer(rates: Rates, { pps, bps }: Limits): 'pps' | 'bps' {
  return rates.pps / pps >= rates.bps / bps ? 'pps' : 'bps';
}

function mayGetMore(member: Judged, whole: Rates, thresholds: Limits): boolean {
  const unit = nearer(whole, thresholds);
  return ownLimits(member)[unit] > thresholds[unit];
}

function ownLimits({ state, thresholds }: Judged): Limits {
  return limitsOf(state.baseline, thresholds);
}

function without({ window, baseline }: Part, members: readonly Judged[]): Part {
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
