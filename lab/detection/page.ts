import type { Score } from './score.ts';
import { SEEDS } from './score.ts';
import { THRESHOLDS } from './trace.ts';

const END = '<!-- end of what is made -->';

/** The page with what a command makes in it replaced; it stands between two marks, of which the first names the command. */
export function replaceMade(page: string, command: string, text: string): string {
  const begin = `<!-- made by: ${command} -->`;
  const [before, rest] = page.split(begin);
  const endAt = rest?.indexOf(END) ?? -1;
  if (before === undefined || rest === undefined || endAt < 0)
    throw new Error('the page has lost its marks');
  return `${before}${begin}\n\n${text}\n\n${rest.slice(endAt)}`;
}

/** The page with its tables made anew; everything else in it is written by hand. */
export function renderPage(page: string, scores: readonly Score[]): string {
  return replaceMade(page, 'npm run build:detection', tables(scores));
}

function tables(scores: readonly Score[]): string {
  const groups = Map.groupBy(scores, ({ trace }) => trace.group);
  const easy = scores.filter(({ trace }) => trace.group !== 'hard');
  const rows = [...groups].map(([group, members]) => summary(group, members));
  const { pps, bps, holdMs } = THRESHOLDS;
  return [
    `${scores.length} traces, each played with ${SEEDS.length} seeds; thresholds ${pps} packets/s and ${bps / 1e6} Mbit/s, hold time ${holdMs / 1000} s.`,
    '',
    '| group | traces | precision | recall | named rightly | opened after, at worst | ended after, at worst | largest error of a peak |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
    summary('all but the hard ones', easy),
    '',
    '| trace | records | missed | type | opened after | ended after | error of the peak |',
    '|---|---|---|---|---|---|---|',
    ...scores.map(detail),
  ].join('\n');
}

function summary(group: string, scores: readonly Score[]): string {
  const sum = (of: (score: Score) => number): number =>
    scores.reduce((total, score) => total + of(score), 0);
  const right = sum((score) => score.right);
  const wrong = sum((score) => score.wrong);
  const missed = sum((score) => score.missed);
  const worst = (of: (score: Score) => number | null): number | null =>
    scores.reduce<number | null>((most, score) => {
      const value = of(score);
      return value === null ? most : Math.max(most ?? value, value);
    }, null);
  return row(
    group,
    String(scores.length),
    share(right, right + wrong),
    share(right, right + missed),
    share(
      sum(({ named }) => named),
      right,
    ),
    seconds(worst(({ openedAfterS }) => openedAfterS)),
    seconds(worst(({ endedAfterS }) => endedAfterS)),
    percent(worst(({ peakError }) => peakError)),
  );
}

function detail({ trace, right, wrong, missed, named, ...worst }: Score): string {
  const expected = trace.attack === null ? 'none' : `${right} right`;
  const type =
    right === 0 ? '' : named === right ? (trace.attack?.type ?? '') : `${named} of ${right} right`;
  return row(
    trace.name,
    wrong === 0 ? expected : `${expected}, ${wrong} wrong`,
    String(missed),
    type,
    seconds(worst.openedAfterS),
    seconds(worst.endedAfterS),
    percent(worst.peakError),
  );
}

function row(...cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function share(part: number, whole: number): string {
  return whole === 0 ? '' : (part / whole).toFixed(3);
}

function seconds(value: number | null): string {
  return value === null
    ? ''
    : Number.isFinite(value)
      ? `${value.toFixed(2)} s`
      : 'not in the trace';
}

function percent(value: number | null): string {
  return value === null ? '' : `${(value * 100).toFixed(1)} %`;
}
