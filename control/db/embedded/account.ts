import { spawnSync } from 'node:child_process';
import { lchownSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The uid and gid of an account. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The default accounts, tried in this order. */
const DEFAULT_ACCOUNTS = ['portcullis', 'nobody'];

/** An account of /etc/passwd. */
export function findAccount(name: string): Account | null {
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [account, , uid, gid] = line.split(':');
    if (account === name && uid && gid) return { name, uid: Number(uid), gid: Number(gid) };
  }
  return null;
}

/**
 * The account of the server, because PostgreSQL refuses root. Null: the present account, if it is not root. An existing
 * data directory keeps its owner unless an account was requested.
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
  const owner = statSync(cluster, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) {
    return { name: `uid ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  }
  for (const name of DEFAULT_ACCOUNTS) {
    const account = findAccount(name);
    if (account !== null) return account;
  }
  throw new Error(
    `PostgreSQL does not run as root, and this machine has no account ${DEFAULT_ACCOUNTS.join(' or ')}. Add one: useradd --system portcullis`,
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
function mayAccess(account: Account | null, path: string, how: '-x' | '-r'): boolean {
  const asked = spawnSync('test', [how, path], { ...spawnAs(account), stdio: 'ignore', cwd: '/' });
  return asked.status === 0;
}

export function mayExecute(account: Account | null, file: string): boolean {
  return mayAccess(account, file, '-x');
}

export function mayRead(account: Account | null, file: string): boolean {
  return mayAccess(account, file, '-r');
}

/** The first parent folder of `path` that the account may not enter, or null. */
export function blockingFolder(account: Account | null, path: string): string | null {
  const folders: string[] = [];
  for (let at = resolve(path); ; at = dirname(at)) {
    folders.unshift(at);
    if (at === dirname(at)) break;
  }
  return folders.find((folder) => !mayExecute(account, folder)) ?? null;
}
