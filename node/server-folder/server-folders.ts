import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import type { Log } from '@portcullis/core/log.ts';
import { EngineError } from '../engine/engine.ts';
import type { Journal } from '../journal/journal.ts';
import type { AccountRange } from './account-range.ts';
import { Accounts } from './accounts.ts';
import { type Owner, serverFolder, serversFolder } from './folder.ts';
import { FOLDER_MODE, type Given, giveFolder, NotGiven } from './give.ts';

/** Folders of one server that are set aside. */
const MAX_QUARANTINED = 2;

/** A folder that a server may be started with. */
export interface ReadyFolder {
  readonly folder: string;
  /** Null: the agent's own account. */
  readonly owner: Owner | null;
  /** Text on what the operator should know; null: nothing. */
  readonly notice: string | null;
}

export interface ServerFoldersOptions {
  readonly stateDir: string;
  readonly journal: Journal;
  /** The range of the servers' accounts; null if the agent is not root: then all run as its own. */
  readonly accounts: AccountRange | null;
  readonly log: Log;
}

/**
 * The folders of a node's servers, and who may reach them. Their parent belongs to the agent and is closed to every other
 * account: an engine mounts what lies in it, or starts a program in it. So nothing in a folder is reached from the host,
 * whatever an install or a game makes of its modes and owners, and a folder may stay unsafe until it was walked.
 */
export class ServerFolders {
  readonly #stateDir: string;
  readonly #accounts: Accounts | null;
  readonly #log: Log;

  /** Closes the parent, also that of an earlier version. Throws if that is not possible. */
  constructor({ stateDir, journal, accounts, log }: ServerFoldersOptions) {
    this.#stateDir = stateDir;
    this.#log = log;
    closeParent(serversFolder(stateDir));
    const known = journal.loadRecords();
    const names = namesIn(serversFolder(stateDir));
    this.#accounts =
      accounts === null
        ? null
        : new Accounts({
            journal,
            range: accounts,
            ownersOfOthers: (uuid) => this.#ownersOfOthers(uuid),
            isGone: (uuid) => !known.has(uuid) && !names.some((name) => name.startsWith(uuid)),
          });
  }

  /**
   * Prepares the folder of a server that does not run: creates it if it is missing, and gives everything in it to the
   * server's account if that is not so. Rejects with `refused` if it cannot. The signal ends it in the middle; the
   * next call begins anew.
   */
  async prepare(uuid: string, signal: AbortSignal): Promise<ReadyFolder> {
    const { folder, owner, before } = await this.#open(uuid);
    if (owner === null || this.#accounts === null) return { folder, owner, notice: null };
    if (this.#accounts.isSettled(uuid) && isOf(before, owner))
      return { folder, owner, notice: null };
    // Root's files with names elsewhere are not the server's.
    const formerUids = before.uid === 0 ? [] : [before.uid];
    let given: Given;
    try {
      given = await giveFolder(folder, { owner, formerUids, signal });
    } catch (error) {
      if (!(error instanceof NotGiven)) throw error;
      const message = `The folder of the server cannot be given to its account (uid ${owner.uid}). ${error.message}`;
      throw new EngineError('refused', message, { cause: error });
    }
    await this.#accounts.setSettled(uuid, true);
    return { folder, owner, notice: this.#describe(uuid, { owner, before, given }) };
  }

  /**
   * Runs an install in the folder of a server that does not run. `run` leaves the folder to the account of its owner, and
   * rejects with `NotGiven` if it cannot: then the folder is set aside where only the agent may enter, and this rejects
   * with `refused`. So it does, without a run, while several are aside.
   */
  async install<T>(uuid: string, run: (folder: string) => Promise<T>): Promise<T> {
    this.#requireFewQuarantined(uuid);
    const { folder, owner, before } = await this.#open(uuid);
    // An earlier install may have changed the owner of the folder.
    if (owner !== null && !isOf(before, owner)) chownSync(folder, owner.uid, owner.gid);
    await this.#accounts?.setSettled(uuid, false);
    try {
      const result = await run(folder);
      await this.#accounts?.setSettled(uuid, true);
      return result;
    } catch (error) {
      if (error instanceof NotGiven) throw this.#quarantine(uuid, error);
      throw error;
    }
  }

  /**
   * The folder of a server that was built, for its people, while its game may run. Rejects with `refused` if it is not all of
   * its account: then something in it may be more than the game's.
   */
  async openBuilt(uuid: string): Promise<ReadyFolder> {
    const folder = serverFolder(this.#stateDir, uuid);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    const owner = this.#accounts?.known(uuid) ?? null;
    if (found?.isDirectory() !== true) {
      throw new EngineError('refused', 'The server has no folder on its node.');
    }
    const isReady =
      this.#accounts === null ||
      (owner !== null && this.#accounts.isSettled(uuid) && isOf(found, owner));
    if (isReady) return { folder, owner, notice: null };
    const message =
      'The files of the server do not belong to its account yet. They will when it is started next.';
    throw new EngineError('refused', message);
  }

  /** Creates the folder, without access for other accounts; what is in it may be anybody's. */
  async #open(
    uuid: string,
  ): Promise<{ readonly folder: string; readonly owner: Owner | null; readonly before: Stats }> {
    const owner = (await this.#accounts?.of(uuid)) ?? null;
    const folder = serverFolder(this.#stateDir, uuid);
    mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    let descriptor: number;
    try {
      descriptor = openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    } catch (error) {
      const message = 'The folder of the server is not a folder that the node may open.';
      throw new EngineError('refused', message, { cause: error });
    }
    try {
      const before = fstatSync(descriptor);
      if ((before.mode & 0o7777) !== FOLDER_MODE) fchmodSync(descriptor, FOLDER_MODE);
      return { folder, owner, before };
    } finally {
      closeSync(descriptor);
    }
  }

  #describe(
    uuid: string,
    {
      owner,
      before,
      given,
    }: { readonly owner: Owner; readonly before: Stats; readonly given: Given },
  ): string | null {
    const { cleared, removed, copied } = given;
    const hasMoved = !isOf(before, owner) && before.uid !== process.getuid?.();
    if (!hasMoved && cleared + removed + copied === 0) return null;
    const notice = hasMoved
      ? `The files of the server belonged to uid ${before.uid} and now belong to an account of its own, uid ${owner.uid}.`
      : `The files of the server belong to uid ${owner.uid}.`;
    const details = { uuid, uid: owner.uid, before: before.uid, cleared, removed, copied };
    this.#log.info(details, 'the files of a server were given to its own account');
    return `${notice}${describeGiven(given)}`;
  }

  /** Each may be as large as the server may, and only the operator deletes them. */
  #requireFewQuarantined(uuid: string): void {
    const names = namesIn(serversFolder(this.#stateDir));
    const aside = names.filter((name) => name.startsWith(`${uuid}.quarantined-`)).toSorted();
    if (aside.length < MAX_QUARANTINED) return;
    const message = `What ${aside.length} installs left was set aside, so the server is not built again before the operator purged it: portcullis nodes purge ${aside[0]} --yes`;
    throw new EngineError('refused', message);
  }

  #quarantine(uuid: string, failure: NotGiven): EngineError {
    const folder = serverFolder(this.#stateDir, uuid);
    const reason = `What the install left cannot be given to the server. ${failure.message}`;
    const options = { cause: failure };
    try {
      const place = freeName(`${folder}.quarantined`);
      renameSync(folder, place);
      this.#log.error({ uuid, place, reason }, 'the folder of a server was set aside');
      const message = `${reason} Its folder was moved to ${place}, where only the node's account may enter. The next build begins with an empty one.`;
      return new EngineError('refused', message, options);
    } catch (error) {
      // It stays unsettled, and closed by its parent.
      this.#log.error({ uuid, reason, error }, 'the folder of a server could not be set aside');
      return new EngineError('refused', reason, options);
    }
  }

  *#ownersOfOthers(uuid: string): Iterable<number> {
    const servers = serversFolder(this.#stateDir);
    for (const name of namesIn(servers)) {
      if (name.startsWith(uuid)) continue;
      const found = lstatSync(join(servers, name), { throwIfNoEntry: false });
      if (found !== undefined) yield found.uid;
    }
  }
}

/** The folder of all servers: of the agent's account, which alone may enter. */
function closeParent(servers: string): void {
  mkdirSync(servers, { recursive: true, mode: FOLDER_MODE });
  // It may be the operator's link to a larger disk.
  const descriptor = openSync(servers, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const found = fstatSync(descriptor);
    if (found.uid !== own.uid) fchownSync(descriptor, own.uid, own.gid);
    if ((found.mode & 0o7777) !== FOLDER_MODE) fchmodSync(descriptor, FOLDER_MODE);
  } finally {
    closeSync(descriptor);
  }
}

/** Closes the state directory of a node to every other account. */
export function closeStateFolder(stateDir: string): void {
  mkdirSync(stateDir, { recursive: true, mode: FOLDER_MODE });
  chmodSync(stateDir, FOLDER_MODE);
}

function describeGiven({ cleared, removed, copied }: Given): string {
  const parts = [
    [cleared, 'set-user-id or set-group-id programs lost these rights'],
    [removed, 'devices or names of foreign files were removed'],
    [copied, 'files with other names elsewhere were copied'],
  ] as const;
  const counts = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return counts.length === 0 ? '' : ` In it ${counts.join(', ')}.`;
}

function isOf(stats: Stats, { uid, gid }: Owner): boolean {
  return stats.uid === uid && stats.gid === gid;
}

function freeName(stem: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${stem}-${number}`;
    if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
