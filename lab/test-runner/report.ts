import { relative } from 'node:path';

/** One test that ended. */
export interface Outcome {
  readonly file: string;
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped';
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

/** Everything that did not run, then everything that failed, then the totals alone on the last line. */
export function summarise(root: string, outcomes: readonly Outcome[]): string[] {
  const of = (result: Outcome['result']): Outcome[] =>
    outcomes.filter((outcome) => outcome.result === result);
  const lines: string[] = [];
  for (const { file, name, detail } of of('skipped')) {
    const why = detail === 'true' ? 'no reason given' : detail;
    lines.push(`skipped: ${name} (${relative(root, file)}): ${why}`);
  }
  for (const { file, name } of of('failed'))
    lines.push(`failed: ${name} (${relative(root, file)})`);
  const counts = [of('passed'), of('failed'), of('skipped')].map((list) => list.length);
  lines.push('', `${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped`);
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
