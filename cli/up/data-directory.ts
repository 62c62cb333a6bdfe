import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type Account, blockingFolder } from '@portcullis/control/db/embedded/account.ts';
import { usageError } from '../exit.ts';

/** Where the parts of one `up` keep what is theirs, each readable by nobody else. */
export interface DataDirectory {
  readonly path: string;
  /** Of the edge: the policies it last had, and whether it is switched off. Root's, where root runs it. */
  readonly edge: string;
  /** Where control and its agents meet. */
  readonly linkSocket: string;
}

const MARKS = ['up.lock', 'postgres', 'edge', 'link'];

export function layoutOf(path: string): DataDirectory {
  return { path, edge: join(path, 'edge'), linkSocket: join(path, 'link', 'control.sock') };
}

/**
 * Makes what is missing. With an account (we are root) the directory is the account's, and root's group may
 * pass through it: the edge runs as root without the right to override permissions.
 */
export function prepareDataDirectory(asked: string, account: Account | null): DataDirectory {
  refuseForeignDirectory(asked);
  mkdirSync(asked, { recursive: true, mode: 0o700 });
  const layout = layoutOf(realpathSync(asked));
  for (const folder of [layout.edge, join(layout.path, 'link')])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account === null) return layout;
  own(layout.path, account, 0o710);
  // Set-group-id: the socket takes root's group, so that root needs no right but that of the group.
  own(join(layout.path, 'link'), account, 0o2770);
  const blocking = blockingFolder(account, layout.path);
  if (blocking !== null) {
    throw usageError(
      `control runs as ${account.name}, which may not enter ${blocking}: choose another --data, such as /var/lib/portcullis`,
    );
  }
  return layout;
}

function own(folder: string, account: Account, mode: number): void {
  chownSync(folder, account.uid, 0);
  chmodSync(folder, mode);
}

/** A mistyped `--data /etc` must not change the owner of a system's folder. */
function refuseForeignDirectory(path: string): void {
  if (!existsSync(path)) return;
  const found = readdirSync(path);
  if (found.length > 0 && !found.some((name) => MARKS.includes(name))) {
    throw usageError(
      `${path} holds files that are not ours: choose an empty or new folder with --data`,
    );
  }
}
