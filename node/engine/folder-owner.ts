import type { Stats } from 'node:fs';
import { lchown, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from './engine.ts';

/** The account that a server runs as; never root. */
export interface FolderOwner {
  readonly uid: number;
  readonly gid: number;
}

/** Whose it is. Rejects with `refused` for what is no folder, and for one of root's. */
export async function ownerOf(folder: string): Promise<FolderOwner> {
  let stats: Stats;
  try {
    // A link would let who may write beside it choose what is mounted.
    stats = await lstat(folder);
  } catch (error) {
    throw new EngineError('refused', 'The folder of the server cannot be read.', { cause: error });
  }
  if (!stats.isDirectory())
    throw new EngineError('refused', 'What should be the folder of the server is none.');
  if (stats.uid === 0 || stats.gid === 0)
    throw new EngineError('refused', 'The folder of the server is root’s, and a server never is.');
  return { uid: stats.uid, gid: stats.gid };
}

/**
 * Everything in the folder becomes the owner's. Nothing may run in it meanwhile. Links are changed themselves, never
 * followed; a change of owner takes away set-user-id bits.
 */
export async function giveAway(folder: string, owner: FolderOwner): Promise<void> {
  try {
    await giveAwayIn(folder, owner);
  } catch (error) {
    const message = 'What the install left cannot be given to the server.';
    throw new EngineError('refused', message, { cause: error });
  }
}

async function giveAwayIn(folder: string, { uid, gid }: FolderOwner): Promise<void> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    const isFolder = entry.isDirectory();
    await lchown(path, uid, gid);
    if (isFolder) await giveAwayIn(path, { uid, gid });
  }
}
