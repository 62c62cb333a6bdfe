import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  statfsSync,
} from 'node:fs';
import { join } from 'node:path';
import { failed, unavailable, usageError } from '@portcullis/caller/exit.ts';
import { prepareNodeFolder } from '../agents/processes.ts';

/** Folders of one `up`; control creates its own. */
export interface DataDirectory {
  readonly path: string;
  /** State of the edge: its last policies, and whether it is disabled. */
  readonly edge: string;
  /** State of the node: its journal, its credential, and the folders of its servers. */
  readonly node: string;
}

/** Files and folders that identify a data directory. */
const MARKS = ['up.lock', 'control.lock', 'postgres', 'edge', 'link', 'node', 'node-link'];
/** A new database has 55 MB; the rest is for what is written. */
const NEEDED_MB = 200;
/** The processes of a killed `up` stop by themselves within this time. */
const PREVIOUS_STOP_TIMEOUT_S = 20;

/** Creates missing folders and locks the directory until this process exits. */
export function takeDataDirectory(requested: string): DataDirectory {
  refuseForeignDirectory(requested);
  const isRoot = process.getuid?.() === 0;
  // As root, control and PostgreSQL run as another account, which may traverse the directory but not list it.
  mkdirSync(requested, { recursive: true, mode: isRoot ? 0o711 : 0o700 });
  const path = realpathSync(requested);
  requireSpace(path);
  const edge = join(path, 'edge');
  mkdirSync(edge, { recursive: true, mode: 0o700 });
  const node = join(path, 'node');
  prepareNodeFolder(node);
  lockFile(join(path, 'up.lock'), path);
  waitForPreviousControl(path);
  return { path, edge, node };
}

/** A first start fails in many ways on a disk that fills meanwhile, so it is refused before. */
function requireSpace(path: string): void {
  if (existsSync(join(path, 'postgres'))) return;
  const { bavail, bsize } = statfsSync(path);
  const freeMb = Math.floor((bavail * bsize) / 1_000_000);
  if (freeMb >= NEEDED_MB) return;
  throw unavailable(
    `a first start needs ${NEEDED_MB} MB in ${path}, where ${freeMb} MB are free: make room, or choose another directory with --data`,
  );
}

/** Protects against a mistyped `--data /etc`. */
function refuseForeignDirectory(path: string): void {
  if (!existsSync(path)) return;
  const found = readdirSync(path);
  if (found.length > 0 && !found.some((name) => MARKS.includes(name))) {
    throw usageError(
      `${path} holds files that are not of Portcullis: choose an empty or new folder with --data`,
    );
  }
}

/** flock(2) releases the lock when this process exits for any reason. */
function lockFile(file: string, dataDir: string): void {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const fd = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  if (flock(fd, '--nonblock')) return;
  closeSync(fd);
  throw failed(
    `another portcullis is up on ${dataDir}: stop that one, or choose another directory with --data`,
  );
}

function waitForPreviousControl(dataDir: string): void {
  const file = join(dataDir, 'control.lock');
  if (!existsSync(file)) return;
  const fd = openSync(file, 'r');
  const isFree = flock(fd, '--wait', String(PREVIOUS_STOP_TIMEOUT_S));
  closeSync(fd);
  if (!isFree) throw failed(`another control process runs on ${dataDir}: stop it first`);
}

function flock(fd: number, ...options: readonly string[]): boolean {
  const result = spawnSync('flock', ['--exclusive', ...options, '3'], {
    stdio: ['ignore', 'ignore', 'ignore', fd],
  });
  if (result.error !== undefined) {
    throw unavailable('the flock command is missing: install util-linux', result.error);
  }
  return result.status === 0;
}
