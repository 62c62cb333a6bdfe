import { limitsOf } from './baseline.ts';
import { hasKnownVectors, isUsual, phaseLimits } from './phase-limits.ts';
import {
  wholePrefixLimits,
  type EvaluatedSubject,
  type Part,
  type PrefixTraffic,
  splitLatestTraffic,
  splitPrefixTraffic,
  usualRates,
} from './prefix-spread.ts';
import { busiestWindow, movingOver, withParts } from './moving-carpet.ts';
import {
  type BucketTime,
  type Ongoing,
  open,
  stepEnded,
  type Stepped,
  stepOngoing,
  stepQuiet,
  exceedsLimits,
} from './subject.ts';
import { DEPTH, isSustained, ratesOf, type Window } from './window.ts';

/** A prefix has many hosts, so its usual traffic is learned before it is evaluated. */
const LEARNING_MS = 30_000;
/**
 * Few busy addresses become an attack on the prefix after this many buckets. By then an address above its own limit has
 * its own record, and its traffic from before it was counted separately has faded.
 */
const CONFIRM_BUCKETS = DEPTH + 1;
/** An address waits at most this many buckets for the decision about its prefix. */
const UNSURE_BUCKETS = 3;

type Pressure = 'none' | 'few' | 'unsure' | 'many';

export interface SteppedPrefix extends Stepped {
  /** Addresses that must not open an attack in this bucket. */
  readonly waiting: readonly EvaluatedSubject[];
  /** Attacks on addresses that are part of the one on the prefix from now on. */
  readonly parts: readonly Ongoing[];
}
const NO_ADDRESSES = { waiting: [], parts: [] } as const;

/** Processes one bucket of a prefix with its tracked addresses. Pure. */
export function stepPrefix(
  prefix: string,
  evaluated: EvaluatedSubject,
  members: readonly EvaluatedSubject[],
  bucketTime: BucketTime,
): SteppedPrefix {
  const { state, thresholds } = evaluated;
  const { phase, baseline } = state;
  const split = splitPrefixTraffic(evaluated, members);
  const { whole, shared, measured } = split;
  const parts = movingOver(members);
  if (phase.name === 'ongoing' && (phase.moves || parts === null)) {
    const traffic = phase.moves
      ? { measured: state.window, evaluated: busiestWindow(members) }
      : { measured: whole, evaluated: shared.window };
    return { ...stepOngoing(state, phase, thresholds, traffic, bucketTime), ...NO_ADDRESSES };
  }
  if (parts !== null) return { ...moved(prefix, evaluated, parts, bucketTime), waiting: [], parts };
  const rates = ratesOf(whole);
  const isLearning = baseline.learntMs < LEARNING_MS;
  // Expensive, so it is computed for few prefixes only.
  const latestTraffic = () => splitLatestTraffic(evaluated, members);
  const pressure = isLearning ? 'none' : pressureOf(split, latestTraffic, evaluated);
  const excessBuckets = pressure === 'few' || pressure === 'unsure' ? state.excessBuckets + 1 : 0;
  const begins = hasKnownVectors(state) && (pressure === 'many' || excessBuckets > CONFIRM_BUCKETS);
  const isUnsure = pressure === 'unsure' && !begins && excessBuckets <= UNSURE_BUCKETS;
  const waiting = isUnsure ? notAmong(latestTraffic().busy, members) : [];
  if (phase.name === 'ended')
    return {
      ...stepEnded({ ...state, excessBuckets }, phase, begins, bucketTime),
      waiting,
      parts: [],
    };
  if (begins) {
    // The measured traffic decides about the end, so that one busy address does not prolong the attack.
    const { state: opened, event } = open(
      { ...state, baseline: shared.baseline },
      prefix,
      thresholds,
      measured,
      bucketTime,
    );
    return { state: { ...opened, baseline, excessBuckets: 0 }, event, waiting, parts: [] };
  }
  const learns =
    isLearning || isUsual(ratesOf(shared.window), limitsOf(shared.baseline, thresholds));
  const attacked = members.flatMap((member) =>
    member.state.phase.name === 'ongoing' ? [member.state.baseline] : [],
  );
  const next = learns ? stepQuiet(state, usualRates(rates, baseline, attacked), bucketTime) : state;
  return { state: { ...next, excessBuckets }, event: null, waiting, parts: [] };
}

/** Attacks on addresses are one attack on their prefix, also if one on the prefix is ongoing or has ended. */
function moved(
  prefix: string,
  { state, thresholds }: EvaluatedSubject,
  parts: readonly Ongoing[],
  bucketTime: BucketTime,
): Stepped {
  const { phase, window } = state;
  if (phase.name === 'quiet') {
    return withParts(open(state, prefix, thresholds, window, bucketTime), parts);
  }
  if (phase.name === 'ended') {
    return withParts(stepEnded(state, phase, true, bucketTime), parts);
  }
  const traffic = { measured: window, evaluated: window };
  return withParts(stepOngoing(state, phase, thresholds, traffic, bucketTime), parts);
}

function notAmong(
  busy: readonly EvaluatedSubject[],
  members: readonly EvaluatedSubject[],
): EvaluatedSubject[] {
  return members.filter((member) => !busy.includes(member));
}

/**
 * Whether a prefix exceeds its limit without its busy addresses (`many`) or only with them (`few`). The traffic of an
 * address from before it was counted separately looks like `many` for a bucket or two, so it is `unsure` until it
 * lasts.
 */
function pressureOf(
  split: PrefixTraffic,
  latestTraffic: () => { readonly window: Window },
  { state, thresholds }: EvaluatedSubject,
): Pressure {
  const before = phaseLimits(state.phase, thresholds);
  const rates = ratesOf(split.whole);
  const isExcessive = ({ window, baseline }: Part): boolean => {
    const limits = before ?? limitsOf(baseline, thresholds);
    return (
      exceedsLimits(ratesOf(window), limits) &&
      exceedsLimits(rates, wholePrefixLimits(limits, baseline, state.baseline))
    );
  };
  if (!isExcessive(split.withoutBusy)) return isExcessive(split.shared) ? 'few' : 'none';
  return isSustained(
    latestTraffic().window,
    before ?? limitsOf(split.withoutBusy.baseline, thresholds),
  )
    ? 'many'
    : 'unsure';
}
