import { readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { socketFiles } from './layout.ts';
import { commandName, isRunning, workingDirectory } from './process-table.ts';

/**
 * The content of postmaster.pid: https://github.com/postgres/postgres/blob/REL_18_STABLE/src/include/utils/pidfile.h
 */
export interface PostmasterFile {
  readonly pid: number;
  readonly socketDir: string;
}

/** The pid file of a running server. Null if absent or invalid. */
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

/** The running server of this cluster, verified by its working directory, because pids are reused. */
export function runningPostmaster(cluster: string): PostmasterFile | null {
  const file = readPostmasterFile(cluster);
  if (file === null || !isRunning(file.pid)) return null;
  return worksIn(file.pid, realpathSync(cluster)) ? file : null;
}

/** Any server process of this cluster; children of a killed postmaster live for a moment. */
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

/** Removes files of a dead server. PostgreSQL does it itself, except if the pid is a zombie or was reused. */
export function removeLeftovers(cluster: string, socketDir: string): void {
  for (const file of [join(cluster, 'postmaster.pid'), ...socketFiles(socketDir)]) {
    rmSync(file, { force: true });
  }
}
