import {
  existsSync,
  lchownSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Account } from './account.ts';
import { clusterOf, socketDirOf, socketFiles } from './layout.ts';
import { stopPostmaster, watchStranger } from './postmaster.ts';
import { runningPostmaster } from './postmaster-file.ts';

/** What control and PostgreSQL own in a data directory; agents own the rest. */
const OWNED = ['postgres', 'run', 'link', 'node-link', 'control.lock', 'postgres.log'];
/** Holds the previous owner while the change lasts, so that an interrupted one continues. */
const RECORD = 'owner-change';

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Gives an existing data directory of another account to `account`, as root and under the lock of the directory. A
 * server that still runs as the previous account is stopped first. Returns whether the owner changed.
 */
export async function takeOver(dataDir: string, account: Account | null): Promise<boolean> {
  const cluster = clusterOf(dataDir);
  const record = join(dataDir, RECORD);
  const previous = previousOwner(cluster, record);
  if (account === null || previous === null || [0, account.uid].includes(previous.uid))
    return false;
  const running = runningPostmaster(cluster);
  if (running !== null) await stopPostmaster(watchStranger(running.pid));
  writeFileSync(record, JSON.stringify({ uid: previous.uid, gid: previous.gid }), { mode: 0o600 });
  const socketDir = socketDirOf(dataDir);
  if (!socketDir.startsWith(`${dataDir}/`)) removeSocketDir(socketDir, previous);
  const names = readdirSync(dataDir).filter((name) => OWNED.some((own) => name.startsWith(own)));
  for (const name of names) give(join(dataDir, name), previous, account);
  rmSync(record);
  return true;
}

function previousOwner(cluster: string, record: string): Owner | null {
  if (existsSync(record)) return JSON.parse(readFileSync(record, 'utf8')) as Owner;
  return lstatSync(cluster, { throwIfNoEntry: false }) ?? null;
}

/** It is made again; in a folder of all accounts, only what belonged to the previous owner is removed. */
function removeSocketDir(socketDir: string, previous: Owner): void {
  if (lstatSync(socketDir, { throwIfNoEntry: false })?.uid !== previous.uid) return;
  for (const file of socketFiles(socketDir)) rmSync(file, { force: true });
  rmdirSync(socketDir);
}

/**
 * Changes a folder before its content: from then on the previous owner cannot exchange an entry between the test of its
 * owner and the change. A file of another owner, such as a hard link to a file of root, keeps it.
 */
function give(path: string, previous: Owner, account: Account): void {
  const found = lstatSync(path);
  if (found.uid === previous.uid) {
    lchownSync(path, account.uid, found.gid === previous.gid ? account.gid : found.gid);
  } else if (found.uid !== account.uid) return;
  if (!found.isDirectory()) return;
  for (const name of readdirSync(path)) give(join(path, name), previous, account);
}
