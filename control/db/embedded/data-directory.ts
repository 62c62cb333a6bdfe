import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Account, blockingFolder, giveTo } from './account.ts';

/** The paths of an embedded server. */
export interface Layout {
  readonly dataDir: string;
  /** The cluster: PostgreSQL's data directory. */
  readonly cluster: string;
  /** Contains only the socket. Only the account may enter it. */
  readonly socketDir: string;
  /** The server's log. */
  readonly logFile: string;
}

/** The port is only a part of the socket's name: the server listens on no network. */
export const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;

/** sun_path of sockaddr_un holds 108 bytes with the final NUL. */
const MAX_SOCKET_PATH_BYTES = 107;

/** The files of a server on this socket. */
export function socketFiles(socketDir: string): string[] {
  return [join(socketDir, SOCKET), join(socketDir, `${SOCKET}.lock`)];
}

export function clusterOf(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/** Creates the data directory if missing. Throws with a reason if the account cannot use it. */
export function prepareDataDir(asked: string, account: Account | null): string {
  mkdirSync(asked, { recursive: true, mode: account === null ? 0o700 : 0o711 });
  const dataDir = realpathSync(asked);
  letThrough(dataDir, account);
  return dataDir;
}

/** The paths, with the socket's folder created. */
export function prepareLayout(dataDir: string, account: Account | null): Layout {
  const socketDir = prepareSocketDir(dataDir, account);
  return {
    dataDir,
    cluster: clusterOf(dataDir),
    socketDir,
    logFile: join(dataDir, 'postgres.log'),
  };
}

function letThrough(dataDir: string, account: Account | null): void {
  if (account === null) return;
  let blocking = blockingFolder(account, dataDir);
  if (blocking === dataDir) {
    // Execute permission only: it does not reveal the content.
    chmodSync(dataDir, lstatSync(dataDir).mode | 0o011);
    blocking = blockingFolder(account, dataDir);
  }
  if (blocking !== null) {
    throw new Error(
      `PostgreSQL runs as ${account.name}, which may not enter ${blocking}, so it cannot use the data directory ${dataDir}. Choose another with --data, such as /var/lib/portcullis, or set DATABASE_URL.`,
    );
  }
}

function prepareSocketDir(dataDir: string, account: Account | null): string {
  const uid = account?.uid ?? process.getuid?.();
  const inside = join(dataDir, 'run');
  const socketDir = fits(inside) ? inside : shortSocketDir(dataDir, uid);
  mkdirSync(socketDir, { recursive: true, mode: 0o700 });
  const found = lstatSync(socketDir);
  // In a world-writable folder another user may have created this name.
  if (!found.isDirectory() || ![uid, process.getuid?.()].includes(found.uid)) {
    throw new Error(`${socketDir} should be a directory of ours, and is not. Remove it.`);
  }
  giveTo(account, socketDir);
  if ((found.mode & 0o777) !== 0o700) chmodSync(socketDir, 0o700);
  return socketDir;
}

function fits(socketDir: string): boolean {
  return Buffer.byteLength(join(socketDir, `${SOCKET}.lock`)) <= MAX_SOCKET_PATH_BYTES;
}

/** Another account has another one, so that a changed account does not meet a directory of the previous one. */
function shortSocketDir(dataDir: string, uid: number | undefined): string {
  const digest = createHash('sha256').update(`${uid} ${dataDir}`).digest('hex');
  const name = `portcullis-${digest.slice(0, 16)}`;
  const base = process.getuid?.() === 0 && existsSync('/run') ? '/run' : tmpdir();
  const inBase = join(base, name);
  return fits(inBase) ? inBase : join('/tmp', name);
}

/** The URL of a database of a server with this socket. */
export function socketUrl(socketDir: string, database: string, role: string): string {
  return `postgresql:///${database}?host=${encodeURIComponent(socketDir)}&user=${role}`;
}

/**
 * Locks a data directory for one control process by flock(2), through the flock command of util-linux. The lock belongs
 * to the open file, which the command shares with this process, so it ends with this process in any case, and also
 * holds across containers that share the directory.
 */
export function lockDirectory(dataDir: string, account: Account | null): { release(): void } {
  const path = `${dataDir}/control.lock`;
  const fd = openLock(path);
  // The next control process may run as the account without being root.
  giveTo(account, path);
  const locked = spawnSync('flock', ['--nonblock', '--exclusive', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', fd],
  });
  if (locked.error !== undefined) {
    closeSync(fd);
    throw new Error('The flock command is missing: install util-linux.', { cause: locked.error });
  }
  if (locked.status !== 0) {
    const holder = readFileSync(path, 'utf8').trim();
    closeSync(fd);
    throw new Error(
      `The data directory ${dataDir} is in use by another control process${holder ? ` (pid ${holder})` : ''}. Stop that one, or choose another directory with --data.`,
    );
  }
  ftruncateSync(fd);
  writeSync(fd, `${process.pid}\n`);
  return { release: () => closeSync(fd) };
}

/** Follows no link: it is opened as root, and then given to the account. */
function openLock(path: string): number {
  try {
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
    return openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (cause) {
    throw new Error(
      `${path} cannot be opened: the data directory belongs to another account. Run this as that account, or as root.`,
      { cause },
    );
  }
}

/** Folders that control and PostgreSQL own in a data directory; agents own the rest. */
const OWNED = ['run', 'link', 'node-link', 'control.lock', 'postgres'];

/**
 * Gives an existing data directory of another account to `account`, as root, under the lock of the directory and while
 * no server runs. The version file is last, so that it names the previous owner until the change is complete. Returns
 * whether the owner changed.
 */
export function takeOver(dataDir: string, account: Account | null): boolean {
  const cluster = clusterOf(dataDir);
  const last = join(cluster, 'PG_VERSION');
  const previous = lstatSync(last, { throwIfNoEntry: false });
  if (account === null || previous === undefined) return false;
  if ([0, account.uid].includes(previous.uid)) return false;
  // A hard link to a file of a third account names none.
  if (![previous.uid, account.uid].includes(lstatSync(cluster).uid)) return false;
  const names = readdirSync(dataDir).filter((name) => OWNED.some((own) => name.startsWith(own)));
  for (const name of names) give(join(dataDir, name), previous, account, last);
  give(last, previous, account);
  return true;
}

/**
 * Changes a folder before its content: from then on the previous owner cannot exchange an entry between the test of its
 * owner and the change. A file of another owner, such as a hard link to a file of root, keeps it.
 */
function give(path: string, previous: Stats, account: Account, except?: string): void {
  if (path === except) return;
  const found = lstatSync(path);
  if (found.uid === previous.uid) {
    lchownSync(path, account.uid, found.gid === previous.gid ? account.gid : found.gid);
  } else if (found.uid !== account.uid) return;
  if (!found.isDirectory()) return;
  for (const name of readdirSync(path)) give(join(path, name), previous, account, except);
}
