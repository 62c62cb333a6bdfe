import { type run } from 'node:test';
import { inspect } from 'node:util';

/** One test that ended. */
export interface Outcome {
  readonly file: string;
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped. */
  readonly detail: string;
}

/** The results of the files of one process. */
export interface Report {
  readonly outcomes: Outcome[];
  /** Files that ended, with the time each took. */
  readonly times: Map<string, number>;
  /** The text that each file printed. */
  readonly printed: Map<string, string>;
  /** The file that runs now. */
  current: string;
}

interface Ended {
  readonly name: string;
  readonly nesting: number;
  readonly skip?: string | boolean | undefined;
  readonly todo?: string | boolean | undefined;
  readonly details: {
    readonly duration_ms: number;
    readonly type?: string | undefined;
    readonly error?: { readonly cause?: unknown; readonly failureType?: string };
  };
}

/** Collects the events of a process in which each file is a suite at the top (files-process.ts). */
export function collect(stream: ReturnType<typeof run>, files: readonly string[]): Report {
  const report: Report = {
    outcomes: [],
    times: new Map(),
    printed: new Map(),
    current: files[0] ?? '',
  };
  /** Names of the suites around the test that is reported, by nesting: reports come in order. */
  const around: string[] = [];
  const add = (ended: Ended, result: Outcome['result'], detail: string): void => {
    const [file = report.current, ...suites] = around.slice(0, ended.nesting);
    const whole = files.includes(ended.name) ? 'the whole file' : 'the process of the file';
    const name = ended.nesting === 0 ? whole : [...suites, ended.name].join(' > ');
    report.outcomes.push({
      file: ended.nesting === 0 && files.includes(ended.name) ? ended.name : file,
      name,
      result,
      detail,
    });
  };
  stream.on('test:dequeue', ({ name, nesting }) => {
    if (nesting === 0 && files.includes(name)) report.current = name;
  });
  stream.on('test:start', ({ name, nesting }) => {
    around.length = nesting;
    around.push(name);
  });
  const note = ({ name, nesting, details }: Ended): void => {
    if (nesting === 0 && files.includes(name)) report.times.set(name, details.duration_ms);
  };
  stream.on('test:pass', (ended) => {
    note(ended);
    if (ended.details.type === 'suite' && ended.skip === undefined) return;
    add(ended, ended.skip === undefined ? 'passed' : 'skipped', String(ended.skip ?? ''));
  });
  stream.on('test:fail', (ended) => {
    note(ended);
    const { failureType, cause } = ended.details.error as { failureType?: string; cause?: unknown };
    // A suite fails with its tests, which are counted themselves.
    if (failureType === 'subtestsFailed') return;
    if (ended.todo !== undefined) add(ended, 'skipped', 'to do, and fails');
    else add(ended, 'failed', inspect(cause ?? ended.details.error, { depth: 6 }));
  });
  const print = ({ message }: { readonly message: string }): void => {
    const before = report.printed.get(report.current) ?? '';
    report.printed.set(report.current, before + message);
  };
  stream.on('test:stdout', print);
  stream.on('test:stderr', print);
  stream.on('test:diagnostic', ({ message, nesting }) => sayMeasured(report, message, nesting));
  return report;
}

/** Prints at once what a test measured. The totals of a process come too, without nesting, and are not of a file. */
function sayMeasured({ current }: Report, message: string, nesting: number): void {
  if (nesting > 0) console.log(`  ${current}: ${message}`);
}

export function describeFailure({ file, name, detail }: Outcome): string {
  return `  failed: ${name}\n    in ${file}\n${indent(detail)}\n`;
}

/** The last lines that a file printed. */
export function describePrinted(file: string, printed: string): string {
  const lines = printed.trimEnd().split('\n').slice(-100);
  return `    ${file} printed last:\n${indent(lines.join('\n'))}\n`;
}

/** The skipped tests with the reasons, the failed tests, and the totals alone on the last line. */
export function summarise(outcomes: readonly Outcome[]): string[] {
  const of = (result: Outcome['result']): Outcome[] =>
    outcomes.filter((outcome) => outcome.result === result);
  const [passed, failed, skipped] = [of('passed'), of('failed'), of('skipped')];
  return [
    ...skipped.map(
      ({ file, name, detail }) =>
        `skipped: ${name} (${file}): ${detail === 'true' ? 'no reason given' : detail}`,
    ),
    ...failed.map(({ file, name }) => `failed: ${name} (${file})`),
    '',
    `${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ];
}

/** The files that took the longest, in one line. */
export function describeSlowest(times: ReadonlyMap<string, number>, count: number): string {
  const slowest = [...times].toSorted(([, a], [, b]) => b - a).slice(0, count);
  return `  slowest: ${slowest.map(([file, ms]) => `${file} ${seconds(ms)}`).join(', ')}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}
