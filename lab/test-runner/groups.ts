import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/** Test files that run alike. Groups run one after the other, the quick ones first. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
  /** `none`: all files in one process, which starts them in no time; only where tests share nothing. */
  readonly isolation: 'none' | 'process';
  readonly concurrency: number;
  /** Of one test. */
  readonly timeoutMs: number;
  /** Of one file where files have processes: a leaked handle fails its file by name. */
  readonly fileLimitMs: number;
  /** Of the whole group, whatever hangs. */
  readonly limitMs: number;
  /** Of so many files that failed each is asked once more (again.ts); when more fail, none is. */
  readonly secondTries: number;
  readonly needsDatabase: boolean;
}

const ROOMS = [
  'contract',
  'core',
  'link',
  'control',
  'agent',
  'dataplane',
  'edge',
  'collector',
  'node',
  'cli',
  'lab',
];
/** Rooms whose tests touch no process-wide state, so that they can share a process. */
const PURE = /^(?:contract|core|link)\//;
/** What a driver, an engine or a verdict does in a real kernel; nothing there is to be in time, so files run beside another. */
const DRIVERS = /^lab\/(?:drivers|differential)\//;
/** Whole stacks of which nothing is to be in time but within a generous patience: beside each other too. */
const UNTIMED = /^lab\/system\/untimed\//;
/** What is measured on a wire, or changes what all namespaces share, has the machine to itself. */
const SYSTEM = /^lab\/system\//;
/** Of a test of either. */
const REAL = { timeoutMs: 240_000, secondTries: 2 } as const;
/** What a test has from a `testing.ts` stands on a database; a `testing/` folder may lead to one. */
const TESTING = /from '([^']*\/testing(?:\.ts|\/[^']+\.ts))'/g;

/** Every `*.test.ts` of the repository whose path contains one of the filters (all, without any). */
export function findGroups(root: string, filters: readonly string[]): Group[] {
  const files = globSync(
    ROOMS.map((room) => `${room}/**/*.test.ts`),
    { cwd: root, exclude: (path) => path.includes('node_modules') },
  )
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .toSorted();
  const kinds = Object.groupBy(files, (file) => kindOf(root, file));
  const groups: Group[] = [
    group('pure', kinds.pure, { isolation: 'none', concurrency: 1 }),
    group('unit', kinds.unit),
    group('integration', kinds.integration, { needsDatabase: true }),
    group('drivers', kinds.drivers, REAL),
    // Each has half a machine: what a test may take is twice what it may alone.
    group('untimed', kinds.untimed, {
      ...REAL,
      timeoutMs: 2 * REAL.timeoutMs,
      limitMs: 1_800_000,
    }),
    group('system', kinds.system, {
      ...REAL,
      concurrency: 1,
      limitMs: 3_000_000,
      needsDatabase: true,
    }),
  ];
  return groups.filter((one) => one.files.length > 0);
}

type Kind = 'pure' | 'unit' | 'integration' | 'drivers' | 'untimed' | 'system';

function kindOf(root: string, file: string): Kind {
  if (UNTIMED.test(file)) return 'untimed';
  if (SYSTEM.test(file)) return 'system';
  if (DRIVERS.test(file)) return 'drivers';
  if (usesDatabase(join(root, file))) return 'integration';
  return PURE.test(file) ? 'pure' : 'unit';
}

/** Such a file starts a server of its own where it is given none. */
function usesDatabase(path: string): boolean {
  const found = [...readFileSync(path, 'utf8').matchAll(TESTING)].map(([, from = '']) => from);
  return found.some(
    (from) =>
      from.endsWith('/testing.ts') ||
      (from.startsWith('.') && usesDatabase(join(dirname(path), from))),
  );
}

function group(name: string, files: readonly string[] = [], options: Partial<Group> = {}): Group {
  return {
    name,
    files,
    isolation: 'process',
    concurrency: availableParallelism(),
    timeoutMs: 120_000,
    fileLimitMs: (options.timeoutMs ?? 120_000) * 2 + 30_000,
    limitMs: 900_000,
    secondTries: 0,
    needsDatabase: false,
    ...options,
  };
}
