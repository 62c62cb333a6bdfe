import type { Stats } from 'node:fs';
import { lchown, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from './engine.ts';

/** The account that a server runs as; never root. */
export interface FolderOwner {
  readonly uid: number;
  readonly gid: number;
}

/** Returns the owner. Rejects with `refused` if it is root, or if the path is not a folder. */
export async function ownerOf(folder: string): Promise<FolderOwner> {
  let stats: Stats;
  try {
    // Links are not followed: a link would choose what is mounted.
    stats = await lstat(folder);
  } catch (error) {
    throw new EngineError('refused', 'The folder of the server cannot be read.', { cause: error });
  }
  if (!stats.isDirectory())
    throw new EngineError('refused', 'The folder of the server is not a folder.');
  if (stats.uid === 0 || stats.gid === 0)
    throw new EngineError('refused', 'The folder of the server is root’s, and a server never is.');
  return { uid: stats.uid, gid: stats.gid };
}

/**
 * Changes the owner of everything in the folder; nothing may run in it meanwhile. Links are never followed. A change of
 * owner clears set-user-id bits.
 */
export async function changeOwner(folder: string, owner: FolderOwner): Promise<void> {
  try {
    await changeOwnerIn(folder, owner);
  } catch (error) {
    const message = 'What the install left cannot be given to the server.';
    throw new EngineError('refused', message, { cause: error });
  }
}

async function changeOwnerIn(folder: string, { uid, gid }: FolderOwner): Promise<void> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    const isFolder = entry.isDirectory();
    await lchown(path, uid, gid);
    if (isFolder) await changeOwnerIn(path, { uid, gid });
  }
}
