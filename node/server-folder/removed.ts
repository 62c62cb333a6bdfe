import { execFile } from 'node:child_process';
import { readdirSync, renameSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Log } from '@portcullis/core/log.ts';
import { createMeasureDisk } from '../disk/measure.ts';
import { Journal } from '../journal/journal.ts';
import { serverFolder, serversFolder } from './folder.ts';

/**
 * The files of a server that is no longer assigned to this node, or what an install left that could not be given to its
 * server. They stay until the operator purges them.
 */
export interface RemovedFolder {
  /** The uuid of the server; with `.quarantined-N` for what an install left. */
  readonly uuid: string;
  readonly path: string;
  readonly bytes: number;
  /** When something was last added to the folder or removed from it. */
  readonly changedAt: Date;
}

const FOLDER = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?<quarantined>\.quarantined-\d+)?$/;
/** Quicker than the agent, which measures all the time. */
const ENTRIES_PER_SECOND = 500_000;

/** Lists by uuid. Throws if the node's journal does not tell which servers are assigned. */
export async function listRemovedFolders(stateDir: string, log: Log): Promise<RemovedFolder[]> {
  const measure = createMeasureDisk({ entriesPerSecond: ENTRIES_PER_SECOND });
  const found: RemovedFolder[] = [];
  for (const uuid of removedUuids(stateDir, log)) {
    const path = serverFolder(stateDir, uuid);
    const { bytes } = await measure(path, new AbortController().signal);
    found.push({ uuid, path, bytes, changedAt: (await stat(path)).mtime });
  }
  return found;
}

/** The end of the name of a folder that is being deleted. */
const DOOMED = '.purged';

/** Deletes such a folder for good. False if there is none, or if the server is assigned. */
export async function purgeFolder(stateDir: string, log: Log, uuid: string): Promise<boolean> {
  const path = serverFolder(stateDir, uuid);
  const doomed = `${path}${DOOMED}`;
  await remove(doomed);
  if (!removedUuids(stateDir, log).includes(uuid)) return false;
  // At once, so that the agent is assigned nothing in between; and under another name: one that is assigned the server
  // meanwhile begins with an empty folder.
  renameSync(path, doomed);
  await remove(doomed);
  return true;
}

/** Deletes all that a server left that is not assigned. False if there is nothing, or if it is assigned. */
export async function purgeServer(stateDir: string, log: Log, uuid: string): Promise<boolean> {
  if (keptUuids(stateDir, log).has(uuid)) return false;
  const names = foldersOf(stateDir).filter((name) => FOLDER.test(name) && name.startsWith(uuid));
  for (const name of names) await purgeFolder(stateDir, log, name);
  return names.length > 0;
}

/** Whether anything of a server is on the disk, also half deleted. */
export function hasFolders(stateDir: string, uuid: string): boolean {
  return foldersOf(stateDir).some((name) => name.startsWith(uuid));
}

/** Deletes what a deletion left that was interrupted. */
export async function purgeLeftovers(stateDir: string): Promise<void> {
  for (const name of foldersOf(stateDir)) {
    if (name.endsWith(DOOMED)) await remove(join(serversFolder(stateDir), name));
  }
}

/** The names in it may make paths that are too long for the kernel; this command walks. */
async function remove(path: string): Promise<void> {
  await promisify(execFile)('rm', ['-rf', '--', path]);
}

function removedUuids(stateDir: string, log: Log): string[] {
  const kept = keptUuids(stateDir, log);
  return foldersOf(stateDir)
    .filter((name) => {
      const found = FOLDER.exec(name);
      return found !== null && (found.groups?.['quarantined'] !== undefined || !kept.has(name));
    })
    .toSorted();
}

/** The servers that are assigned, or are being removed. */
function keptUuids(stateDir: string, log: Log): ReadonlySet<string> {
  const journal = new Journal(stateDir, log);
  const assigned = journal.loadAssignments();
  if (assigned === null)
    throw new Error(
      `the journal in ${stateDir} does not say which servers are assigned: start the node once`,
    );
  return new Set([...assigned.servers.map(({ uuid }) => uuid), ...journal.loadRecords().keys()]);
}

function foldersOf(stateDir: string): string[] {
  try {
    return readdirSync(serversFolder(stateDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
