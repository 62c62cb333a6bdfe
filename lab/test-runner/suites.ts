import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/** `test`: pure, unit, integration and the journey on the wire. `system`: kernel, wire, engine and faults. */
export const SUITES = ['test', 'system', 'soak'] as const;
export type Suite = (typeof SUITES)[number];

/** Processes that run concurrently, each with its files one after the other. Stages run one after the other. */
export interface Stage {
  readonly name: string;
  readonly processes: readonly (readonly string[])[];
  readonly concurrency: number;
  /** Limit of one test. A file may take twice that. */
  readonly testLimitMs: number;
}

const SYSTEM = /^lab\/(?:system|drivers|differential|portal|hostile\/system)\//;
const SOAK = /^lab\/soak\//;
/** Files that need the machine to themselves. */
const ALONE = /^lab\/(?:system\/alone|journey)\//;
/** Files that cannot share a process with others, because they measure its heap. */
const OWN_PROCESS = new Set([
  'control/attacks/detection/watch/detector-host.test.ts',
  'node/console/server-console.test.ts',
  'node/many.test.ts',
]);
/** The longest of the system suite, which begin first so that none of them ends long after all others. */
const LONGEST = [
  'lab/system/machines/machines.test.ts',
  'lab/portal/people.test.ts',
  'lab/portal/portal.test.ts',
  'lab/differential/differential.test.ts',
  'lab/drivers/early-drop-driver.test.ts',
  'lab/system/edge/full-disk.test.ts',
  'lab/system/edge/trial.test.ts',
  'lab/system/first-start/closed-checkout.test.ts',
  'lab/system/machines/two-commands.test.ts',
  'lab/system/first-start/readme.test.ts',
  'lab/system/docs/pages.test.ts',
];
/** A process costs about a second to start, and the last ones should end together. */
const FILES_PER_PROCESS = 8;
/** Tests that run longer in the soak. */
const REPEATED = /\/(?:testing\/repeated|filtered-server)\.ts'/;
/** A test file that imports from a `testing.ts` needs a database; a file in a `testing/` folder may import from one. */
const TESTING = /from '([^']*\/testing(?:\.ts|\/[^']+\.ts))'/g;

/**
 * The `*.test.ts` files of the suites. With filters: the files whose path contains a filter, of the suites `test` and
 * `system` too.
 */
export function findFiles(
  root: string,
  suites: readonly Suite[],
  filters: readonly string[],
): string[] {
  const wanted = new Set<Suite>(filters.length === 0 ? suites : [...suites, 'test', 'system']);
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly workspaces: readonly string[];
  };
  const isRepeated = (file: string): boolean =>
    REPEATED.test(readFileSync(join(root, file), 'utf8'));
  return globSync(
    workspaces.map((room) => `${room}/**/*.test.ts`),
    { cwd: root, exclude: (path) => path.includes('node_modules') },
  )
    .filter((file) => wanted.has(suiteOf(file)) || (wanted.has('soak') && isRepeated(file)))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .toSorted();
}

export function planStages(files: readonly string[], isSoak: boolean): Stage[] {
  if (isSoak) {
    return [{ name: 'soak', processes: each(files), concurrency: 1, testLimitMs: 3_600_000 }];
  }
  const alone = files.filter((file) => ALONE.test(file));
  const { test = [], system = [] } = Object.groupBy(
    files.filter((file) => !ALONE.test(file)),
    (file) => (SYSTEM.test(file) ? 'system' : 'test'),
  );
  // Files wait for boots, leases and timers about half of their time.
  const concurrency = availableParallelism() + 1;
  const stages: Stage[] = [
    { name: 'test', processes: share(test), concurrency, testLimitMs: 120_000 },
    { name: 'system', processes: each(longestFirst(system)), concurrency, testLimitMs: 480_000 },
    { name: 'alone', processes: each(alone), concurrency: 1, testLimitMs: 240_000 },
  ];
  return stages.filter(({ processes }) => processes.length > 0);
}

export function needsDatabase(root: string, file: string): boolean {
  return importsDatabase(join(root, file));
}

function suiteOf(file: string): Suite {
  if (SOAK.test(file)) return 'soak';
  return SYSTEM.test(file) ? 'system' : 'test';
}

function each(files: readonly string[]): string[][] {
  return files.map((file) => [file]);
}

function longestFirst(files: readonly string[]): string[] {
  const known = LONGEST.filter((file) => files.includes(file));
  return [...known, ...files.filter((file) => !LONGEST.includes(file))];
}

function share(files: readonly string[]): string[][] {
  const sharing = files.filter((file) => !OWN_PROCESS.has(file));
  const processes = each(files.filter((file) => OWN_PROCESS.has(file)));
  for (let begin = 0; begin < sharing.length; begin += FILES_PER_PROCESS) {
    processes.push(sharing.slice(begin, begin + FILES_PER_PROCESS));
  }
  return processes;
}

function importsDatabase(path: string): boolean {
  const found = [...readFileSync(path, 'utf8').matchAll(TESTING)].map(([, from = '']) => from);
  return found.some(
    (from) =>
      from.endsWith('/testing.ts') ||
      (from.startsWith('.') && importsDatabase(join(dirname(path), from))),
  );
}
