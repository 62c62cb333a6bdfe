import { limitsOf } from './baseline.ts';
import { isNameable, isUsual, phaseLimits } from './begins.ts';
import {
  around,
  type Judged,
  type Part,
  type Spread,
  spreadNow,
  spreadOf,
  usualRates,
} from './spread.ts';
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

/** A prefix holds many hosts: what is usual is learnt before it is judged. */
const LEARNING_MS = 30_000;
/**
 * Few addresses together are an attack on the prefix when they have been too much for so many buckets: by then an address
 * that is above its own limit has a record of its own, and what it got before it was counted by itself is forgotten.
 */
const PATIENCE_BUCKETS = DEPTH + 1;
/** For so many buckets at most an address that is not busy waits for what becomes of its prefix. */
const UNSURE_BUCKETS = 3;

type Pressure = 'none' | 'few' | 'unsure' | 'many';

export interface SteppedPrefix extends Stepped {
  /** Addresses that begin nothing of their own in this bucket. */
  readonly waiting: readonly Judged[];
}

/** A bucket further of what a prefix gets, of whose addresses these are known. Pure. */
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
  // Asked of few: everything is gone through once more for it.
  const now = () => spreadNow(judged, members);
  const pressure = isLearning ? 'none' : pressureOf(spread, now, judged);
  const pressed = pressure === 'few' || pressure === 'unsure' ? state.pressed + 1 : 0;
  const begins = isNameable(state) && (pressure === 'many' || pressed > PATIENCE_BUCKETS);
  const isUnsure = pressure === 'unsure' && !begins && pressed <= UNSURE_BUCKETS;
  const waiting = isUnsure ? notAmong(now().busy, members) : [];
  if (phase.name === 'ended')
    return { ...stepEnded({ ...state, pressed }, phase, begins, moment), waiting };
  if (begins) {
    // What is judged is what the attack is measured by: it ends though one address is busy all the time.
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
 * Whether a prefix gets too much without its busy addresses (`many` get it), or only with them (`few`). What an address
 * got before it was counted by itself looks like many, for a bucket or two: until it goes on, it is `unsure`.
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
