import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
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
