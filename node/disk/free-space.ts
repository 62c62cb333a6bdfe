import { statfs } from 'node:fs/promises';
import { ENTRY_BYTES } from './measure.ts';

/**
 * The free bytes of the file system of a folder, and 4 KiB for each inode that it has left: it is full when either runs
 * out. File systems that have inodes without a limit report none.
 */
export async function freeSpace(folder: string): Promise<number> {
  const { bavail, bsize, ffree } = await statfs(folder);
  return bavail * bsize + ffree * ENTRY_BYTES;
}
