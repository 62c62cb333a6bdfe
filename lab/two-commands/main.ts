import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findAccount } from '@portcullis/control/db/embedded/account.ts';

/**
 * Runs the two commands of the README as they stand there, in fresh clones of this checkout at places where people have
 * them: `node lab/two-commands/main.ts [PLACE...]`, as root. Every place has a space and a letter that is not ASCII in
 * its path, and its commands have no terminal and no HOME. The tests of the user have Debian's PostgreSQL 15 where it is installed,
 * so that both the oldest and the embedded one are tried. Exits with 1 if one fails. `--totals FILE`: appends the totals of
 * the tests that ran as root. `--whole`: the second command installs again, as in the README, and the user runs every
 * test too, rather than those of `OF_THE_ACCOUNT`.
 */
interface Place {
  readonly name: string;
  readonly asUser: boolean;
  /** The mode of the folder above the clone. */
  readonly mode: number;
  readonly umask: string;
  /** Filters of the runner, none for every test; null: no tests run. */
  readonly tests: readonly string[] | null;
}
/** Tests of what depends on the account, its umask and its PostgreSQL: starts, and the areas that write most. */
const OF_THE_ACCOUNT = [
  'cli/up',
  'control/db/',
  'control/firewall/',
  'control/fleet/',
  'control/outbox/',
];
const PLACES: readonly Place[] = [
  { name: 'root, closed folder', asUser: false, mode: 0o700, umask: '022', tests: [] },
  { name: 'user, closed home', asUser: true, mode: 0o700, umask: '077', tests: OF_THE_ACCOUNT },
  { name: 'root, umask 077', asUser: false, mode: 0o755, umask: '077', tests: null },
];

const REPOSITORY = join(import.meta.dirname, '..', '..');
const USER = 'portcullis-clone';
const LISTEN = '127.0.0.1:18071';
const OLDEST_POSTGRES = '/usr/lib/postgresql/15';
/** A slow host installs and builds for minutes. */
const START_MS = 600_000;
const POLL_MS = 500;
const KEY = /^ *(pcl_\w+)\s*$/m;
const IS_UP = /Ctrl-C stops it/;

function readCommands(): string[] {
  const readme = readFileSync(join(REPOSITORY, 'README.md'), 'utf8');
  const [, block = ''] = /^## Two commands$.*?^```sh$(.*?)^```$/ms.exec(readme) ?? [];
  const lines = block.split('\n').map((line) => line.replace(/\s+#.*$/, ''));
  return lines.filter((line) => line !== '');
}

async function tryAt(place: Place): Promise<void> {
  const folder = join(home, place.asUser ? 'user' : 'root');
  const clone = join(folder, 'spiel-häuser 1', 'portcullis');
  mkdirSync(folder, { mode: place.mode });
  const account = place.asUser ? findAccount(USER) : null;
  if (account !== null) chownSync(folder, account.uid, account.gid);
  const data = join(account === null ? join(home, `data of ${place.name}`) : folder, 'data');
  const shell = new Shell(place, clone, data);
  try {
    // As root, whose repository git takes for safe; under the umask of the place.
    execFileSync('sh', [
      '-c',
      `umask ${place.umask}; git clone --quiet "$0" "$1"`,
      REPOSITORY,
      clone,
    ]);
    if (account !== null) execFileSync('chown', ['-R', `${USER}:`, folder]);
    await tryStart(shell);
    if (place.tests === null) return;
    const said = await shell.succeeds(testCommand(place.tests), clone);
    if (!place.asUser && values.totals !== undefined)
      appendFileSync(values.totals, `${said.split('\n').at(-1)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The second command; without `--whole` what the first one installed stays, and the tests may be fewer. */
function testCommand(filters: readonly string[]): string {
  if (values.whole) return test;
  const installed = test.replace(/^npm ci && /, '');
  return filters.length === 0 ? installed : `${installed} -- ${filters.join(' ')}`;
}

/** Starts, calls with the printed key as the README does, and stops as Ctrl-C does. */
async function tryStart(shell: Shell): Promise<void> {
  const { child, said } = shell.run(start, shell.clone);
  const until = performance.now() + START_MS;
  while (!IS_UP.test(said.text) && child.exitCode === null && performance.now() < until)
    await delay(POLL_MS);
  const key = KEY.exec(said.text)?.[1];
  const url = `http://${LISTEN}/api/v1/game-servers`;
  const reply = await fetch(url, { headers: { authorization: `Bearer ${key}` } }).catch(() => null);
  const text = await reply?.text();
  if (child.exitCode === null && child.pid !== undefined) {
    const exited = once(child, 'exit');
    process.kill(-child.pid, 'SIGINT');
    await exited;
  }
  if (reply?.status !== 200 || text?.includes('Hearth') !== true)
    throw new Error(`"${start}" does not work (${reply?.status} ${text}):\n${said.text}`);
}

/** Commands at a place. */
class Shell {
  readonly clone: string;
  readonly #place: Place;
  /** The data directory of the place alone: a first key is printed once. */
  readonly #data: string;

  constructor(place: Place, clone: string, data: string) {
    this.#place = place;
    this.clone = clone;
    this.#data = data;
  }

  run(line: string, cwd: string): { child: ChildProcess; said: { text: string } } {
    const { asUser, umask } = this.#place;
    const { HOME: _, TERM: __, PORTCULLIS_TEST_REQUIRE: needs, ...environment } = process.env;
    const account = asUser
      ? ['setpriv', '--reuid', USER, '--regid', USER, '--clear-groups', '--']
      : [];
    const args = ['sh', '-c', `umask ${umask}; ${line}`];
    // In a session of its own, so without a terminal.
    const child = spawn('env', [...account, ...args], {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...environment,
        ...(asUser && existsSync(OLDEST_POSTGRES)
          ? { PORTCULLIS_TEST_POSTGRES: OLDEST_POSTGRES }
          : {}),
        // A user misses what needs root.
        ...(asUser || needs === undefined ? {} : { PORTCULLIS_TEST_REQUIRE: needs }),
        PORTCULLIS_DATA: this.#data,
        PORTCULLIS_LISTEN: LISTEN,
        PORTCULLIS_METRICS_LISTEN: '127.0.0.1:18072',
      },
    });
    const said = { text: '' };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said.text += text));
    return { child, said };
  }

  /** Returns what it printed. */
  async succeeds(line: string, cwd: string): Promise<string> {
    const { child, said } = this.run(line, cwd);
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0)
      throw new Error(`"${line}" failed (${code}), ${this.#place.name}:\n${said.text}`);
    const text = said.text.trimEnd();
    console.log(text.split('\n').slice(-3).join('\n'));
    return text;
  }
}

const { values, positionals: wanted } = parseArgs({
  options: { totals: { type: 'string' }, whole: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [start = '', test = ''] = readCommands();
const home = mkdtempSync(join(tmpdir(), 'portcullis-two-commands-'));
chmodSync(home, 0o711);
execFileSync('useradd', ['--system', '--home-dir', join(home, 'user'), '--no-create-home', USER]);
try {
  for (const place of PLACES) {
    if (wanted.length > 0 && !wanted.some((word) => place.name.includes(word))) continue;
    const begin = performance.now();
    await tryAt(place);
    console.log(`ok: ${place.name} (${Math.round((performance.now() - begin) / 1_000)} s)`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  execFileSync('userdel', [USER], { stdio: 'ignore' });
  rmSync(home, { recursive: true, force: true });
}
