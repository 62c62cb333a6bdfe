import { constants, type Dir } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { Limiter } from '@portcullis/link/limiter.ts';

export interface MeasureLimits {
  /** The pace of all folders together, which limits the load on the host's disk. */
  readonly entriesPerSecond: number;
  readonly maxEntries: number;
  /** Each directory on the way down is held open. */
  readonly maxDepth: number;
}

const DEFAULTS: MeasureLimits = { entriesPerSecond: 20_000, maxEntries: 5_000_000, maxDepth: 128 };
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const BLOCK = 512;
/** Concurrent calls of the file system. */
const BATCH = 32;
/** Limit of remembered files with several names; further ones count once for each name. */
const MAX_LINKED = 1_000_000;

/**
 * Measures one folder at a time. Does not follow links or enter other file systems. A game may replace directories by
 * links during the walk: each is opened from its parent's descriptor, so the walk never leaves the folder.
 */
export function createMeasureDisk(limits: Partial<MeasureLimits> = {}): MeasureDisk {
  const all = { ...DEFAULTS, ...limits };
  const pace = new Pace(all.entriesPerSecond);
  const serial = new Limiter(1);
  return (folder, signal) => serial.run(() => new Walk(all, pace, signal).run(folder), signal);
}

/** Limits the entries per second, in bursts of 100 ms. */
class Pace {
  private readonly burst: number;
  private left: number;
  private end = 0;

  constructor(perSecond: number) {
    this.burst = Math.max(1, Math.floor(perSecond / 10));
    this.left = this.burst;
  }

  async take(count: number, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now >= this.end) {
      this.end = now + 100;
      this.left = this.burst;
    }
    this.left -= count;
    if (this.left > 0) return;
    await wait(Math.max(1, this.end - now), undefined, { signal });
  }
}

interface Level {
  readonly handle: FileHandle;
  readonly entries: Dir;
}

class Walk {
  private readonly limits: MeasureLimits;
  private readonly pace: Pace;
  private readonly signal: AbortSignal;
  private readonly linked = new Set<string>();
  private readonly levels: Level[] = [];
  private device = -1n;
  private bytes = 0;
  private entries = 0;
  private complete = true;

  constructor(limits: MeasureLimits, pace: Pace, signal: AbortSignal) {
    this.limits = limits;
    this.pace = pace;
    this.signal = signal;
  }

  async run(folder: string): Promise<DiskUse> {
    try {
      if (!(await this.enter(Buffer.from(folder)))) return { bytes: 0, complete: true };
      while (this.levels.length > 0) await this.step();
    } finally {
      for (const level of this.levels) await close(level);
    }
    return { bytes: this.bytes, complete: this.complete };
  }

  /** Reads a batch of the current directory, and descends into the directories of the batch. */
  private async step(): Promise<void> {
    const level = this.levels.at(-1) as Level;
    const names: Buffer[] = [];
    while (names.length < BATCH) {
      const entry = await level.entries.read();
      if (entry === null) break;
      // As bytes, because names need not be UTF-8.
      names.push(entry.name as unknown as Buffer);
    }
    if (names.length === 0 || this.entries >= this.limits.maxEntries) {
      if (names.length > 0) this.complete = false;
      this.levels.pop();
      await close(level);
      return;
    }
    await this.pace.take(names.length, this.signal);
    const found = await Promise.all(names.map((name) => this.count(at(level, name))));
    for (const [index, isDirectory] of found.entries()) {
      if (isDirectory) await this.descend(at(level, names[index] as Buffer));
    }
  }

  /** Counts an entry. Returns true for a directory to descend into. */
  private async count(path: Buffer): Promise<boolean> {
    const stat = await lstat(path, { bigint: true }).catch(() => null);
    this.entries += 1;
    // The entry was deleted, or belongs to another file system.
    if (stat === null || stat.dev !== this.device) return false;
    if (stat.isDirectory()) return true;
    if (stat.nlink > 1n && this.linked.size < MAX_LINKED) {
      const id = String(stat.ino);
      if (this.linked.has(id)) return false;
      this.linked.add(id);
    }
    this.bytes += Number(stat.blocks) * BLOCK;
    return false;
  }

  private async descend(path: Buffer): Promise<void> {
    if (this.levels.length >= this.limits.maxDepth) {
      this.complete = false;
      return;
    }
    const depth = this.levels.length;
    await this.enter(path);
    // Completed before its siblings, so that only one directory of each level is open.
    while (this.levels.length > depth) await this.step();
  }

  /** Returns false if the directory does not exist. */
  private async enter(path: Buffer): Promise<boolean> {
    const isRoot = this.levels.length === 0 && this.device === -1n;
    const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
    let handle: FileHandle;
    try {
      handle = await open(path, flags);
    } catch (error) {
      if (isRoot && !isGone(error)) throw error;
      // Replaced or deleted. A directory that may not be opened has an unknown size.
      if (isForbidden(error)) this.complete = false;
      return false;
    }
    try {
      const stat = await handle.stat({ bigint: true });
      if (isRoot) this.device = stat.dev;
      if (stat.dev !== this.device) {
        await handle.close();
        return false;
      }
      this.bytes += Number(stat.blocks) * BLOCK;
      const entries = await opendir(`/proc/self/fd/${handle.fd}`, { encoding: 'buffer' as never });
      this.levels.push({ handle, entries });
      return true;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
}

function at({ handle }: Level, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${handle.fd}/`), name]);
}

async function close({ handle, entries }: Level): Promise<void> {
  await entries.close().catch(() => undefined);
  await handle.close();
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function isForbidden(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EMFILE' || code === 'ENFILE';
}

/** The disk use of a server's folder. */
export interface DiskUse {
  /** Allocated blocks: a sparse file counts by its blocks, a file with several names once. */
  readonly bytes: number;
  /** False if there were too many entries or levels; the real use is larger. */
  readonly complete: boolean;
}

/** Walks a folder at a limited pace, so that many servers load the host no more than one. */
export type MeasureDisk = (folder: string, signal: AbortSignal) => Promise<DiskUse>;
