import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { seconds } from './test-runner/report.ts';

/** `npm run check`: everything that can be said about the code without running it. All of it, also after a failure. */
interface Check {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}
interface Checked {
  readonly check: Check;
  readonly failed: boolean;
  readonly output: string;
  readonly ms: number;
}

const root = join(import.meta.dirname, '..');
const node = process.execPath;
const scripts = ['portcullis', '.ci/run', 'lab/fuzz/run', 'edge/boot/load.sh'];

const CHECKS: readonly Check[] = [
  { name: 'types', ...tool('tsc', '-p', 'tsconfig.json') },
  { name: 'types of the portal', ...tool('tsc', '-p', 'portal/tsconfig.json') },
  { name: 'lint', ...tool('oxlint', '--type-aware', '--deny-warnings') },
  { name: 'format', ...tool('biome', 'format', '.') },
  { name: 'dead code', ...tool('knip', '--no-progress') },
  {
    name: 'boundaries',
    command: node,
    args: ['--test', 'lab/structure/architecture.test.ts', 'lab/structure/words.test.ts'],
  },
  { name: 'OpenAPI', command: node, args: ['contract/build-openapi.ts', '--check'] },
  { name: 'client types', command: node, args: ['client/build-operations.ts', '--check'] },
  {
    name: 'fleet schema',
    command: node,
    args: ['control/operator/fleet-file/schema/build-schema.ts', '--check'],
  },
  { name: 'tables', command: node, args: ['control/db/build-tables.ts', '--check'] },
  { name: 'rooms', command: node, args: ['lab/structure/build-picture.ts', '--check'] },
  { name: 'commit subjects', command: node, args: ['lab/structure/commit-subjects.ts'] },
  // A lock file made where a package of another platform cannot be had loses it, and `npm ci` then refuses.
  { name: 'lock file', command: 'npm', args: ['ci', '--dry-run', '--ignore-scripts'] },
  ...scripts.map((script) => ({ name: script, command: 'bash', args: ['-n', script] })),
];

const results = await runAll(CHECKS, availableParallelism());
const failed = results.filter((result) => result.failed);
console.log(`\n${results.length - failed.length} of ${results.length} checks passed`);
process.exitCode = failed.length === 0 ? 0 : 1;

function tool(name: string, ...args: string[]): Pick<Check, 'command' | 'args'> {
  return { command: join(root, 'node_modules', '.bin', name), args };
}

async function runAll(checks: readonly Check[], workers: number): Promise<Checked[]> {
  const waiting = [...checks];
  const done: Checked[] = [];
  const work = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const result = await runCheck(check);
      done.push(result);
      console.log(`${result.failed ? 'FAILED' : 'ok    '} ${check.name} (${seconds(result.ms)})`);
      if (result.failed) console.log(result.output.replaceAll(/^/gm, '  '));
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return done;
}

function runCheck(check: Check): Promise<Checked> {
  const begin = performance.now();
  return new Promise((resolve) => {
    const child = spawn(check.command, check.args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const end = (failed: boolean): void =>
      resolve({ check, failed, output, ms: performance.now() - begin });
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', (error) => {
      output += error.message;
      end(true);
    });
    child.on('close', (code) => end(code !== 0));
  });
}
