import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { moment } from '@portcullis/link/messages/values.ts';
import { wireAttack, type WireAttack } from '@portcullis/link/messages/attacks.ts';
import { check, integer, object, oneOf } from '@portcullis/link/messages/schema.ts';

/** An attack whose present state control has not acknowledged. */
export interface SavedAttack {
  readonly attack: WireAttack;
  /** When it was last seen ongoing. */
  readonly seenAtMs: number;
  readonly told: 'nothing' | 'ongoing' | 'ended';
}

const FORMAT = 1;
const shape = object({
  format: integer(FORMAT, FORMAT),
  attack: wireAttack,
  seenAtMs: moment,
  told: oneOf('nothing', 'ongoing', 'ended'),
});
const NAME = /^[0-9a-f]{32}\.json$/;

/**
 * Keeps attacks on disk until control has acknowledged them. One file per attack, replaced atomically, so that damage
 * costs one attack. Never throws: with a failing disk only a restart loses attacks.
 */
export class AttackJournal {
  readonly #folder: string;
  readonly #log: Log;
  /** The pending writes by file name. Null deletes the file. */
  readonly #waiting = new Map<string, SavedAttack | null>();
  #writing: Promise<void> | null = null;
  problem: string | null = null;

  constructor(folder: string, log: Log) {
    this.#folder = join(folder, 'attacks');
    this.#log = log;
  }

  load(): SavedAttack[] {
    const kept: SavedAttack[] = [];
    for (const name of this.#names()) {
      try {
        const bytes = readIfThere(join(this.#folder, name));
        const parsed = check(shape, JSON.parse(bytes?.toString() ?? 'null'));
        if (!parsed.ok) throw new Error(parsed.reason);
        const { attack, seenAtMs, told } = parsed.value;
        kept.push({ attack, seenAtMs, told });
      } catch (error) {
        this.#log.warn({ name, error: describeError(error) }, 'a saved attack cannot be read');
        this.#waiting.set(name, null);
      }
    }
    return kept;
  }

  save(attacks: readonly SavedAttack[]): void {
    for (const one of attacks) this.#waiting.set(nameOf(one.attack.id), one);
    this.#write();
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.#waiting.set(nameOf(id), null);
    this.#write();
  }

  /** Resolves when all pending writes are done or have failed. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  #write(): void {
    if (this.#waiting.size > 0) this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [name, kept] = next;
      const path = join(this.#folder, name);
      try {
        if (kept === null) rmSync(path, { force: true });
        else await replaceFile(path, [`${JSON.stringify({ format: FORMAT, ...kept })}\n`]);
        this.problem = null;
      } catch (error) {
        const why = describeError(error);
        if (this.problem === null) this.#log.warn({ error: why }, 'attacks cannot be saved');
        this.problem = why;
      }
    }
    this.#writing = null;
  }

  #next(): [string, SavedAttack | null] | undefined {
    const [next] = this.#waiting;
    if (next !== undefined) this.#waiting.delete(next[0]);
    return next;
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder).filter((name) => NAME.test(name));
    } catch {
      // The folder does not exist yet or cannot be read.
      return [];
    }
  }
}

/** A hash, because subjects contain slashes and colons. */
function nameOf(id: string): string {
  return `${createHash('sha256').update(id).digest('hex').slice(0, 32)}.json`;
}
