import type { Attack, Measured } from '../attack.ts';
import { limitsOf } from './baseline.ts';
import { type VectorTotals, createTotals } from '../classify.ts';
import type { EvaluatedSubject } from './prefix-spread.ts';
import { BUCKET_MS } from '../sample.ts';
import { exceedsLimits, type Ongoing, quietSince, type Stepped } from './subject.ts';
import { EMPTY, type Window } from './window.ts';

/** An attack moves when it has left at least this number of addresses, and starts at another. */
const LEFT_ADDRESSES = 2;
/** An address is left after two quiet buckets. With sampled packets one may be quiet by chance. */
const LEFT_MS = 2 * BUCKET_MS;
/** Addresses that are still attacked, for each that was left: more of them are attacks at the same time. */
const PRESENT_SHARE = 0.5;

/**
 * The attacks on addresses of a prefix that are one attack which moves from address to address: each was left within its hold
 * time, and another address begins to be attacked. Null if they are none.
 */
export function movingOver(members: readonly EvaluatedSubject[]): readonly Ongoing[] | null {
  const ongoing: Ongoing[] = [];
  let left = 0;
  for (const { state } of members) {
    const { phase, window } = state;
    if (phase.name !== 'ongoing') continue;
    ongoing.push(phase);
    if (quietSince(window, phase.ends) >= LEFT_MS) left++;
  }
  if (left < LEFT_ADDRESSES || ongoing.length - left > left * PRESENT_SHARE) return null;
  return members.some(begins) ? ongoing : null;
}

function begins({ state, rates, thresholds }: EvaluatedSubject): boolean {
  return (
    state.phase.name !== 'ongoing' && exceedsLimits(rates, limitsOf(state.baseline, thresholds))
  );
}

/** The opened or continued attack on the prefix, with what was opened on its addresses as its parts. */
export function withParts(stepped: Stepped, parts: readonly Ongoing[]): Stepped {
  const { state, event } = stepped;
  if (state.phase.name !== 'ongoing' || event === null) return stepped;
  const { phase } = state;
  const { subject } = phase.attack;
  const attacks = [phase.attack, ...parts.map(({ attack }) => attack)];
  const startedAtMs = Math.min(...attacks.map((attack) => attack.startedAtMs));
  const attack: Attack = {
    ...phase.attack,
    id: `${subject}@${startedAtMs}`,
    startedAtMs,
    peakPps: highest(attacks.map(({ peakPps }) => peakPps)),
    peakBps: highest(attacks.map(({ peakBps }) => peakBps)),
  };
  // Those of an address: it lasts while any address gets so much.
  const lowest = (of: 'limits' | 'ends') => ({
    pps: Math.min(...parts.map((part) => part[of].pps)),
    bps: Math.min(...parts.map((part) => part[of].bps)),
  });
  return {
    state: {
      ...state,
      phase: {
        ...phase,
        attack,
        limits: lowest('limits'),
        ends: lowest('ends'),
        evidence: parts.reduce((sum, part) => added(sum, part.evidence), phase.evidence),
        moves: true,
      },
    },
    event: { ...event, attack },
  };
}

/** The window of the address with the most traffic for its thresholds, which decides whether a moving attack lasts. */
export function busiestWindow(members: readonly EvaluatedSubject[]): Window {
  let most = 0;
  let window: Window = EMPTY;
  for (const { state, rates, thresholds } of members) {
    const strength = Math.max(rates.pps / thresholds.pps, rates.bps / thresholds.bps);
    if (strength <= most) continue;
    most = strength;
    ({ window } = state);
  }
  return window;
}

function highest(peaks: readonly Measured[]): Measured {
  return peaks.reduce((best, peak) => (peak.value > best.value ? peak : best));
}

function added(a: VectorTotals, b: VectorTotals): VectorTotals {
  const sum = createTotals();
  for (let index = 0; index < sum.length; index++) {
    sum[index] = (a[index] as number) + (b[index] as number);
  }
  return sum;
}
