import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { failed, unavailable, usageError } from '../exit.ts';
import { prepareNodeFolder } from './node-launch.ts';

/** What one `up` keeps on disk; control makes what is its own. */
export interface DataDirectory {
  readonly path: string;
  /** Of the edge: the policies it last had, and whether it is switched off. */
  readonly edge: string;
  /** Of the node: its journal, its credential, and the folders of its servers. */
  readonly node: string;
}

const MARKS = ['up.lock', 'control.lock', 'postgres', 'edge', 'link', 'node', 'node-link'];
/** Children of an `up` that was killed stop by themselves, within their own bounds. */
const CHILDREN_PATIENCE_S = 20;

/** Makes what is missing and takes the directory for this process, for as long as it lives. */
export function takeDataDirectory(asked: string): DataDirectory {
  refuseForeignDirectory(asked);
  const asRoot = process.getuid?.() === 0;
  // As root, control and PostgreSQL are another account: it may pass through, and reads nothing here.
  mkdirSync(asked, { recursive: true, mode: asRoot ? 0o711 : 0o700 });
  const path = realpathSync(asked);
  const edge = join(path, 'edge');
  mkdirSync(edge, { recursive: true, mode: 0o700 });
  const node = join(path, 'node');
  prepareNodeFolder(node);
  lockFile(join(path, 'up.lock'), path);
  waitForChildren(path);
  return { path, edge, node };
}

/** A mistyped `--data /etc` must not fill a system's folder. */
function refuseForeignDirectory(path: string): void {
  if (!existsSync(path)) return;
  const found = readdirSync(path);
  if (found.length > 0 && !found.some((name) => MARKS.includes(name))) {
    throw usageError(
      `${path} holds files that are not ours: choose an empty or new folder with --data`,
    );
  }
}

/** flock(2): the lock belongs to the open file, so it ends with this process however that dies. */
function lockFile(file: string, dataDir: string): void {
  const fd = openSync(file, 'a', 0o600);
  if (flock(fd, '--nonblock')) return;
  closeSync(fd);
  throw failed(
    `another portcullis is up on ${dataDir}: stop that one, or choose another directory with --data`,
  );
}

function waitForChildren(dataDir: string): void {
  const file = join(dataDir, 'control.lock');
  if (!existsSync(file)) return;
  const fd = openSync(file, 'r');
  const free = flock(fd, '--wait', String(CHILDREN_PATIENCE_S));
  closeSync(fd);
  if (!free) throw failed(`another control process runs on ${dataDir}: stop it first`);
}

function flock(fd: number, ...how: readonly string[]): boolean {
  const result = spawnSync('flock', ['--exclusive', ...how, '3'], {
    stdio: ['ignore', 'ignore', 'ignore', fd],
  });
  if (result.error !== undefined) {
    throw unavailable('the flock command is missing: install util-linux', result.error);
  }
  return result.status === 0;
}
