import { readFileSync } from 'node:fs';
import { EngineError } from '../engine/engine.ts';
import type { Journal } from '../journal/journal.ts';
import type { AccountRecord } from '../journal/record.ts';
import { type AccountRange, chooseAccount, isTaken, takenRanges } from './account-range.ts';
import type { Owner } from './folder.ts';

export interface AccountsOptions {
  readonly journal: Journal;
  readonly range: AccountRange;
  /** The owners of the folders of all servers but this one. */
  readonly ownersOfOthers: (uuid: string) => Iterable<number>;
  /** Whether nothing of a server is on this host any more: its account is free then. */
  readonly isGone: (uuid: string) => boolean;
  /** The accounts that the host gives to others; by default as its files say. */
  readonly readTaken?: () => readonly AccountRange[];
}

/**
 * The account of each server of a node that runs as root: a uid, and the gid of the same number. What the kernel counts by
 * account (inotify, keys, pipes, pending signals) and what it allows by account is then nobody else's. An account stays
 * with its server for as long as there is a folder of it, also one of a removed server.
 */
export class Accounts {
  readonly #journal: Journal;
  readonly #range: AccountRange;
  readonly #records: Map<string, AccountRecord>;
  readonly #ownersOfOthers: AccountsOptions['ownersOfOthers'];
  readonly #readTaken: () => readonly AccountRange[];

  constructor({
    journal,
    range,
    ownersOfOthers,
    isGone,
    readTaken = readTakenRanges,
  }: AccountsOptions) {
    this.#journal = journal;
    this.#range = range;
    this.#ownersOfOthers = ownersOfOthers;
    this.#readTaken = readTaken;
    this.#records = journal.loadAccounts();
    for (const uuid of this.#records.keys())
      if (isGone(uuid)) {
        this.#records.delete(uuid);
        journal.removeAccount(uuid);
      }
  }

  /**
   * Returns the account of a server that does not run. One that has none gets one, which is on the disk when this
   * resolves; so does one whose account the host has given to somebody since, who could reach its processes and files.
   */
  async of(uuid: string): Promise<Owner> {
    const known = this.#records.get(uuid);
    const taken = this.#readTaken();
    if (known !== undefined && !isTaken(known.uid, taken)) return ownerOf(known);
    // Owners too, for folders whose record was lost.
    const used = new Set(this.#ownersOfOthers(uuid));
    for (const record of this.#records.values()) used.add(record.uid);
    const uid = chooseAccount(uuid, this.#range, { used, taken });
    if (uid === null) {
      const { first, last } = this.#range;
      const message = `No account of ${first}-${last} is free for the server: give the node another range with --accounts.`;
      throw new EngineError('refused', message);
    }
    await this.#save(uuid, { uid, settled: false });
    return { uid, gid: uid };
  }

  /** The account that a server has; null for one that has none. */
  known(uuid: string): Owner | null {
    const record = this.#records.get(uuid);
    return record === undefined ? null : ownerOf(record);
  }

  /** Whether everything in the folder belongs to its account, and nothing in it has more rights than the account. */
  isSettled(uuid: string): boolean {
    return this.#records.get(uuid)?.settled === true;
  }

  /** Resolves when it is on the disk. No-op for a server without an account. */
  async setSettled(uuid: string, settled: boolean): Promise<void> {
    const record = this.#records.get(uuid);
    if (record === undefined || record.settled === settled) return;
    await this.#save(uuid, { ...record, settled });
  }

  async #save(uuid: string, record: AccountRecord): Promise<void> {
    const before = this.#records.get(uuid);
    // Before the write, so that no other server gets this account meanwhile.
    this.#records.set(uuid, record);
    try {
      await this.#journal.saveAccount(uuid, record);
    } catch (error) {
      if (before === undefined) this.#records.delete(uuid);
      else this.#records.set(uuid, before);
      throw error;
    }
  }
}

function ownerOf({ uid }: AccountRecord): Owner {
  return { uid, gid: uid };
}

function readTakenRanges(): AccountRange[] {
  return takenRanges({
    named: `${read('/etc/passwd')}\n${read('/etc/group')}`,
    subordinate: `${read('/etc/subuid')}\n${read('/etc/subgid')}`,
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
