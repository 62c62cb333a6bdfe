import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Owner } from './server-folder/folder.ts';

/** Where the files of a server are, below the state directory. */
export function serverFolder(stateDir: string, uuid: string): string {
  return join(stateDir, 'servers', uuid);
}

/** No-op for what is there. The folder itself belongs to whom games run as; what is in it is the game's. */
export function prepareFolder(folder: string, owner: Owner | null): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  if (owner !== null) chownSync(folder, owner.uid, owner.gid);
}
