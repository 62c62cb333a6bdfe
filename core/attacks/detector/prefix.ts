import { limitsOf } from './baseline.ts';
import { isNameable, isUsual, phaseLimits } from './phase-limits.ts';
import {
  around,
  type Judged,
  type Part,
  type Spread,
  spreadNow,
  spreadOf,
  usualRates,
} from './prefix-spread.ts';
import {
  type Moment,
  open,
  stepEnded,
  type Stepped,
  stepOngoing,
  stepQuiet,
  tooMuch,
} from './subject.ts';
import { DEPTH, goesOn, ratesOf, type Window } from './window.ts';

/** A prefix has many hosts, so its usual traffic is learned before it is evaluated. */
const LEARNING_MS = 30_000;
/**
 * Few busy addresses become an attack on the prefix after this many buckets. By then an address above its own limit has
 * its own record, and its traffic from before it was counted separately has faded.
 */
const PATIENCE_BUCKETS = DEPTH + 1;
/** An address waits at most this many buckets for the decision about its prefix. */
const UNSURE_BUCKETS = 3;

type Pressure = 'none' | 'few' | 'unsure' | 'many';

export interface SteppedPrefix extends Stepped {
  /** Addresses that must not open an attack in this bucket. */
  readonly waiting: readonly Judged[];
}

/** Processes one bucket of a prefix with its tracked addresses. Pure. */
export function stepPrefix(
  prefix: string,
  judged: Judged,
  members: readonly Judged[],
  moment: Moment,
): SteppedPrefix {
  const { state, thresholds } = judged;
  const { phase, baseline } = state;
  const spread = spreadOf(judged, members);
  const { whole, shared, measured } = spread;
  if (phase.name === 'ongoing') {
    const traffic = { measured: whole, judged: shared.window };
    return { ...stepOngoing(state, phase, thresholds, traffic, moment), waiting: [] };
  }
  const rates = ratesOf(whole);
  const isLearning = baseline.learntMs < LEARNING_MS;
  // Expensive, so it is computed for few prefixes only.
  const now = () => spreadNow(judged, members);
  const pressure = isLearning ? 'none' : pressureOf(spread, now, judged);
  const pressed = pressure === 'few' || pressure === 'unsure' ? state.pressed + 1 : 0;
  const begins = isNameable(state) && (pressure === 'many' || pressed > PATIENCE_BUCKETS);
  const isUnsure = pressure === 'unsure' && !begins && pressed <= UNSURE_BUCKETS;
  const waiting = isUnsure ? notAmong(now().busy, members) : [];
  if (phase.name === 'ended')
    return { ...stepEnded({ ...state, pressed }, phase, begins, moment), waiting };
  if (begins) {
    // The measured traffic decides about the end, so that one busy address does not prolong the attack.
    const { state: opened, event } = open(
      { ...state, baseline: shared.baseline },
      prefix,
      thresholds,
      measured,
      moment,
    );
    return { state: { ...opened, baseline, pressed: 0 }, event, waiting };
  }
  const learns =
    isLearning || isUsual(ratesOf(shared.window), limitsOf(shared.baseline, thresholds));
  const attacked = members.flatMap((member) =>
    member.state.phase.name === 'ongoing' ? [member.state.baseline] : [],
  );
  const next = learns ? stepQuiet(state, usualRates(rates, baseline, attacked), moment) : state;
  return { state: { ...next, pressed }, event: null, waiting };
}

function notAmong(busy: readonly Judged[], members: readonly Judged[]): Judged[] {
  return members.filter((member) => !busy.includes(member));
}

/**
 * Whether a prefix exceeds its limit without its busy addresses (`many`) or only with them (`few`). The traffic of an
 * address from before it was counted separately looks like `many` for a bucket or two, so it is `unsure` until it
 * lasts.
 */
function pressureOf(
  spread: Spread,
  now: () => { readonly window: Window },
  { state, thresholds }: Judged,
): Pressure {
  const before = phaseLimits(state.phase);
  const rates = ratesOf(spread.whole);
  const isTooMuch = ({ window, baseline }: Part): boolean => {
    const limits = before ?? limitsOf(baseline, thresholds);
    return (
      tooMuch(ratesOf(window), limits) && tooMuch(rates, around(limits, baseline, state.baseline))
    );
  };
  if (!isTooMuch(spread.thin)) return isTooMuch(spread.shared) ? 'few' : 'none';
  return goesOn(now().window, before ?? limitsOf(spread.thin.baseline, thresholds))
    ? 'many'
    : 'unsure';
}
