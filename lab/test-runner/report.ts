import { relative } from 'node:path';

/** One test that ended. */
export interface Outcome {
  readonly file: string;
  readonly name: string;
  /** `unsteady`: failed, and passed when its file was run once more. */
  readonly result: 'passed' | 'failed' | 'skipped' | 'unsteady';
  /** Why it failed or was skipped. */
  readonly detail: string;
}

/** How long a file of tests took, in its own process. */
export interface Timing {
  readonly file: string;
  readonly ms: number;
}

export function describeFailure(root: string, outcome: Outcome): string {
  const where = relative(root, outcome.file);
  const detail = outcome.detail.replaceAll(/^/gm, '    ');
  return `  failed: ${outcome.name}\n    in ${where}\n${detail}\n`;
}

/** Everything that did not run, was unsteady, and failed, in that order; then the totals alone on the last line. */
export function summarise(root: string, outcomes: readonly Outcome[]): string[] {
  const of = (result: Outcome['result']): Outcome[] =>
    outcomes.filter((outcome) => outcome.result === result);
  const lines: string[] = [];
  for (const { file, name, detail } of of('skipped')) {
    const why = detail === 'true' ? 'no reason given' : detail;
    lines.push(`skipped: ${name} (${relative(root, file)}): ${why}`);
  }
  for (const result of ['unsteady', 'failed'] as const) {
    for (const { file, name } of of(result)) {
      lines.push(`${result}: ${name} (${relative(root, file)})`);
    }
  }
  const count = (result: Outcome['result']): string => `${of(result).length} ${result}`;
  const totals = [count('passed'), count('failed'), count('skipped')];
  if (of('unsteady').length > 0) totals.push(count('unsteady'));
  lines.push('', totals.join(', '));
  return lines;
}

/** Where the time of a group went: its slowest files, one line. */
export function describeSlowest(timings: readonly Timing[], count: number): string {
  const slowest = timings.toSorted((a, b) => b.ms - a.ms).slice(0, count);
  return `  slowest: ${slowest.map(({ file, ms }) => `${file} ${seconds(ms)}`).join(', ')}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
