import { spawnSync } from 'node:child_process';
import { lchownSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The uid and gid of an account. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The platform's own account, which the first start as root creates. */
export const PLATFORM_ACCOUNT = 'portcullis';
/** Shared by unrelated programs, so it owns nothing of the platform. */
const SHARED_ACCOUNT = 'nobody';

/** An account of /etc/passwd. */
export function findAccount(name: string): Account | null {
  return accounts().find((account) => account.name === name) ?? null;
}

function accounts(): Account[] {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [name, , uid, gid] = line.split(':');
      return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
    });
}

/**
 * The account of the server and of control, because PostgreSQL refuses root. Null: the present account, if it is not
 * root. Without a requested account, an existing data directory keeps a named owner, except the shared account
 * `nobody`; any other belongs to the platform's own account, which is created if it is missing.
 */
export function chooseAccount(asked: string | undefined, cluster: string): Account | null {
  if (process.getuid?.() !== 0) return null;
  if (asked !== undefined) {
    const account = findAccount(asked);
    if (account === null) throw new Error(`There is no account "${asked}" on this machine.`);
    if (account.uid === 0)
      throw new Error('PostgreSQL does not run as root: name another account.');
    return account;
  }
  const owner = ownerName(cluster);
  const kept = owner === null || [SHARED_ACCOUNT, 'root'].includes(owner) ? null : owner;
  return (kept !== null && findAccount(kept)) || provideAccount();
}

/** The name of the owner of a cluster. Null without a cluster, or if its owner has no name. */
function ownerName(cluster: string): string | null {
  const found = statSync(cluster, { throwIfNoEntry: false });
  if (found === undefined) return null;
  return accounts().find(({ uid }) => uid === found.uid)?.name ?? null;
}

/** The second command is that of BusyBox. */
const CREATE_COMMANDS = [
  'useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin',
  'adduser -S -D -H -h /nonexistent -s /sbin/nologin',
];

/** The platform's own account, created by the system's command if it is missing. */
export function provideAccount(): Account {
  const found = findAccount(PLATFORM_ACCOUNT);
  if (found !== null) return found;
  let reason = 'the commands useradd and adduser are missing';
  for (const line of CREATE_COMMANDS) {
    const [command = '', ...options] = line.split(' ');
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
    const run = spawnSync(command, [...options, PLATFORM_ACCOUNT], { encoding: 'utf8', env });
    // A concurrent start may have created it; both commands wait for the lock of /etc/passwd.
    const account = findAccount(PLATFORM_ACCOUNT);
    if (account !== null) return account;
    if (run.error === undefined) reason = run.stderr.trim();
  }
  throw new Error(
    `The account ${PLATFORM_ACCOUNT} cannot be created: ${reason}. Create a system account and name it in PORTCULLIS_ACCOUNT, or set DATABASE_URL and PORTCULLIS_ACCOUNT.`,
  );
}

/** The spawn options for the account; empty if it is the present one. */
export function spawnAs(account: Account | null): { uid?: number; gid?: number } {
  const weAreRoot = process.getuid?.() === 0;
  return account === null || !weAreRoot ? {} : { uid: account.uid, gid: account.gid };
}

/** Changes the owner of a file to the account, if it is another one. */
export function giveTo(account: Account | null, path: string): void {
  if (account !== null && process.getuid?.() === 0) lchownSync(path, account.uid, account.gid);
}

/** Tests the access of the account by the kernel, which knows ACLs and mounts. */
export function mayAccess(account: Account | null, path: string, how: '-x' | '-r'): boolean {
  const asked = spawnSync('test', [how, path], { ...spawnAs(account), stdio: 'ignore', cwd: '/' });
  return asked.status === 0;
}

/** The first parent folder of `path` that the account may not enter, or null. */
export function blockingFolder(account: Account | null, path: string): string | null {
  const folders: string[] = [];
  for (let at = resolve(path); ; at = dirname(at)) {
    folders.unshift(at);
    if (at === dirname(at)) break;
  }
  return folders.find((folder) => !mayAccess(account, folder, '-x')) ?? null;
}
