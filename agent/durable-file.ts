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
 * Whole or not at all, also when power fails: the old file stays until the new one is on the disk. `settle` may
 * do more to the new one before it takes the old one's place, which it must see to itself.
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

/** A name in a folder is on the disk once the folder is. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Null: there is none. Throws what the system call says otherwise. */
export function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
