import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { check, type Schema } from '@portcullis/link/messages/schema.ts';
import { type Assignments, assignments, type ServerRecord, serverRecord } from './record.ts';

const ASSIGNMENTS = 'assignments.json';
const RECORDS = 'servers';
const UUID_FILE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;

/**
 * The state that survives a kill of the agent: one file with the assignments, and one record per server. Each file is
 * replaced atomically and is on the disk when the call resolves. An unreadable file counts as missing: the engine lists
 * the running servers, and control sends the assignments again.
 */
export class Journal {
  readonly #folder: string;
  readonly #log: Log;
  /** The last write of each file; writes of one file are serial. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(stateDir: string, log: Log) {
    this.#folder = join(stateDir, 'journal');
    this.#log = log;
    mkdirSync(join(this.#folder, RECORDS), { recursive: true, mode: 0o700 });
  }

  loadAssignments(): Assignments | null {
    return this.#load(join(this.#folder, ASSIGNMENTS), assignments);
  }

  saveAssignments(content: Assignments): Promise<void> {
    return this.#save(join(this.#folder, ASSIGNMENTS), content);
  }

  loadRecords(): Map<string, ServerRecord> {
    const found = new Map<string, ServerRecord>();
    for (const file of readdirSync(join(this.#folder, RECORDS))) {
      const uuid = UUID_FILE.exec(file)?.[1];
      if (uuid === undefined) continue;
      const record = this.#load(this.#fileOf(uuid), serverRecord);
      if (record !== null) found.set(uuid, record);
    }
    return found;
  }

  saveRecord(uuid: string, record: ServerRecord): Promise<void> {
    return this.#save(this.#fileOf(uuid), record);
  }

  /** Removes the record of a server that is no longer assigned to this node. */
  async removeRecord(uuid: string): Promise<void> {
    await this.#writing.get(this.#fileOf(uuid))?.catch(() => {});
    rmSync(this.#fileOf(uuid), { force: true });
  }

  #fileOf(uuid: string): string {
    return join(this.#folder, RECORDS, `${uuid}.json`);
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
