import { once } from 'node:events';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { parseArgs } from 'node:util';
import {
  collect,
  describeFailure,
  describePrinted,
  describeSlowest,
  type Outcome,
  seconds,
  summarise,
} from './report.ts';
import { findFiles, needsDatabase, planStages, type Stage, SUITES } from './suites.ts';

/**
 * `main.ts --suite=NAME... [FILTER...]`: runs the suites, or the test files whose path contains a filter.
 * The exit code is 1 when a test failed, and 2 when no file matches. docs/testing.md describes the suites.
 */
const root = join(import.meta.dirname, '..', '..');
const { values, positionals: filters } = parseArgs({
  options: { suite: { type: 'string', multiple: true, default: ['test'] } },
  allowPositionals: true,
});
const suites = SUITES.filter((suite) => values.suite.includes(suite));
const files = findFiles(root, suites, filters);
if (files.length === 0) {
  console.error(`no test file matches ${filters.join(', ') || suites.join(', ')}`);
  process.exit(2);
}

/** The number of files named with their times. */
const SLOWEST = 20;
process.chdir(root);
const isSoak = suites.includes('soak');
if (isSoak) process.env['PORTCULLIS_TEST_REPEAT'] ??= '50';
process.env['NODE_COMPILE_CACHE'] ??= sharedFolder(join(root, 'node_modules', '.cache', 'compile'));
const cluster = files.some((file) => needsDatabase(root, file)) ? await startCluster() : null;
if (cluster !== null) process.env['PORTCULLIS_TEST_DATABASE_URL'] = cluster.url;
const outcomes: Outcome[] = [];
try {
  for (const stage of planStages(files, isSoak)) outcomes.push(...(await runStage(stage)));
} finally {
  await cluster?.stop();
}
if (process.getuid?.() !== 0 && filters.length === 0) {
  console.log('not run, because that needs root: the journey on the wire (lab/journey)');
}
for (const line of summarise(outcomes)) console.log(line);
// At once: what a file that was stopped has started may hold the pipes of its output.
process.exit(outcomes.some(({ result }) => result === 'failed') ? 1 : 0);

/** A shared folder. As root, control runs as another account, which keeps what it compiled there too. */
function sharedFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  if (process.getuid?.() === 0) chmodSync(path, 0o777);
  return path;
}

/** Imported only when it is needed, because the import takes longer than a few pure tests. */
async function startCluster(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { startTestCluster } = await import('@portcullis/control/db/testing.ts');
  return startTestCluster();
}

async function runStage(stage: Stage): Promise<Outcome[]> {
  const begin = performance.now();
  const ended: Outcome[] = [];
  const times = new Map<string, number>();
  const waiting = [...stage.processes];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      ended.push(...(await runProcess(stage, next, times)));
    }
  };
  await Promise.all(Array.from({ length: stage.concurrency }, work));
  const failed = ended.filter(({ result }) => result === 'failed').length;
  const took = seconds(performance.now() - begin);
  console.log(
    `${stage.name}: ${ended.length} tests in ${times.size} files, ${failed} failed, ${took}`,
  );
  if (times.size > 1) console.log(describeSlowest(times, SLOWEST));
  return ended;
}

async function runProcess(
  { testLimitMs }: Stage,
  inProcess: readonly string[],
  times: Map<string, number>,
): Promise<Outcome[]> {
  // Twice the limit of a test for the slowest file, and a minute for each other file.
  const limitMs = testLimitMs * 2 + 30_000 + 60_000 * (inProcess.length - 1);
  const stream = run({
    files: [join(import.meta.dirname, 'files-process.ts')],
    argv: [...inProcess],
    timeout: testLimitMs,
    signal: AbortSignal.timeout(limitMs),
  });
  const report = collect(stream, inProcess);
  await once(stream.resume(), 'end');
  for (const [file, ms] of report.times) times.set(file, ms);
  const silent = inProcess.filter((file) => !report.times.has(file));
  const detail = `its process ended before the file did, in ${report.current} (limit ${seconds(limitMs)})`;
  const unfinished = silent.map(
    (file): Outcome => ({ file, name: 'the whole file', result: 'failed', detail }),
  );
  const ended = [...report.outcomes, ...unfinished];
  const failed = ended.filter(({ result }) => result === 'failed');
  for (const failure of failed) console.log(describeFailure(failure));
  for (const file of new Set(failed.map((failure) => failure.file))) {
    const printed = report.printed.get(file);
    if (printed !== undefined) console.log(describePrinted(file, printed));
  }
  return ended;
}
