import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Account,
  blockingFolder,
  chooseAccount,
  findAccount,
  giveTo,
} from '@portcullis/control/db/embedded/account.ts';
import { clusterOf } from '@portcullis/control/db/embedded/data-directory.ts';
import { unavailable } from '@portcullis/caller/exit.ts';
import type { ProcessSpec } from '../../agents/processes.ts';
import { endingWithUs } from '../../agents/rights.ts';

/** The account of Debian's package. */
const NATS_ACCOUNT = 'nats';
const LOG = 'nats.log';
const LOG_BYTES = 10_000_000;
const READY_POLL_MS = 20;
/** Folders that the PATH of an ordinary account lacks. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/sbin'];

function programFolders(): string[] {
  return [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS];
}

/** Finds the program of the NATS server. Throws with what to install. */
export function requireNatsServer(folders: readonly string[] = programFolders()): string {
  const found = folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'nats-server'))
    .find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw unavailable(
    'agents of other hosts reach control over NATS, and nats-server is not installed here: apt-get install nats-server (2.9 or newer). Or name one that runs elsewhere with --nats tls://nats.example.net:4222; "portcullis nats config --help" says what it needs',
  );
}

/** The folder of the server of `up`: its configuration, its certificate, and the accounts that it was sent. */
export function natsFolder(dataDir: string): string {
  return join(dataDir, 'nats');
}

/** The account of the server: that of Debian's package, else that of control. Null: the present one. */
export function natsAccount(dataDir: string, asked: string | null): Account | null {
  if (process.getuid?.() !== 0) return null;
  return findAccount(NATS_ACCOUNT) ?? chooseAccount(asked ?? undefined, clusterOf(dataDir));
}

/** Makes the folder and what is in it the account's own. Throws if the account cannot reach it. */
export function giveFolder(folder: string, account: Account | null): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  giveTo(account, folder);
  for (const name of readdirSync(folder)) giveTo(account, join(folder, name));
  const blocking = blockingFolder(account, folder);
  if (account === null || blocking === null) return;
  throw unavailable(
    `the NATS server runs as ${account.name}, which may not enter ${blocking}: choose a data directory that it can enter, with --data`,
  );
}

/** The server as a process that ends with this one and is started again when it ends before. */
export function natsProcess(
  program: string,
  { folder, account }: { readonly folder: string; readonly account: Account | null },
): ProcessSpec {
  for (const name of readdirSync(folder)) {
    if (name.endsWith('.ports')) rmSync(join(folder, name), { force: true });
  }
  const log = ['--log', LOG, '--log_size_limit', String(LOG_BYTES)];
  const args = ['--config', 'nats.conf', ...log, '--ports_file_dir', '.'];
  const { PATH, HOME } = process.env;
  return {
    name: 'NATS',
    ...endingWithUs(account, program, args),
    env: { PATH, HOME },
    cwd: folder,
    // It writes this file once it listens.
    whenReady: async (pid, ended) => {
      while (!existsSync(join(folder, `${basename(program)}_${pid}.ports`))) {
        await delay(READY_POLL_MS, null, { signal: ended });
      }
    },
  };
}

/** Why the server did not start, by its log, in words for the operator. */
export function natsFailure(
  folder: string,
  { listen, port }: { readonly listen: string; readonly port: number },
): string {
  const last = lastLine(join(folder, LOG));
  if (/address already in use/.test(last)) {
    return `port ${port} is taken by another program, so the NATS server cannot listen at ${listen}: choose another with --nats-listen, or name a server that runs with --nats`;
  }
  return `the NATS server did not start: ${last || 'its log is empty'} (${join(folder, LOG)})`;
}

function lastLine(file: string): string {
  try {
    const line = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
    return line.replace(/^\[\d+\] \S+ \S+ /, '');
  } catch {
    return '';
  }
}
