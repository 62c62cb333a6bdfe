import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Account } from '@portcullis/control/db/embedded/account.ts';
import { runningServer } from '@portcullis/control/db/embedded/server.ts';
import { giveFolder } from '@portcullis/node/server-folder/give.ts';
import { CliError, EXIT, failed } from '@portcullis/caller/exit.ts';
import { isInstalled, MOVED_TO } from './choose.ts';
import { usesServers } from './users.ts';

/**
 * The parts of an installation. The edge enrols itself again: what it had kept as a user, it had never enforced. The
 * database comes last, because with it the new directory is an installation.
 */
const PARTS = ['first-key-unseen', 'fleet-keys-unseen', 'collectors', 'node', 'postgres'] as const;
/** State of processes that ran there. */
const LEFT_OUT = ['postgres/postmaster.pid', 'node/compiled', 'node/agent.lock'];
const STAGING = 'adopting';
/** In the staging folder once it holds everything. */
const COMPLETE = 'complete';
const IN_USE = 75;
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Copies the installation of another account to `into`, as root and under the lock of `up` there; the copy belongs to
 * `account` and root. The original stays, with a note where it went, so that a kill at any moment loses nothing: the next
 * call repeats or completes it. Only processes of the previous owner read the original, and only ones of `account` write
 * what they read, so that links and names in it reach nothing that these accounts could not.
 */
export async function adoptInstallation(
  from: string,
  into: string,
  account: Account,
): Promise<void> {
  if (completeAdoption(into)) return;
  const owner = requireAdoptable(from, into);
  const staging = join(into, STAGING);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { mode: 0o700 });
  lchownSync(staging, account.uid, account.gid);
  const reader = readAs(owner, from, into);
  try {
    await copy(reader, staging, account);
    await give(staging, account);
    spawnSync('sync', ['--file-system', staging]);
    writeFileSync(join(staging, COMPLETE), '', { flush: true });
    completeAdoption(into);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    throw error;
  } finally {
    // It holds the locks of the original until here.
    reader.stdin.end();
  }
}

/** Puts what was copied in its place; also after a kill while that was done. Returns false if nothing was copied. */
export function completeAdoption(into: string): boolean {
  const staging = join(into, STAGING);
  if (!existsSync(join(staging, COMPLETE))) return false;
  for (const part of PARTS)
    if (existsSync(join(staging, part))) renameSync(join(staging, part), join(into, part));
  rmSync(staging, { recursive: true });
  return true;
}

function requireAdoptable(from: string, into: string): Owner {
  const found = lstatSync(from, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true || !isInstalled(from))
    throw failed(`${from} holds no installation: give the directory that its start printed`);
  if (isInstalled(into))
    throw failed(`${into} holds an installation already: choose another directory with --data`);
  const node = join(into, 'node');
  const servers = join(node, 'servers');
  if (existsSync(servers) && readdirSync(servers).length > 0)
    throw failed(`${node} holds game servers already: choose another --data`);
  rmSync(node, { recursive: true, force: true });
  if (runningServer(join(from, 'postgres')) !== null) throw inUse(from);
  if (usesServers(join(from, 'node', 'servers')))
    throw failed(
      `game servers of ${from} still run: stop them first, such as with Ctrl-C of npm start`,
    );
  return { uid: found.uid, gid: found.gid };
}

class InUse extends CliError {}

function inUse(from: string): InUse {
  const what = 'stop what runs there first, such as npm start, with Ctrl-C';
  return new InUse(EXIT.failed, `${from} is in use: ${what}`);
}

interface Reader {
  /** Ends it. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when everything was written; rejects if that failed. */
  readonly done: Promise<void>;
}

/**
 * Locks the original as its own processes do, notes where it goes, and writes it to stdout. Runs until stdin closes.
 */
function readAs({ uid, gid }: Owner, from: string, into: string): Reader {
  const parts = PARTS.filter((part) => existsSync(join(from, part)));
  const exclude = LEFT_OUT.map((path) => `--exclude=${path}`);
  const write = `printf '%s\n' "$0" >${MOVED_TO} && tar -c -f - "$@" && exec >&- && echo >&3`;
  const lock = ['flock', '--nonblock', '--no-fork', '--conflict-exit-code', String(IN_USE)];
  const locked = [...lock, 'up.lock', ...lock, 'control.lock'];
  const [command, ...args] = [...locked, 'sh', '-c', `${write} && cat >/dev/null`, into];
  const child: ChildProcess = spawn(command, [...args, ...exclude, ...parts], {
    uid,
    gid,
    cwd: from,
    env: ENVIRONMENT,
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  });
  // Its end says more than a broken pipe.
  const [stdin, stdout, , status] = child.stdio as unknown as [Writable, Readable, null, Readable];
  stdin.on('error', () => {});
  const ended = once(child, 'exit').then(([code]) => {
    throw code === IN_USE ? inUse(from) : failed(`${from} could not be read; see above`);
  });
  const written = once(status, 'data');
  const done = Promise.race([written, ended]).then(() => {});
  done.catch(() => {});
  return { stdin, stdout, done };
}

async function copy({ stdout, done }: Reader, staging: string, account: Account): Promise<void> {
  const { uid, gid } = account;
  const writer = spawn('sh', ['-c', 'umask 022; exec tar -x -o -f - -C "$0"', staging], {
    uid,
    gid,
    cwd: '/',
    env: ENVIRONMENT,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let errors = '';
  writer.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  writer.stdin.on('error', () => {});
  stdout.pipe(writer.stdin);
  const [code] = (await once(writer, 'close')) as [number | null];
  // A reader that is still writing ends by this.
  stdout.destroy();
  await done.catch((error: unknown) => {
    if (code === 0 || error instanceof InUse) throw error;
  });
  if (code !== 0) throw failed(`${staging} could not be written: ${errors.trim()}`);
}

/**
 * The account keeps the database; agents of root keep the rest. The node gives each server its folder before its start, so
 * what games made of it is walked with care already here.
 */
async function give(staging: string, { uid }: Account): Promise<void> {
  requirePlain(join(staging, 'postgres'));
  for (const part of PARTS) requireNoLinks(join(staging, part), staging);
  const owner = { uid: 0, gid: 0 };
  for (const part of PARTS) {
    const path = join(staging, part);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (part === 'postgres' || found === undefined) continue;
    if (found.isDirectory()) await giveFolder(path, { owner, formerUids: [uid] });
    else lchownSync(path, owner.uid, owner.gid);
  }
}

/** Control writes in the database's folder as root, which must not follow a link out of it. */
function requirePlain(path: string): void {
  const found = lstatSync(path);
  if (!found.isDirectory() && !found.isFile())
    throw failed('the database has links to places outside its folder, so it is not adopted');
  if (found.isDirectory()) for (const name of readdirSync(path)) requirePlain(join(path, name));
}

/** Root follows paths in these folders, so a link may stand only inside the folder of a server. */
function requireNoLinks(path: string, staging: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) {
    const name = relative(staging, path);
    throw failed(
      `${name} is a link, so the installation is not adopted: put what it leads to there`,
    );
  }
  if (found?.isDirectory() !== true || dirname(path) === join(staging, 'node', 'servers')) return;
  for (const name of readdirSync(path)) requireNoLinks(join(path, name), staging);
}
