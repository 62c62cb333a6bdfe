import { diskRefusal, entryLimit, farEntries } from '../disk/disk-limit.ts';
import { type DiskUse, ENTRY_BYTES } from '../disk/measure.ts';
import { FileRefusal } from './refusal.ts';

const MIB = 1024 * 1024;
const BIN_FULL =
  'The server has too many files and folders to keep deleted ones too: empty the bin, delete the folder around it, or delete for good.';
/** Between two measurements for the bin. */
const BIN_PAUSE_MS = 10_000;

/** Disk that a write takes, or is about to take. */
export interface Space {
  readonly bytes: number;
  readonly entries: number;
}

/** Space that was granted. What is not used in the end is given back. */
export interface Granted {
  /** Counts what was used as used, until the next measurement has seen it. */
  close(used: Space): void;
}

export interface QuotaOptions {
  /** MiB; 0: unlimited. */
  readonly limitMib: () => number;
  /** The most files, folders and links; 0: what the disk allows. */
  readonly limitEntries: () => number;
  /** Measures the folder now, and calls `measured`. Rejects if that takes too long. */
  readonly measure: () => Promise<unknown>;
}

interface Addition extends Space {
  /** Null while the write runs. */
  endedAtMs: number | null;
}

/**
 * The disk quota of a server, asked before each write. A measurement of the folder is the truth, and old soon; what was
 * granted since it began is counted beside it, so that many writes at once do not pass the limit together.
 */
export class Quota {
  readonly #options: QuotaOptions;
  readonly #additions = new Set<Addition>();
  /** The sum of the additions, of which a copy makes hundreds of thousands. */
  readonly #added = { bytes: 0, entries: 0 };
  #use: DiskUse | null = null;
  #measuring: Promise<void> = Promise.resolve();
  /** The measurement after that; null: nobody waits for it. */
  #next: Promise<void> | null = null;
  #measuredForBinMs = -Infinity;

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** Takes a measurement that began at this time, of `performance.now()`. */
  measured(use: DiskUse, startedAtMs: number): void {
    this.#use = use;
    for (const addition of this.#additions) {
      const { endedAtMs } = addition;
      if (endedAtMs !== null && endedAtMs < startedAtMs) this.#drop(addition);
    }
  }

  #add(addition: Addition): void {
    this.#additions.add(addition);
    this.#added.bytes += addition.bytes;
    this.#added.entries += addition.entries;
  }

  /** No-op for one that is not there. */
  #drop(addition: Addition): void {
    if (!this.#additions.delete(addition)) return;
    this.#added.bytes -= addition.bytes;
    this.#added.entries -= addition.entries;
  }

  /** Grants space, or throws the refusal. */
  async take(space: Space): Promise<Granted> {
    // A measurement that is under way may find it.
    if (this.#lack(space) !== null) await this.#measuring;
    if (this.#lack(space) !== null) await this.#measureAgain();
    const lack = this.#lack(space);
    if (lack !== null) throw new FileRefusal('quota', lack);
    const addition: Addition = { ...rounded(space), endedAtMs: null };
    this.#add(addition);
    return {
      close: (used) => {
        this.#drop(addition);
        if (used.bytes === 0 && used.entries === 0) return;
        this.#add({ ...rounded(used), endedAtMs: performance.now() });
      },
    };
  }

  /** Whether so many folders around a deleted entry are more than the bin takes, as far as is known. */
  isBinFull(folders: number): boolean {
    const most = farEntries(this.#options.limitMib(), this.#options.limitEntries());
    return folders > 1 && this.#used().entries + folders >= most;
  }

  /**
   * Counts the folders that the bin makes around a deleted entry. One is always made, so that a full server can be emptied. Throws
   * the refusal where more would take the server far above its limit of entries.
   */
  async takeForBin(folders: number): Promise<void> {
    const now = performance.now();
    // Somebody who deletes thousands of files waits for no more than a measurement now and then.
    if (this.isBinFull(folders) && now >= this.#measuredForBinMs + BIN_PAUSE_MS) {
      this.#measuredForBinMs = now;
      await this.#measureAgain();
    }
    if (this.isBinFull(folders)) throw new FileRefusal('quota', BIN_FULL);
    this.#add({ ...rounded({ bytes: 0, entries: folders }), endedAtMs: performance.now() });
  }

  /** The space that is known to be in use. */
  #used(): Space {
    const { bytes, entries } = this.#use ?? { bytes: 0, entries: 0 };
    return { bytes: bytes + this.#added.bytes, entries: entries + this.#added.entries };
  }

  /** Why so much more does not fit, in a sentence; null if it does. */
  #lack(space: Space): string | null {
    const [limitMib, limitEntries] = [this.#options.limitMib(), this.#options.limitEntries()];
    if (limitMib === 0 && limitEntries === 0) return null;
    if (this.#use === null) return 'The disk use of the server is not measured yet. Try again.';
    const over = diskRefusal(this.#use, limitMib, limitEntries);
    if (over !== null) return over;
    const { bytes, entries } = rounded(space);
    const used = this.#used();
    const most = entryLimit(limitMib, limitEntries);
    if (used.entries + entries > most) {
      return `The server may have ${most} files and folders, and this would be more.`;
    }
    if (limitMib === 0 || used.bytes + bytes <= limitMib * MIB) return null;
    const left = Math.max(0, Math.floor((limitMib * MIB - used.bytes) / MIB));
    return `The server may have ${limitMib} MiB on the disk; ${left} MiB are left, and this takes ${Math.ceil(bytes / MIB)} MiB.`;
  }

  /**
   * Measures the folder from now on. One at a time, and those that come meanwhile share the next: many refused writes at once take
   * no more of the pace that all servers of the node share than one.
   */
  #measureAgain(): Promise<void> {
    this.#next ??= this.#measuring.then(() => {
      this.#next = null;
      this.#measuring = this.#options.measure().then(ignore, ignore);
      return this.#measuring;
    });
    return this.#next;
  }
}

/**
 * The grant of a file that grows, of which a larger one takes the place. A stream may be cut off while the disk is measured for it:
 * what is granted after the end is given back.
 */
export class GrowingGrant {
  readonly #quota: Quota;
  #granted: Granted | null = null;
  #isClosed = false;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  get isTaken(): boolean {
    return this.#granted !== null;
  }

  async take(space: Space): Promise<void> {
    const granted = await this.#quota.take(space);
    if (this.#isClosed) granted.close({ bytes: 0, entries: 0 });
    else this.#granted = granted;
  }

  /** Counts what was used of the grant, and gives back the rest. */
  giveBack(used: Space): void {
    this.#granted?.close(used);
    this.#granted = null;
  }

  /** The same, for good. */
  close(used: Space): void {
    this.#isClosed = true;
    this.giveBack(used);
  }
}

function ignore(): void {}

/** Each file takes whole blocks, as `measure.ts` counts. */
function rounded({ bytes, entries }: Space): Space {
  if (bytes <= 0 && entries <= 0) return { bytes: 0, entries: 0 };
  const blocks = Math.ceil(Math.max(0, bytes) / ENTRY_BYTES) * ENTRY_BYTES;
  return { bytes: Math.max(blocks, entries * ENTRY_BYTES), entries };
}
