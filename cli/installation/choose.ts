import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The data directory of root's own installation. */
export const SYSTEM_INSTALLATION = '/var/lib/portcullis';
/** In the data directory of an installation that was adopted: the directory where it is now. */
export const MOVED_TO = 'moved-to';

export interface InstallationFacts {
  /** The default of this account. */
  readonly own: string;
  /** The default of whoever runs this by sudo, or of root. Null if there is no other. */
  readonly other: string | null;
  readonly isInstalled: (dataDir: string) => boolean;
  readonly isRoot: boolean;
}

export interface Installation {
  readonly dataDir: string;
  /** A sentence that `up` says about the other one. */
  readonly notice: string | null;
  /** The only installation is another account's, which root can adopt: `up` asks. */
  readonly adoptable: string | null;
}

/**
 * Chooses the installation that a command works on when no --data says so. Where there are two, each has keys that
 * the other does not know, and that is said. The other is never taken unasked: agents of root have few rights in a
 * user's directory. Pure.
 */
export function chooseInstallation(facts: InstallationFacts): Installation {
  const { own, other, isInstalled, isRoot } = facts;
  if (other === null || !isInstalled(other)) return { dataDir: own, notice: null, adoptable: null };
  if (isRoot && !isInstalled(own)) return { dataDir: own, notice: null, adoptable: other };
  const notice = `There is another installation in ${other}, with other keys and rules; this one is in ${own}. Choose with --data.`;
  return { dataDir: own, notice, adoptable: null };
}

/** The default of the other account that an installation is often made by. */
export function otherInstallation(env: NodeJS.ProcessEnv, isRoot: boolean): string | null {
  if (!isRoot) return SYSTEM_INSTALLATION;
  const user = env['SUDO_USER'];
  const home = user === undefined || user === 'root' ? null : homeOf(user);
  return home === null ? null : join(home, '.local', 'state', 'portcullis');
}

/** Whether a database was made there, and is not somewhere else now. */
export function isInstalled(dataDir: string): boolean {
  return existsSync(join(dataDir, 'postgres')) && movedTo(dataDir) === null;
}

/** Where the installation of this directory was moved; null if it was not, also if the move was interrupted. */
export function movedTo(dataDir: string): string | null {
  try {
    const to = readFileSync(join(dataDir, MOVED_TO), 'utf8').trim();
    return existsSync(join(to, 'postgres')) ? to : null;
  } catch {
    return null;
  }
}

function homeOf(user: string): string | null {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  return lines.map((line) => line.split(':')).find(([name]) => name === user)?.[5] ?? null;
}
