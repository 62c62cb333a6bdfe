import { type BigIntStats, constants, type Dir } from 'node:fs';
import { type FileHandle, lstat, open, opendir, readFile } from 'node:fs/promises';
import { Limiter } from '@portcullis/link/limiter.ts';
import { type Lane, Turns } from './turns.ts';

export interface MeasureLimits {
  /** The pace of all folders together, which limits the load on the host's disk. */
  readonly entriesPerSecond: number;
  /** The most entries of a folder, where an order names no other. */
  readonly maxEntries: number;
  /** Each directory on the way down is held open, by two descriptors. */
  readonly maxDepth: number;
}

/** The bounds of one measurement. */
export interface MeasureOrder {
  /** Default `round`. */
  readonly lane?: Lane;
  /** The walk ends at this number of entries, so that a folder past its limit costs no more than one at it. */
  readonly maxEntries?: number;
}

/** The least that an entry counts: empty files and folders take a name and an inode, which run out too. */
export const ENTRY_BYTES = 4096;

const DEFAULTS: MeasureLimits = { entriesPerSecond: 20_000, maxEntries: 5_000_000, maxDepth: 128 };
const BLOCK = 512;
/** Concurrent calls of the file system, and the entries of a turn. */
const BATCH = 32;
/** Limit of remembered files with several names, of one walk; further ones count once for each name. */
const MAX_LINKED = 16_384;
/** Concurrent walks of a lane. They are many, and take turns, because a walk waits only for what is before it. */
const WALKS: Readonly<Record<Lane, number>> = { start: 32, round: 16 };
/**
 * A walk below this depth holds many descriptors, so few of a lane are there at a time. Games have about ten levels.
 */
const SHALLOW = 16;
const DEEP_WALKS = 4;

interface Shared {
  readonly limits: MeasureLimits;
  readonly turns: Turns;
  readonly deep: Readonly<Record<Lane, Limiter>>;
}

/**
 * Measures folders concurrently, a batch of each in turn. Does not follow links or enter what is mounted in a folder. A
 * game may change everything during the walk: each directory is opened from its parent's descriptor, so the walk never
 * leaves the folder, and what disappears meanwhile is skipped.
 */
export function createMeasureDisk(limits: Partial<MeasureLimits> = {}): MeasureDisk {
  const all = { ...DEFAULTS, ...limits };
  const turns = new Turns(all.entriesPerSecond);
  const deep = { start: new Limiter(DEEP_WALKS), round: new Limiter(DEEP_WALKS) };
  const shared = { limits: all, turns, deep };
  const lanes = { start: new Limiter(WALKS.start), round: new Limiter(WALKS.round) };
  return (folder, signal, { lane = 'round', maxEntries = all.maxEntries } = {}) => {
    const walk = (): Promise<DiskUse> => new Walk(shared, { lane, maxEntries }, signal).run(folder);
    return lanes[lane].run(() => turns.run(lane, walk), signal);
  };
}

/** An open directory. */
interface Level {
  readonly handle: FileHandle;
  readonly entries: Dir;
}

class Walk {
  private readonly shared: Shared;
  private readonly order: Required<MeasureOrder>;
  private readonly signal: AbortSignal;
  private readonly linked = new Set<string>();
  private readonly levels: Level[] = [];
  private root: { readonly device: bigint; readonly mount: string | null } | null = null;
  private bytes = 0;
  private entries = 0;
  private complete = true;

  constructor(shared: Shared, order: Required<MeasureOrder>, signal: AbortSignal) {
    this.shared = shared;
    this.order = order;
    this.signal = signal;
  }

  async run(folder: string): Promise<DiskUse> {
    try {
      if (await this.enterRoot(Buffer.from(folder))) {
        while (this.levels.length > 0) await this.step();
      }
    } finally {
      for (const level of this.levels) await close(level);
    }
    const { bytes, entries, complete } = this;
    return { bytes, entries, complete };
  }

  /** Reads a batch of the current directory, and descends into the directories of the batch. */
  private async step(): Promise<void> {
    const level = this.levels.at(-1) as Level;
    const names = await this.read(level);
    if (names.length > 0 && this.entries >= this.order.maxEntries) this.complete = false;
    if (names.length === 0 || this.entries >= this.order.maxEntries) {
      this.levels.pop();
      await close(level);
      return;
    }
    await this.shared.turns.take(this.order.lane, names.length, this.signal);
    const found = await Promise.all(names.map((name) => this.count(at(level, name))));
    for (const [index, isDirectory] of found.entries()) {
      if (isDirectory) await this.descend(at(level, names[index] as Buffer));
    }
  }

  private async read({ entries }: Level): Promise<Buffer[]> {
    const names: Buffer[] = [];
    try {
      while (names.length < BATCH) {
        const entry = await entries.read();
        if (entry === null) break;
        // As bytes, because names need not be UTF-8.
        names.push(entry.name as unknown as Buffer);
      }
    } catch (error) {
      // A directory that was deleted while it was read has ended.
      this.miss(error);
    }
    return names;
  }

  /** Counts an entry. Returns true for a directory to descend into. */
  private async count(path: Buffer): Promise<boolean> {
    this.entries += 1;
    try {
      const stat = await lstat(path, { bigint: true });
      this.bytes += this.bytesOf(stat);
      return stat.isDirectory();
    } catch (error) {
      this.miss(error);
      return false;
    }
  }

  /** The blocks of a file with several names count for its first one. */
  private bytesOf(stat: BigIntStats): number {
    if (stat.nlink > 1n && !stat.isDirectory()) {
      const id = `${stat.dev}:${stat.ino}`;
      if (this.linked.has(id)) return ENTRY_BYTES;
      if (this.linked.size < MAX_LINKED) this.linked.add(id);
    }
    return Math.max(Number(stat.blocks) * BLOCK, ENTRY_BYTES);
  }

  private async descend(path: Buffer): Promise<void> {
    const depth = this.levels.length;
    if (depth >= this.shared.limits.maxDepth) {
      this.complete = false;
      return;
    }
    const walk = async (): Promise<void> => {
      await this.enter(path);
      // Completed before its siblings, so that only one directory of each level is open.
      while (this.levels.length > depth) await this.step();
    };
    await (depth === SHALLOW ? this.shared.deep[this.order.lane].run(walk, this.signal) : walk());
  }

  /** Returns false if there is no folder. */
  private async enterRoot(folder: Buffer): Promise<boolean> {
    let handle: FileHandle;
    try {
      handle = await open(folder, DIRECTORY);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    }
    const level = await openLevel(handle);
    this.levels.push(level);
    const stat = await handle.stat({ bigint: true });
    this.root = { device: stat.dev, mount: await mountOf(handle) };
    this.entries += 1;
    this.bytes += this.bytesOf(stat);
    return true;
  }

  /** Opens a directory, unless it was replaced or deleted, or something is mounted there. */
  private async enter(path: Buffer): Promise<void> {
    try {
      const handle = await open(path, DIRECTORY);
      if (await this.isForeign(handle)) await handle.close();
      else this.levels.push(await openLevel(handle));
    } catch (error) {
      this.miss(error);
    }
  }

  /** A subvolume of btrfs, which a game can make, has a device of its own, and is of the mount of its parent. */
  private async isForeign(handle: FileHandle): Promise<boolean> {
    const { dev } = await handle.stat({ bigint: true });
    if (dev === this.root?.device) return false;
    const mount = await mountOf(handle);
    return mount === null || mount !== this.root?.mount;
  }

  /**
   * Notes an error: what is gone does not count, and what may not be read has an unknown size. Throws what is the
   * agent's own failure.
   */
  private miss(error: unknown): void {
    const code = codeOf(error) ?? '';
    if (GONE.has(code)) return;
    if (EXHAUSTED.has(code)) throw error;
    this.complete = false;
  }
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
/** Deleted, or replaced by a file or a link, after its name was read. */
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE']);
const EXHAUSTED = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** Closes the handle if its entries cannot be read. */
async function openLevel(handle: FileHandle): Promise<Level> {
  try {
    const path = `/proc/self/fd/${handle.fd}`;
    return { handle, entries: await opendir(path, { encoding: 'buffer' as never }) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The mount that a descriptor is of; null if the kernel does not say. */
async function mountOf({ fd }: FileHandle): Promise<string | null> {
  const text = await readFile(`/proc/self/fdinfo/${fd}`, 'latin1').catch(() => '');
  return /^mnt_id:\s*(\d+)$/m.exec(text)?.[1] ?? null;
}

function at({ handle }: Level, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${handle.fd}/`), name]);
}

async function close({ handle, entries }: Level): Promise<void> {
  await entries.close().catch(() => undefined);
  await handle.close();
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** The disk use of a server's folder. */
export interface DiskUse {
  /**
   * Allocated blocks, and at least 4 KiB an entry: a sparse file counts by its blocks, and those of a file with several
   * names count once.
   */
  readonly bytes: number;
  /** Files, folders and links, with the folder itself. */
  readonly entries: number;
  /** False if there were too many entries or levels, or some could not be read; the real use is larger. */
  readonly complete: boolean;
}

/**
 * Walks a folder at a pace that all walks share, so that many servers load the host no more than one. Zero if there is no
 * folder. Rejects with the reason of the signal, and if the folder cannot be opened.
 */
export type MeasureDisk = (
  folder: string,
  signal: AbortSignal,
  order?: MeasureOrder,
) => Promise<DiskUse>;
