import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Account, blockingFolder } from './db/embedded/account.ts';

/** Missing in @types/node 24: https://nodejs.org/docs/latest-v24.x/api/process.html#processinitgroupsuser-extragroup */
type WithInitgroups = NodeJS.Process & {
  readonly initgroups?: (user: string, extraGroup: number) => void;
};

/** Drops root permanently: groups first, then the user, then a check that root cannot be regained. */
export function becomeAccount(account: Account): void {
  const process: WithInitgroups = globalThis.process;
  process.initgroups?.(account.name, account.gid);
  process.setgid?.(account.gid);
  process.setuid?.(account.uid);
  if (process.getuid?.() !== account.uid || process.getgid?.() !== account.gid || canRegainRoot()) {
    throw new Error(`Root could not be given up for the account ${account.name}.`);
  }
}

function canRegainRoot(): boolean {
  try {
    process.setuid?.(0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Creates the folder of the edges' socket, before root is dropped. Processes that may enter it may act as an edge:
 * the account and root's group, because an edge runs as root without the right to override permissions.
 */
export function prepareLinkFolder(socket: string, account: Account | null): void {
  const folder = dirname(socket);
  if (!existsSync(folder)) {
    mkdirSync(dirname(folder), { recursive: true, mode: account === null ? 0o700 : 0o711 });
    mkdirSync(folder, { mode: 0o700 });
    if (account === null) return;
    chownSync(folder, account.uid, 0);
    // Set-group-id gives the socket root's group too.
    chmodSync(folder, 0o2770);
  }
  requirePassable(folder, account, 'PORTCULLIS_LINK_SOCKET');
}

/**
 * Creates the folder of the nodes' socket, before root is dropped. Every account may enter it, because a node
 * authenticates with its credential.
 */
export function prepareNodeFolder(socket: string, account: Account | null): void {
  const folder = dirname(socket);
  if (!existsSync(folder)) {
    mkdirSync(dirname(folder), { recursive: true, mode: account === null ? 0o700 : 0o711 });
    mkdirSync(folder, { mode: 0o755 });
    if (account !== null) chownSync(folder, account.uid, account.gid);
  }
  requirePassable(folder, account, 'PORTCULLIS_NODE_SOCKET');
}

function requirePassable(folder: string, account: Account | null, variable: string): void {
  const blocking = blockingFolder(account, folder);
  if (account !== null && blocking !== null) {
    throw new Error(
      `Control runs as ${account.name}, which may not enter ${blocking}, where its agents are to meet it. Choose another PORTCULLIS_DATA or ${variable}.`,
    );
  }
}
