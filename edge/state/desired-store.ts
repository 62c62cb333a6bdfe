import {
  closeSync,
  fdatasync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readState, writeChange, writeWhole } from './content.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { CHAIN_START, type Mark } from './frames.ts';
import { SourceSetFiles } from './source-sets.ts';

const STATE = 'policy.jsonl';
/** The name of a file that is older than the kernel state. */
const STALE = 'policy.stale.jsonl';
/** The changes that a power failure may lose. A killed process loses none: the page cache keeps them. */
const SYNC_MS = 1_000;
const RETRY_MS = 5_000;
/** Changes are compacted into a new whole state when they exceed its size and this. */
const SMALLEST_COMPACTION = 1024 * 1024;

export interface DesiredStoreOptions {
  readonly folder: string;
  readonly log: Log;
  readonly retryMs?: number;
  readonly smallestCompaction?: number;
}

/** The written file; `desired` is its content. */
interface Written {
  readonly fd: number;
  readonly desired: Desired;
  readonly mark: Mark;
  /** The size of the whole state at its start, in bytes. */
  readonly wholeBytes: number;
  /** The versions of source sets that it names. */
  readonly sets: readonly string[];
}

/**
 * Keeps the desired state on disk: a whole state, followed by changes. Never rejects or throws: if the disk fails, the
 * agent continues to enforce, reports `problem` and retries. Kept state survives a killed process at once, and a power
 * failure after one second. A change costs one write into the page cache. Whole states are written in the background,
 * when the changes are larger than the last one.
 */
export class DesiredStore {
  readonly #options: DesiredStoreOptions;
  readonly #path: string;
  readonly #stale: string;
  readonly #sets: SourceSetFiles;
  #written: Written | null = null;
  #latest: Desired | null = null;
  /** The newest state whose source sets are on disk. */
  #ready: Desired | null = null;
  #setsOnDisk: string | null = null;
  #savingSets = Promise.resolve();
  #problem: string | null = null;
  #unsynced = false;
  #syncing: Promise<void> | null = null;
  #rewriting: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: DesiredStoreOptions) {
    this.#options = options;
    this.#path = join(options.folder, STATE);
    this.#stale = join(options.folder, STALE);
    this.#sets = new SourceSetFiles(options.folder);
  }

  /** The error of the disk in words, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  /**
   * Returns the newest complete state on disk, or null; `problem` reports an unusable one. `hasTable`: the kernel still
   * has the enforced table. A state older than that table would be a step back, so it is used only after a reboot.
   */
  load(hasTable: boolean): Desired | null {
    try {
      const bytes = readIfThere(this.#path);
      if (bytes === null) return hasTable ? null : this.#loadStale();
      const read = readState(bytes, (version) => this.#sets.read(version));
      if (!read.ok) {
        this.#complain(`the state on disk cannot be used: ${read.reason}`);
        return null;
      }
      const { desired, mark } = read.value;
      if (read.damaged) {
        this.#complain(`the state on disk is damaged behind generation ${desired.generation}`);
      }
      const fd = openSync(this.#path, 'r+');
      ftruncateSync(fd, mark.bytes);
      this.#written = { fd, desired, mark, wholeBytes: mark.bytes, sets: read.value.sets };
      this.#latest = desired;
      this.#ready = desired;
      this.#setsOnDisk = desired.sourceSets.version;
      return desired;
    } catch (error) {
      this.#complain(`the state on disk cannot be read: ${describeError(error)}`);
      return null;
    }
  }

  #loadStale(): Desired | null {
    const bytes = readIfThere(this.#stale);
    const read = bytes === null ? null : readState(bytes, (version) => this.#sets.read(version));
    if (read?.ok !== true) return null;
    const { desired } = read.value;
    this.#complain(`the state on disk ends at generation ${desired.generation}: the disk failed`);
    return desired;
  }

  /**
   * Keeps the state of the kernel; one call at a time. Resolves once a killed process would not lose it, or the disk
   * has failed.
   */
  async keep(desired: Desired): Promise<void> {
    if (desired === this.#latest) return;
    this.#latest = desired;
    this.#markReady();
    // Without a file there is no older state that a restart could load, so the caller need not wait.
    if (this.#written === null) {
      if (this.#retry === undefined) this.#rewrite();
      return;
    }
    try {
      await this.#saveSets();
      this.#written = this.#append(this.#written, desired);
      const { mark, wholeBytes } = this.#written;
      const { smallestCompaction = SMALLEST_COMPACTION } = this.#options;
      if (mark.bytes - wholeBytes > Math.max(wholeBytes, smallestCompaction)) this.#rewrite();
      else if (this.#retry === undefined) this.#problem = null;
    } catch (error) {
      this.#markStale();
      this.#fail(error);
    }
  }

  /** Renames a file that is older than the kernel state. A rename works even on a full disk. */
  #markStale(): void {
    if (this.#written === null) return;
    this.#close(this.#written.fd);
    this.#written = null;
    try {
      renameSync(this.#path, this.#stale);
    } catch (error) {
      this.#options.log.error({ error }, 'a restart may fall behind what is enforced now');
    }
  }

  /** Resolves when all kept state is on disk. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of [this.#timer, this.#retry]) clearTimeout(timer);
    await this.#rewriting;
    await this.#sync();
    if (this.#written !== null) closeSync(this.#written.fd);
    this.#written = null;
  }

  #append(written: Written, desired: Desired): Written {
    let { chain, bytes } = written.mark;
    try {
      for (const frames of writeChange(written.desired, desired, chain)) {
        bytes += writeAt(written.fd, frames.text, bytes);
        ({ chain } = frames);
      }
    } catch (error) {
      // A partial record would make all later ones unreadable.
      ftruncateSync(written.fd, written.mark.bytes);
      throw error;
    }
    if (bytes !== written.mark.bytes) this.#scheduleSync();
    const sets = [...new Set([...written.sets, desired.sourceSets.version])];
    return { ...written, desired, mark: { chain, bytes }, sets };
  }

  #rewrite(): void {
    if (this.#stopped) return;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#rewriting ??= this.#writeWhole()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => (this.#rewriting = null));
  }

  /** Writes a new file. The old one receives changes until it is replaced. */
  async #writeWhole(): Promise<void> {
    await this.#saveSets();
    const desired = this.#ready as Desired;
    let mark: Mark = { chain: CHAIN_START, bytes: 0 };
    const pieces = function* (): Generator<string> {
      for (const { text, chain } of writeWhole(desired)) {
        mark = { chain, bytes: mark.bytes + Buffer.byteLength(text) };
        yield text;
      }
    };
    await replaceFile(this.#path, pieces(), (draft) =>
      this.#replace(draft, {
        desired,
        mark,
        wholeBytes: mark.bytes,
        sets: [desired.sourceSets.version],
      }),
    );
    // For changes kept meanwhile whose source sets are not on disk yet.
    await this.#saveSets();
    if (this.#written !== null && this.#ready !== null) {
      this.#written = this.#append(this.#written, this.#ready);
    }
    rmSync(this.#stale, { force: true });
    this.#sets.removeBut([...(this.#written?.sets ?? []), this.#latest?.sourceSets.version ?? '']);
    if (this.#retry === undefined) this.#problem = null;
    await this.#sync();
  }

  /** Synchronous, so that no change is kept between the last check and the rename. */
  #replace(draft: string, whole: Omit<Written, 'fd'>): void {
    const fd = openSync(draft, 'r+');
    try {
      const next = this.#append({ fd, ...whole }, this.#ready ?? whole.desired);
      renameSync(draft, this.#path);
      const old = this.#written?.fd;
      this.#written = next;
      if (old !== undefined) this.#close(old);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Closes the file after a running sync. */
  #close(fd: number): void {
    void (this.#syncing ?? Promise.resolve()).then(() => closeSync(fd));
  }

  #scheduleSync(): void {
    this.#unsynced = true;
    if (this.#stopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#sync();
    }, SYNC_MS);
  }

  async #sync(): Promise<void> {
    await this.#syncing;
    if (!this.#unsynced || this.#written === null) return;
    this.#unsynced = false;
    this.#syncing = promisify(fdatasync)(this.#written.fd)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => (this.#syncing = null));
    await this.#syncing;
  }

  /**
   * Writes the source sets before any record that names them. The version names the content, so a file is never
   * changed. Then the newest state is ready to be written.
   */
  async #saveSets(): Promise<void> {
    this.#savingSets = this.#savingSets
      .catch(() => {})
      .then(async () => {
        const [latest, ready] = [this.#latest, this.#ready];
        if (latest === null) return;
        const sets = latest.sourceSets;
        if (sets.version !== '' && sets.version !== this.#setsOnDisk) {
          await this.#sets.write(sets);
          this.#setsOnDisk = sets.version;
        }
        if (this.#ready === ready) this.#ready = latest;
        this.#markReady();
      });
    return this.#savingSets;
  }

  #markReady(): void {
    const version = this.#latest?.sourceSets.version ?? '';
    if (version === '' || version === this.#setsOnDisk) this.#ready = this.#latest;
  }

  /** The file may be older than the kernel state: it is written anew as soon as the disk works. */
  #fail(error: unknown): void {
    this.#complain(`the state could not be written to disk: ${describeError(error)}`);
    if (this.#stopped) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#rewrite(), this.#options.retryMs ?? RETRY_MS);
  }

  #complain(problem: string): void {
    if (problem !== this.#problem) this.#options.log.error({ problem }, 'the disk fails this edge');
    this.#problem = problem;
  }
}

/** Returns the number of bytes written. A full disk may write a part, and fail the next call. */
function writeAt(fd: number, text: string, position: number): number {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
  return bytes.length;
}
