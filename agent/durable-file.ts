import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file atomically, also if power fails: the old file stays until the new one is on the disk. `settle` may
 * change the draft first; then it must also rename it to the path.
 */
export async function replaceFile(
  path: string,
  pieces: Iterable<string>,
  settle: (draft: string) => void = (draft) => renameSync(draft, path),
): Promise<void> {
  const draft = `${path}.new`;
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    const file = await open(draft, 'w', 0o600);
    try {
      for (const piece of pieces) await file.appendFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    settle(draft);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(folder);
}

/** A new name in a folder is on the disk only after the folder is synced. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Returns null if there is no file. Throws any other error of the system call. */
export function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
