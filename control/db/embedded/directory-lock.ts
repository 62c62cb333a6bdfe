import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { type Account, giveTo } from './account.ts';

export interface DirectoryLock {
  release(): void;
}

/**
 * Locks a data directory for one control process by flock(2), through the flock command of util-linux. The lock belongs
 * to the open file, which the command shares with this process, so it ends with this process in any case, and also
 * holds across containers that share the directory.
 */
export function lockDirectory(dataDir: string, account: Account | null): DirectoryLock {
  const path = `${dataDir}/control.lock`;
  const fd = openLock(path);
  // The next control process may run as the account without being root.
  giveTo(account, path);
  const locked = spawnSync('flock', ['--nonblock', '--exclusive', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', fd],
  });
  if (locked.error !== undefined) {
    closeSync(fd);
    throw new Error('The flock command is missing: install util-linux.', { cause: locked.error });
  }
  if (locked.status !== 0) {
    const holder = readFileSync(path, 'utf8').trim();
    closeSync(fd);
    throw new Error(
      `The data directory ${dataDir} is in use by another control process${holder ? ` (pid ${holder})` : ''}. Stop that one, or choose another directory with --data.`,
    );
  }
  ftruncateSync(fd);
  writeSync(fd, `${process.pid}\n`);
  return { release: () => closeSync(fd) };
}

function openLock(path: string): number {
  try {
    return openSync(path, 'a+', 0o600);
  } catch (cause) {
    throw new Error(
      `${path} cannot be opened: the data directory belongs to another account. Run this as that account, or as root.`,
      { cause },
    );
  }
}
