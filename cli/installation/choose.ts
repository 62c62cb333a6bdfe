import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The data directory of root's own installation. */
export const SYSTEM_INSTALLATION = '/var/lib/portcullis';

export interface InstallationFacts {
  /** The default of this account. */
  readonly own: string;
  /** The default of whoever runs this by sudo, or of root. Null if there is no other. */
  readonly other: string | null;
  readonly isInstalled: (dataDir: string) => boolean;
}

export interface Installation {
  readonly dataDir: string;
  /** What `up` says about the other one. */
  readonly notice: string | null;
}

/**
 * Which installation a command works on when no --data says so. Where there are two, each has keys that the other does not
 * know, and that is said. The other is never taken unasked: agents of root have few rights in a user's directory. Pure.
 */
export function chooseInstallation(facts: InstallationFacts): Installation {
  const { own, other, isInstalled } = facts;
  if (other === null || !isInstalled(other)) return { dataDir: own, notice: null };
  const notice = `There is another installation in ${other}, with other keys and rules; this one is in ${own}. Choose with --data.`;
  return { dataDir: own, notice };
}

/** The default of the other account that an installation is often made by. */
export function otherInstallation(env: NodeJS.ProcessEnv, isRoot: boolean): string | null {
  if (!isRoot) return SYSTEM_INSTALLATION;
  const user = env['SUDO_USER'];
  const home = user === undefined || user === 'root' ? null : homeOf(user);
  return home === null ? null : join(home, '.local', 'state', 'portcullis');
}

/** Whether a database was made there. */
export function isInstalled(dataDir: string): boolean {
  return existsSync(join(dataDir, 'postgres'));
}

function homeOf(user: string): string | null {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  return lines.map((line) => line.split(':')).find(([name]) => name === user)?.[5] ?? null;
}
