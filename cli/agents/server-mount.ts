import { mkdirSync } from 'node:fs';
import { protectFolder, releaseFolder } from '@portcullis/agent/protected-mount.ts';
import { serversFolder } from '@portcullis/node/server-folder/folder.ts';

/**
 * Mounts the folders of a node's servers nosuid and nodev, where this process may: the node has not the right. The mount
 * ends with this process, unless servers still use it, so that the data directory can be moved or deleted then. Without
 * the mount the node says so.
 */
export function mountServers(stateDir: string): void {
  if (process.getuid?.() !== 0) return;
  try {
    const folder = serversFolder(stateDir);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (protectFolder(folder)) process.once('exit', () => releaseFolder(folder));
  } catch {
    // In a container, a unit or on a system without mounts; servers are protected by their closed parent.
  }
}

/** The same for good. Throws where it is not possible. */
export function mountServersForGood(stateDir: string): void {
  const folder = serversFolder(stateDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  protectFolder(folder);
}
