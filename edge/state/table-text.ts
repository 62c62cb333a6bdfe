import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { changedKeys } from '@portcullis/dataplane/compile/changed-keys.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import type { Layout } from '@portcullis/dataplane/nftables/table/layout.ts';
import {
  renderDelta,
  renderWholeParts,
  type Sizes,
} from '@portcullis/dataplane/nftables/table/render.ts';
import { replaceFile } from '@portcullis/agent/durable-file.ts';

/** The files that `nft -f` loads in this order; read by boot/load.sh. */
const WHOLE = 'table.nft';
const SINCE = 'table-since.nft';
/** The pause after a write is 20 times its duration, so rendering takes 5% of the time. */
const PAUSE_MS = 1_000;
const PAUSE_RATIO = 20;
/** Above this number of changed targets, a new whole table blocks the event loop for less time. */
const MAX_CHANGED = 500;

export interface LoadedTable {
  readonly layout: Layout;
  readonly sizes: Sizes;
  /** The `Driver.stamp` of this table; null if there is none. */
  readonly stamp: number | null;
}

/** The table that is in the file. */
interface Written extends Omit<LoadedTable, 'stamp'> {
  readonly digest: string;
}

/**
 * Keeps the table as text, for a boot without Node: the whole table, and later changes as a second transaction. Both
 * files end in a checksum, and the second names the whole that it belongs to, so two files never have to change at
 * once. Written a second or more after a change: the agent replaces the boot-time table anyway.
 */
export class TableText {
  readonly #folder: string;
  readonly #log: Log;
  #written: Written | null = null;
  /** The table of both files together. */
  #current: Layout | null = null;
  #since: string | null = null;
  #wanted: LoadedTable | null = null;
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = PAUSE_MS;
  #problem: string | null = null;
  #stopped = false;

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** Called after an apply. Takes little time. */
  keep(table: LoadedTable): void {
    this.#wanted = table;
    this.#scheduleWrite();
  }

  /** Deletes the files, so that the next boot loads nothing. */
  remove(): void {
    this.#wanted = null;
    this.#written = null;
    this.#current = null;
    try {
      for (const name of [SINCE, WHOLE]) rmSync(join(this.#folder, name), { force: true });
    } catch (error) {
      this.#fail('the table for the next boot could not be removed', error);
    }
  }

  /** Resolves when the files have the last kept table. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    await this.#write();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.flush();
  }

  #scheduleWrite(): void {
    if (this.#stopped || this.#timer !== undefined || this.#writing !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = null;
        if (this.#wanted !== null && this.#wanted.layout !== this.#current) this.#scheduleWrite();
      });
    }, this.#pauseMs);
  }

  async #write(): Promise<void> {
    const table = this.#wanted;
    if (table === null || table.layout === this.#current) return;
    const begin = performance.now();
    try {
      if (!(await this.#writeSince(table))) await this.#writeWhole(table);
      this.#current = table.layout;
      this.#problem = null;
    } catch (error) {
      this.#written = null;
      this.#fail('the table for the next boot could not be written', error);
    }
    this.#pauseMs = Math.max(PAUSE_MS, PAUSE_RATIO * (performance.now() - begin));
  }

  #fail(what: string, error: unknown): void {
    this.#problem = `${what}: ${describeError(error)}`;
    this.#log.error({ error }, what);
  }

  /** Returns false if only a new whole table is possible. */
  async #writeSince({ layout }: LoadedTable): Promise<boolean> {
    const before = this.#written;
    if (before === null) return false;
    const changed = changedKeys(before.layout.targets, layout.targets);
    if (changed.length > MAX_CHANGED) return false;
    const delta = renderDelta(before.layout, layout, changed, before.sizes);
    if (delta === null) return false;
    const text = `# after ${before.digest}\n${delta.text}`;
    if (text !== this.#since) await replaceFile(join(this.#folder, SINCE), sealed([text]));
    this.#since = text;
    return true;
  }

  async #writeWhole({ layout }: LoadedTable): Promise<void> {
    let digest = '';
    const { parts, sizes } = renderWholeParts(layout);
    const seal = (hex: string): void => void (digest = hex);
    await replaceFile(join(this.#folder, WHOLE), sealed(parts, seal));
    rmSync(join(this.#folder, SINCE), { force: true });
    this.#written = { layout, sizes, digest };
    this.#since = null;
  }
}

/** The text, followed by a line with its checksum. */
function* sealed(
  parts: Iterable<string>,
  seal: (hex: string) => void = () => {},
): Generator<string> {
  const hash = createHash('sha256');
  for (const part of parts) {
    hash.update(part);
    yield part;
  }
  const hex = hash.digest('hex');
  seal(hex);
  yield `# sha256 ${hex}\n`;
}
