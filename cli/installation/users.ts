import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * Whether a process works in a folder of a server: as one of the process engine, or in a container that mounts it. A mount
 * names the folder by its path in its file system, so the unique names of the folders are looked for.
 */
export function usesServers(servers: string): boolean {
  const folders = namesIn(servers).map((name) => join(basename(servers), name));
  if (folders.length === 0) return false;
  const processes = namesIn('/proc').filter((name) => /^\d+$/.test(name));
  return processes.some((pid) => {
    const seen = `${workingFolder(pid)}\n${mountsOf(pid)}`;
    return folders.some((folder) => seen.includes(`/${folder}`));
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function workingFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function mountsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8');
  } catch {
    return '';
  }
}
