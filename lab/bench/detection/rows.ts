import { median } from '../measure.ts';
import type { Row } from '../report.ts';
import type { Verdict } from './trial.ts';

/** One line a flood: ours and theirs side by side. */
export function sayTrials(
  input: string,
  ours: readonly Verdict[],
  theirs: readonly Verdict[] | null,
  say: (line: string) => void,
): void {
  ours.forEach((mine, index) => {
    const other = theirs?.[index];
    const beside = other === undefined ? '' : `; FastNetMon: ${inWords(other)}`;
    say(`${input}: ${mine.trial.name}: ${inWords(mine)}${beside}`);
  });
}

function inWords({
  detectedAfter,
  reportedAfter,
  peakError,
  endReportedAfter,
  type,
}: Verdict): string {
  if (detectedAfter === null) return 'not seen';
  const parts = [`${type} after ${detectedAfter.toFixed(2)} s`];
  if (reportedAfter !== null) parts.push(`reported after ${reportedAfter.toFixed(2)} s`);
  if (peakError !== null) parts.push(`peak off by ${peakError.toFixed(1)} %`);
  parts.push(
    endReportedAfter === null ? 'no end' : `end reported at ${endReportedAfter.toFixed(1)} s`,
  );
  return parts.join(', ');
}

/**
 * Rows that many floods of one strength come to. Of what nobody saw, nothing can be said: then the row is missing.
 * How soon an end is reported is what hold and ban times make it: no goal.
 */
export function rowsOf(
  name: string,
  ours: readonly Verdict[],
  theirs: readonly Verdict[] | null,
): Row[] {
  const row = (
    what: string,
    unit: string,
    of: (verdicts: readonly Verdict[]) => number | null,
    goal: Goal,
    // Beside nothing, there is nothing to be better than.
    alone: Goal = { goal: null },
  ): Row[] => {
    const value = of(ours);
    if (value === null) return [];
    const baseline = theirs === null ? null : of(theirs);
    const compared = baseline === null || baseline === 0 ? alone : goal;
    return [{ name: `${name}: ${what}`, value, unit, baseline, ...compared }];
  };
  const waits = { goal: null } as const;
  const atMost = { goal: 1, goalIs: 'at most' } as const;
  const atLeast = { goal: 1, goalIs: 'at least' } as const;
  const all = { goal: ours.filter(isAttack).length, goalIs: 'at least' } as const;
  const none = { goal: 0, goalIs: 'at most' } as const;
  return [
    ...row('attacks seen', 'attacks', count(isSeen), atLeast, all),
    ...row(
      'vectors named rightly',
      'attacks',
      count(({ isNamedRightly }) => isNamedRightly),
      atLeast,
      all,
    ),
    ...row('downloads taken for attacks', 'downloads', count(isFalse), atMost, none),
    ...row('seen after, median', 's', middle('detectedAfter'), atMost),
    ...row('seen after, at worst', 's', worst('detectedAfter'), atMost),
    ...row('threshold reported by exports after, at worst', 's', worst('reportedAfter'), waits),
    ...row('error of the peak, median', '%', middle('peakError'), atMost),
    ...row('error of the peak, at worst', '%', worst('peakError'), atMost),
    ...row('ended while the attack went on', 'attacks', count(isEarly), atMost),
    ...row(
      'end reported after the last packet, at worst',
      's',
      worst('endReportedAfter', isOver),
      waits,
    ),
    ...row('end on record off by, at worst', 's', worst('endError'), atMost),
  ];
}

type Goal = Pick<Row, 'goal' | 'goalIs'>;
type Measure = 'detectedAfter' | 'reportedAfter' | 'peakError' | 'endReportedAfter' | 'endError';

function isAttack({ trial }: Verdict): boolean {
  return trial.type !== null;
}

function isSeen(verdict: Verdict): boolean {
  return isAttack(verdict) && verdict.detectedAfter !== null;
}

function isFalse(verdict: Verdict): boolean {
  return !isAttack(verdict) && verdict.detectedAfter !== null;
}

function isEarly(verdict: Verdict): boolean {
  return isAttack(verdict) && verdict.endReportedAfter !== null && verdict.endReportedAfter < 0;
}

function isOver(verdict: Verdict): boolean {
  return !isEarly(verdict);
}

function count(holds: (verdict: Verdict) => boolean): (verdicts: readonly Verdict[]) => number {
  return (verdicts) => verdicts.filter(holds).length;
}

function valuesOf(verdicts: readonly Verdict[], measure: Measure): number[] {
  return verdicts.filter(isAttack).flatMap((verdict) => verdict[measure] ?? []);
}

function middle(measure: Measure): (verdicts: readonly Verdict[]) => number | null {
  return (verdicts) => {
    const values = valuesOf(verdicts, measure);
    return values.length === 0 ? null : median(values);
  };
}

function worst(
  measure: Measure,
  counts: (verdict: Verdict) => boolean = () => true,
): (verdicts: readonly Verdict[]) => number | null {
  return (verdicts) => {
    const values = valuesOf(verdicts.filter(counts), measure);
    return values.length === 0 ? null : Math.max(...values);
  };
}
