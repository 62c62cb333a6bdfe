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
 * What an agent must know again after it was killed at any moment: one file of what is wanted, and one a server of
 * what happened to it. Each is replaced whole and is on the disk when the call resolves. A file that cannot be
 * read is as good as none: what runs is found by the engine, what is wanted comes again from control.
 */
export class Journal {
  readonly #folder: string;
  readonly #log: Log;
  /** Writes of one file, one after the other. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(stateDir: string, log: Log) {
    this.#folder = join(stateDir, 'journal');
    this.#log = log;
    mkdirSync(join(this.#folder, RECORDS), { recursive: true, mode: 0o700 });
  }

  loadAssignments(): Assignments | null {
    return this.#load(join(this.#folder, ASSIGNMENTS), assignments);
  }

  saveAssignments(wanted: Assignments): Promise<void> {
    return this.#save(join(this.#folder, ASSIGNMENTS), wanted);
  }

  loadRecords(): Map<string, ServerRecord> {
    const found = new Map<string, ServerRecord>();
    for (const file of readdirSync(join(this.#folder, RECORDS))) {
      const uuid = UUID_FILE.exec(file)?.[1];
      if (uuid === undefined) continue;
      const kept = this.#load(this.#fileOf(uuid), serverRecord);
      if (kept !== null) found.set(uuid, kept);
    }
    return found;
  }

  saveRecord(uuid: string, kept: ServerRecord): Promise<void> {
    return this.#save(this.#fileOf(uuid), kept);
  }

  /** Of a server that is no longer this node's. */
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
      this.#log.error({ path, reason: checked.reason }, 'a file of the journal is not understood');
    } catch (error) {
      this.#log.error({ path, error: describeError(error) }, 'a file of the journal is damaged');
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
