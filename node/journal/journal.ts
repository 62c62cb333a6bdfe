import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { check, type Schema } from '@portcullis/link/messages/schema.ts';
import {
  type AccountRecord,
  accountRecord,
  type Assignments,
  assignments,
  type ServerRecord,
  serverRecord,
} from './record.ts';

const ASSIGNMENTS = 'assignments.json';
const RECORDS = 'servers';
const ACCOUNTS = 'accounts';
const UUID_FILE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;

/**
 * The state that survives a kill of the agent: one file with the assignments, and for each server one with its record and
 * one with its account. Each file is replaced atomically and is on the disk when the call resolves. An unreadable file
 * counts as missing: the engine lists the running servers, and control sends the assignments again.
 */
export class Journal {
  readonly #folder: string;
  readonly #log: Log;
  /** The last write of each file; writes of one file are serial. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(stateDir: string, log: Log) {
    this.#folder = join(stateDir, 'journal');
    this.#log = log;
    for (const name of [RECORDS, ACCOUNTS])
      mkdirSync(join(this.#folder, name), { recursive: true, mode: 0o700 });
  }

  loadAssignments(): Assignments | null {
    return this.#load(join(this.#folder, ASSIGNMENTS), assignments);
  }

  saveAssignments(content: Assignments): Promise<void> {
    return this.#save(join(this.#folder, ASSIGNMENTS), content);
  }

  loadRecords(): Map<string, ServerRecord> {
    return this.#loadAll(RECORDS, serverRecord);
  }

  saveRecord(uuid: string, record: ServerRecord): Promise<void> {
    return this.#save(this.#fileOf(RECORDS, uuid), record);
  }

  /** Removes the record of a server that is no longer assigned to this node. */
  async removeRecord(uuid: string): Promise<void> {
    const path = this.#fileOf(RECORDS, uuid);
    await this.#writing.get(path)?.catch(() => {});
    rmSync(path, { force: true });
  }

  /** The accounts of servers' folders, those of removed servers included. */
  loadAccounts(): Map<string, AccountRecord> {
    return this.#loadAll(ACCOUNTS, accountRecord);
  }

  saveAccount(uuid: string, record: AccountRecord): Promise<void> {
    return this.#save(this.#fileOf(ACCOUNTS, uuid), record);
  }

  /** For a server that has no folder any more. */
  removeAccount(uuid: string): void {
    rmSync(this.#fileOf(ACCOUNTS, uuid), { force: true });
  }

  #fileOf(kind: string, uuid: string): string {
    return join(this.#folder, kind, `${uuid}.json`);
  }

  #loadAll<T>(kind: string, shape: Schema<T>): Map<string, T> {
    const found = new Map<string, T>();
    for (const file of readdirSync(join(this.#folder, kind))) {
      const uuid = UUID_FILE.exec(file)?.[1];
      if (uuid === undefined) continue;
      const record = this.#load(this.#fileOf(kind, uuid), shape);
      if (record !== null) found.set(uuid, record);
    }
    return found;
  }

  #load<T>(path: string, shape: Schema<T>): T | null {
    try {
      const bytes = readIfThere(path);
      if (bytes === null) return null;
      const checked = check(shape, JSON.parse(bytes.toString()));
      if (checked.ok) return checked.value;
      this.#log.error({ path, reason: checked.reason }, 'a journal file is invalid');
    } catch (error) {
      this.#log.error({ path, error: describeError(error) }, 'a journal file is damaged');
    }
    return null;
  }

  async #save(path: string, content: object): Promise<void> {
    const before = this.#writing.get(path);
    const text = JSON.stringify(content);
    const written = (before ?? Promise.resolve())
      .catch(() => {})
      .then(() => replaceFile(path, [text]));
    this.#writing.set(path, written);
    try {
      await written;
    } finally {
      if (this.#writing.get(path) === written) this.#writing.delete(path);
    }
  }
}
