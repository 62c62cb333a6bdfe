import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { moment } from '@portcullis/link/messages/values.ts';
import { wireAttack, type WireAttack } from '@portcullis/link/messages/attacks.ts';
import { check, integer, object, oneOf } from '@portcullis/link/messages/schema.ts';

/** An attack that control does not know as it is now. */
export interface KeptAttack {
  readonly attack: WireAttack;
  /** When it was last known to go on. */
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
 * Attacks on disk until control has them: a file each, whole or not at all, so that damage costs one. Never throws;
 * a disk that fails costs what a restart would have to know.
 */
export class AttackJournal {
  readonly #folder: string;
  readonly #log: Log;
  /** By name of the file: what it is to hold; null: it is to go. */
  readonly #waiting = new Map<string, KeptAttack | null>();
  #writing: Promise<void> | null = null;
  problem: string | null = null;

  constructor(folder: string, log: Log) {
    this.#folder = join(folder, 'attacks');
    this.#log = log;
  }

  load(): KeptAttack[] {
    const kept: KeptAttack[] = [];
    for (const name of this.#names()) {
      try {
        const bytes = readIfThere(join(this.#folder, name));
        const parsed = check(shape, JSON.parse(bytes?.toString() ?? 'null'));
        if (!parsed.ok) throw new Error(parsed.reason);
        const { attack, seenAtMs, told } = parsed.value;
        kept.push({ attack, seenAtMs, told });
      } catch (error) {
        this.#log.warn({ name, error: describeError(error) }, 'an attack cannot be read');
        this.#waiting.set(name, null);
      }
    }
    return kept;
  }

  keep(attacks: readonly KeptAttack[]): void {
    for (const one of attacks) this.#waiting.set(nameOf(one.attack.id), one);
    this.#write();
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.#waiting.set(nameOf(id), null);
    this.#write();
  }

  /** Whatever was kept is on the disk, or cannot be. */
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
        if (this.problem === null) this.#log.warn({ error: why }, 'attacks cannot be kept');
        this.problem = why;
      }
    }
    this.#writing = null;
  }

  #next(): [string, KeptAttack | null] | undefined {
    const [next] = this.#waiting;
    if (next !== undefined) this.#waiting.delete(next[0]);
    return next;
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder).filter((name) => NAME.test(name));
    } catch {
      // There is none yet, or none can be read: then there is nothing to tell.
      return [];
    }
  }
}

/** Subjects have slashes and colons. */
function nameOf(id: string): string {
  return `${createHash('sha256').update(id).digest('hex').slice(0, 32)}.json`;
}
