import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
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

/** The folder of the socket: in the data directory, if the path is short enough. */
export function socketDirOf(dataDir: string): string {
  const inside = join(dataDir, 'run');
  return fits(inside) ? inside : shortSocketDir(dataDir);
}

function prepareSocketDir(dataDir: string, account: Account | null): string {
  const socketDir = socketDirOf(dataDir);
  const made = !existsSync(socketDir);
  if (made) mkdirSync(socketDir, { mode: 0o700 });
  const found = lstatSync(socketDir);
  const trusted = [account?.uid ?? process.getuid?.(), process.getuid?.()];
  // In a world-writable folder another user may have created this name.
  if (!found.isDirectory() || !trusted.includes(found.uid)) {
    throw new Error(`${socketDir} should be a directory of ours, and is not. Remove it.`);
  }
  giveTo(account, socketDir);
  if ((found.mode & 0o777) !== 0o700) chmodSync(socketDir, 0o700);
  return socketDir;
}

function fits(socketDir: string): boolean {
  return Buffer.byteLength(join(socketDir, `${SOCKET}.lock`)) <= MAX_SOCKET_PATH_BYTES;
}

/** Derived from the data directory, so that a later start finds a running server. */
function shortSocketDir(dataDir: string): string {
  const name = `portcullis-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`;
  const base = process.getuid?.() === 0 && existsSync('/run') ? '/run' : tmpdir();
  const inBase = join(base, name);
  return fits(inBase) ? inBase : join('/tmp', name);
}

/** The URL of a database of a server with this socket. */
export function socketUrl(socketDir: string, database: string, role: string): string {
  return `postgresql:///${database}?host=${encodeURIComponent(socketDir)}&user=${role}`;
}
