import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { afterSecondTry, filesToTryAgain } from './again.ts';
import { findGroups, type Group } from './groups.ts';
import {
  describeFailure,
  describeSlowest,
  type Outcome,
  seconds,
  summarise,
  type Timing,
} from './report.ts';

/**
 * `npm test [-- FILTER...]`: every test, or those whose path contains a filter. Exit code 1 when one
 * failed, 2 when nothing matches.
 */
const root = join(import.meta.dirname, '..', '..');
const filters = process.argv.slice(2);
const groups = findGroups(root, filters);
if (groups.length === 0) {
  console.error(`no test file matches ${filters.join(', ')}`);
  process.exit(2);
}

/** So many files are named with their times. */
const SLOWEST = 12;
const outcomes: Outcome[] = [];
const cluster = groups.some((group) => group.needsDatabase) ? startCluster() : null;
try {
  for (const group of groups) {
    const url = group.needsDatabase ? ((await cluster)?.url ?? '') : '';
    const ended = await runGroup(group, url);
    const again = filesToTryAgain(root, group, ended);
    outcomes.push(
      ...(again.length === 0
        ? ended
        : afterSecondTry(
            ended,
            await runGroup({ ...group, name: 'once more', files: again }, url),
          )),
    );
  }
} finally {
  await (await cluster)?.stop();
}
for (const line of summarise(root, outcomes)) console.log(line);
process.exitCode = outcomes.some((outcome) => outcome.result === 'failed') ? 1 : 0;

/** Loaded only when needed, so that a filtered run of quick tests stays quick. */
async function startCluster(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { startTestCluster } = await import('@portcullis/control/db/testing.ts');
  return startTestCluster();
}

async function runGroup(group: Group, databaseUrl: string): Promise<Outcome[]> {
  const groupBegin = performance.now();
  const ended: Outcome[] = [];
  const timings: Timing[] = [];
  const child = fork(join(import.meta.dirname, 'group-process.ts'), [JSON.stringify(group)], {
    cwd: root,
    env: {
      ...process.env,
      ...(databaseUrl === '' ? {} : { PORTCULLIS_TEST_DATABASE_URL: databaseUrl }),
    },
  });
  child.on('message', (message) => {
    const told = message as Outcome | Timing;
    if ('ms' in told) timings.push(told);
    else ended.push(told);
    if ('result' in told && told.result === 'failed') console.log(describeFailure(root, told));
  });
  const stop = setTimeout(() => child.kill('SIGKILL'), group.limitMs);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(stop);
  if (ended.length === 0 || signal !== null || (code !== 0 && !ended.some(hasFailed))) {
    ended.push(died(group, ended, `code ${code}, signal ${signal}`));
  }
  const failed = ended.filter(hasFailed).length;
  const took = seconds(performance.now() - groupBegin);
  const files = group.files.length;
  console.log(`${group.name}: ${ended.length} tests in ${files} files, ${failed} failed, ${took}`);
  if (timings.length > SLOWEST) console.log(describeSlowest(timings, SLOWEST));
  return ended;
}

function hasFailed(outcome: Outcome): boolean {
  return outcome.result === 'failed';
}

/** A process that ended without its tests is a failure, never a silence; the files left to end are named. */
function died(group: Group, ended: readonly Outcome[], how: string): Outcome {
  const seen = new Set(ended.map(({ file }) => relative(root, file)));
  const silent = group.files.filter((file) => !seen.has(file)).join(', ') || 'none';
  const detail = `the process of these tests ended early (${how}, limit ${seconds(group.limitMs)}); last: ${ended.at(-1)?.name ?? 'nothing'}; files without a result: ${silent}`;
  return { file: root, name: `the group ${group.name}`, result: 'failed', detail };
}
