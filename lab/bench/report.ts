import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One figure of a bench. `ratio` is value / baseline; a goal is a lower bound of it unless `goalIs` says upper. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The same unit, measured beside `value` in the same run; null where nothing comparable exists. */
  readonly baseline: number | null;
  /** The first and third quartile of the ratio, where each round has its own. */
  readonly quartiles?: readonly [number, number];
  readonly goal: number | null;
  readonly goalIs?: 'at least' | 'at most';
}

export interface Bench {
  readonly name: string;
  /** Why it cannot run here, in words; null when it can. */
  readonly missing: () => string | null;
  /** Whether `run` gets options of the command line, such as `--only SYN`; it throws for those that it has not. */
  readonly takesOptions?: true;
  readonly run: (
    say: (line: string) => void,
    options: readonly string[],
  ) => Promise<readonly Row[] | BenchResults>;
}

export interface BenchResults {
  readonly rows: readonly Row[];
  /** For `--json` alone. */
  readonly details: unknown;
}

interface ReportedRow extends Omit<Row, 'goalIs'> {
  readonly ratio: number | null;
  readonly met: boolean | null;
}

/**
 * Writes `bench/results/NAME.json`, with the options of the run in its command, and returns the lines to print. A goal
 * missed is said, never hidden.
 */
export function report(
  root: string,
  bench: string,
  rows: readonly Row[],
  options: readonly string[] = [],
): string[] {
  const reported = rows.map(toReported);
  const folder = join(root, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const document = {
    bench,
    command: ['npm run bench --', bench, ...options].join(' '),
    rows: reported,
  };
  writeFileSync(join(folder, `${bench}.json`), `${JSON.stringify(document, null, 2)}\n`);
  return reported.map(toLine);
}

function toReported(row: Row): ReportedRow {
  const { goalIs = 'at least', ...rest } = row;
  const ratio =
    row.baseline === null || row.baseline === 0 ? null : round(row.value / row.baseline);
  const compared = ratio ?? row.value;
  const met =
    row.goal === null ? null : goalIs === 'at least' ? compared >= row.goal : compared <= row.goal;
  return {
    ...rest,
    value: round(row.value),
    baseline: row.baseline && round(row.baseline),
    ...(row.quartiles && {
      quartiles: [round(row.quartiles[0]), round(row.quartiles[1])] as const,
    }),
    ratio,
    met,
  };
}

function toLine(row: ReportedRow): string {
  const beside =
    row.baseline === null ? '' : ` beside ${row.baseline} ${row.unit}: ratio ${row.ratio}`;
  const goal =
    row.met === null ? '' : row.met ? ` (goal ${row.goal} met)` : ` (goal ${row.goal} MISSED)`;
  const [low, high] = row.quartiles ?? [];
  const spread = low === undefined ? '' : ` (quartiles ${low} and ${high})`;
  return `${row.name}: ${row.value} ${row.unit}${beside}${spread}${goal}`;
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}
