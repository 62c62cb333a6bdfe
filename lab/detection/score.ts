import { type Found, play } from './play.ts';
import { THRESHOLDS, type Trace } from './trace.ts';
import { rateAt } from './traffic.ts';

/** Seeds that each trace is played with: chance must not be what makes a result. */
export const SEEDS = [1, 2, 3] as const;

export interface Score {
  readonly trace: Trace;
  /** Records that are there and should be, are there and should not, should be and are not; over all seeds. */
  readonly right: number;
  readonly wrong: number;
  readonly missed: number;
  /** The count of the right ones. */
  readonly named: number;
  /** The worst of the seeds; null without a right one. */
  readonly openedAfterS: number | null;
  readonly endedAfterS: number | null;
  /** The errors of what was really sent at most: relative error of the peak, and whether its bounds hold the truth. */
  readonly peakError: number | null;
  readonly bounded: boolean;
}

export function score(trace: Trace, index: number): Score {
  const plays = SEEDS.map((seed) => judge(trace, play(trace, index * 100 + seed)));
  const worst = (of: (one: Judged) => number | null): number | null =>
    plays.reduce<number | null>((most, one) => {
      const value = of(one);
      return value === null ? most : Math.max(most ?? value, value);
    }, null);
  const sum = (of: (one: Judged) => number): number =>
    plays.reduce((total, one) => total + of(one), 0);
  return {
    trace,
    right: sum(({ match }) => (match === null ? 0 : 1)),
    wrong: sum(({ wrong }) => wrong),
    missed: sum(({ match }) => (trace.attack !== null && match === null ? 1 : 0)),
    named: sum(({ match }) => (match !== null && match.attack.type === trace.attack?.type ? 1 : 0)),
    openedAfterS: worst(({ match }) => match && match.openedS - (trace.attack?.fromS ?? 0)),
    endedAfterS: worst(
      ({ match }) => match && (match.endedS ?? Infinity) - (trace.attack?.toS ?? 0),
    ),
    peakError: worst(({ peakError }) => peakError),
    bounded: plays.every((one) => one.bounded),
  };
}

interface Judged {
  readonly match: Found | null;
  readonly wrong: number;
  readonly peakError: number | null;
  readonly bounded: boolean;
}

/** The first record of the right subject in the right time is right; every other one is wrong. */
function judge(trace: Trace, found: readonly Found[]): Judged {
  const { attack } = trace;
  const match =
    found.find(
      (one) =>
        attack !== null &&
        one.attack.subject === attack.subject &&
        one.openedS >= attack.fromS &&
        one.openedS <= attack.toS,
    ) ?? null;
  const wrong = found.length - (match === null ? 0 : 1);
  if (match === null) return { match, wrong, peakError: null, bounded: true };
  const { value, low, high } = match.attack.peakPps;
  const truth = truePeak(trace, match.attack.subject);
  // What was counted packet by packet has no bounds: 5 % then, for packets of chance.
  const bounded =
    trace.sampling === 1 ? Math.abs(value / truth - 1) <= 0.05 : low <= truth && truth <= high;
  return { match, wrong, peakError: Math.abs(value / truth - 1), bounded };
}

/** The most that really came at most in any second, chance left out. */
function truePeak({ streams, lengthS }: Trace, subject: string): number {
  const concerns = (address: string): boolean =>
    subject.includes('/') ? subject.includes(':') === address.includes(':') : address === subject;
  const parts = streams.map(({ to }) => to.filter(concerns).length / to.length);
  let peak = 0;
  for (let bucket = 4; bucket <= lengthS * 4; bucket++) {
    let total = 0;
    for (const [index, stream] of streams.entries()) {
      const part = parts[index] ?? 0;
      for (let back = 0; back < 4; back++) {
        total += (rateAt(stream, (bucket - back) / 4 - 0.125) * part) / 4;
      }
    }
    peak = Math.max(peak, total);
  }
  return peak;
}

export function withinPromise({ trace, openedAfterS, endedAfterS }: Score): boolean {
  if (trace.attack === null || openedAfterS === null || endedAfterS === null) return true;
  const limitS = trace.attack.factor >= 2 ? 1.5 : 3;
  // Where few packets are seen, the end of an attack shows a window later.
  const endS = THRESHOLDS.holdMs / 1000 + (trace.sampling > 1 ? 1.5 : 0);
  return openedAfterS <= limitS && endedAfterS <= endS;
}
