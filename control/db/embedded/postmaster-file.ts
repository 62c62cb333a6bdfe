import { readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { socketFiles } from './layout.ts';
import { commandName, isRunning, workingDirectory } from './process-table.ts';

/** What postmaster.pid says: https://github.com/postgres/postgres/blob/REL_18_STABLE/src/include/utils/pidfile.h */
export interface PostmasterFile {
  readonly pid: number;
  readonly socketDir: string;
}

/** The file that a server keeps in its cluster while it runs; null when there is none worth the name. */
export function readPostmasterFile(cluster: string): PostmasterFile | null {
  let lines: string[];
  try {
    lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return null;
  }
  const pid = Number(lines[0]);
  const socketDir = lines[4]?.trim() ?? '';
  return Number.isSafeInteger(pid) && pid > 1 ? { pid, socketDir } : null;
}

/** The server that runs on this cluster, proved by the folder it works in: pids are used again. */
export function runningPostmaster(cluster: string): PostmasterFile | null {
  const file = readPostmasterFile(cluster);
  if (file === null || !isRunning(file.pid)) return null;
  return worksIn(file.pid, realpathSync(cluster)) ? file : null;
}

/** Any process of a server on this cluster; after a killed postmaster its children live on for a moment. */
export function hasServerProcess(cluster: string): boolean {
  const folder = realpathSync(cluster);
  return readdirSync('/proc').some((name) => {
    const pid = Number(name);
    return Number.isSafeInteger(pid) && worksIn(pid, folder) && isRunning(pid);
  });
}

function worksIn(pid: number, folder: string): boolean {
  return workingDirectory(pid) === folder && commandName(pid) === 'postgres';
}

/**
 * Removes what a dead server left. PostgreSQL would do it itself, but believes that the dead one lives
 * while its pid is a zombie, or belongs to somebody else by now.
 */
export function removeLeftovers(cluster: string, socketDir: string): void {
  for (const file of [join(cluster, 'postmaster.pid'), ...socketFiles(socketDir)]) {
    rmSync(file, { force: true });
  }
}
