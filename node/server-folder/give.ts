import { type BigIntStats, constants, type Dir } from 'node:fs';
import {
  chmod,
  copyFile,
  type FileHandle,
  lchown,
  lstat,
  open,
  opendir,
  rename,
  unlink,
} from 'node:fs/promises';
import type { Owner } from './folder.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, COPYFILE_EXCL, COPYFILE_FICLONE } =
  constants;
/** include/uapi/asm-generic/fcntl.h; Node has no name for it. Opens an entry of any type without touching it. */
const O_PATH = 0o10000000;
const SET_ID = 0o6000n;
/** Each level of folders holds two descriptors. */
const MAX_DEPTH = 512;
/** Concurrent calls of the file system. */
const BATCH = 32;
/** Files with several names that wait for their other names. */
const MAX_LINKED = 1_000_000;
/** The private mode of a server's folder. */
export const FOLDER_MODE = 0o700;
const SHOWN = 200;

/** Everything that was found in a folder and changed beyond its owner. */
export interface Given {
  /** Set-user-id and set-group-id bits that were cleared. */
  readonly cleared: number;
  /**
   * Devices, and names of files that have other names outside of the folder and are not the server's, which were
   * removed.
   */
  readonly removed: number;
  /** The server's own files with other names outside of the folder, in whose place a copy is now. */
  readonly copied: number;
}

/** Something in the folder could not be given to the server; the message says what and why. */
export class NotGiven extends Error {
  override readonly name = 'NotGiven';
}

/** The account of all servers in earlier versions. */
export const SHARED_UID = 25_565;

export interface Gift {
  readonly owner: Owner;
  /** Accounts whose files in the folder were the server's before, besides `SHARED_UID`. */
  readonly formerUids?: readonly number[];
  readonly maxDepth?: number;
  /** Ends it in the middle; rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Gives everything in a folder to an account. Nothing may run in the folder, and nobody else may reach it, because until
 * an entry was visited it may be a set-user-id program of root. The content is hostile:
 *
 * - Every entry is reached from its parent's descriptor, and no link is followed, however deep the folder is.
 * - Set-user-id and set-group-id bits go first, then the owner changes, with which the kernel drops capabilities of files.
 * - A file with several names is touched only once all of them were seen in the folder: another name may be a file of the
 *   host. If some stay unseen, the name is removed, or replaced by a copy if the file was the server's already.
 * - Devices are removed. Symbolic links, pipes and sockets stay.
 *
 * Rejects with `NotGiven`, after which the folder must stay closed.
 */
export async function giveFolder(path: string, gift: Gift): Promise<Given> {
  const walk = new Walk(gift);
  try {
    await walk.run(path);
    return walk.given;
  } catch (error) {
    if (error instanceof NotGiven || gift.signal?.aborted) throw error;
    throw new NotGiven(`${reasonOf(error)}.`, { cause: error });
  }
}

interface Level {
  readonly handle: FileHandle;
  readonly entries: Dir;
  readonly name: Buffer;
}

class Walk {
  readonly given = { cleared: 0, removed: 0, copied: 0 };
  readonly #owner: Owner;
  readonly #ownUids: ReadonlySet<bigint>;
  readonly #maxDepth: number;
  readonly #signal: AbortSignal | undefined;
  readonly #levels: Level[] = [];
  /** How many names were seen of files that have more, by device and inode. */
  readonly #linked = new Map<string, bigint>();
  /** The second walk visits only these. */
  #isSecond = false;
  /** Numbers the names of copies that are being made. */
  #copies = 0;

  constructor({ owner, formerUids = [], maxDepth = MAX_DEPTH, signal }: Gift) {
    this.#owner = owner;
    this.#ownUids = new Set([owner.uid, SHARED_UID, ...formerUids].map(BigInt));
    this.#maxDepth = maxDepth;
    this.#signal = signal;
  }

  async run(path: string): Promise<void> {
    const root = await this.#try(Buffer.from(path), () =>
      open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
    );
    try {
      await this.#visitAll(root);
      if (this.#linked.size > 0) {
        this.#isSecond = true;
        await this.#visitAll(root);
      }
      const { uid, gid } = this.#owner;
      await this.#try(Buffer.from(path), async () => {
        await root.chmod(FOLDER_MODE);
        await root.chown(uid, gid);
      });
    } finally {
      await root.close();
    }
  }

  async #visitAll(root: FileHandle): Promise<void> {
    try {
      // A handle of its own, which is closed with its level.
      await this.#enter(Buffer.from(`/proc/self/fd/${root.fd}/.`), Buffer.alloc(0));
      while (this.#levels.length > 0) await this.#step();
    } finally {
      for (const level of this.#levels.splice(0)) await close(level);
    }
  }

  /** Visits a batch of the deepest open folder, and descends into the folders of the batch. */
  async #step(): Promise<void> {
    this.#signal?.throwIfAborted();
    const level = this.#levels.at(-1) as Level;
    const names: Buffer[] = [];
    while (names.length < BATCH) {
      const entry = await level.entries.read();
      if (entry === null) break;
      // As bytes, because names need not be UTF-8.
      names.push(entry.name as unknown as Buffer);
    }
    if (names.length === 0) {
      this.#levels.pop();
      await close(level);
      return;
    }
    const visits = await Promise.allSettled(
      names.map((name) => this.#try(name, () => this.#visit(level, name))),
    );
    // Only now, when none of them is at work: the level is closed after a failure, and its descriptor's number used again.
    const failure = visits.find((visit) => visit.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    const depth = this.#levels.length;
    for (const [index, visit] of visits.entries()) {
      const name = names[index] as Buffer;
      if (visit.status !== 'fulfilled' || !visit.value) continue;
      await this.#try(name, () => this.#enter(at(level, name), name));
      // Completed before its siblings, so that only one folder of each level is open.
      while (this.#levels.length > depth) await this.#step();
    }
  }

  /** Returns true for a folder to descend into. */
  async #visit(level: Level, name: Buffer): Promise<boolean> {
    const path = at(level, name);
    const stat = await lstat(path, { bigint: true });
    if (stat.isDirectory()) return true;
    if (stat.isBlockDevice() || stat.isCharacterDevice()) {
      await this.#remove(path);
    } else if (this.#isSecond) {
      if (this.#linked.has(idOf(stat))) await this.#separate(level, path, stat);
    } else if (stat.nlink === 1n || this.#isWhole(stat)) {
      await this.#give(path, stat);
    }
    return false;
  }

  /** Whether all names of a file with several were seen in the folder. */
  #isWhole(stat: BigIntStats): boolean {
    const id = idOf(stat);
    const seen = (this.#linked.get(id) ?? 0n) + 1n;
    if (seen >= stat.nlink) {
      this.#linked.delete(id);
      return true;
    }
    if (this.#linked.size >= MAX_LINKED)
      throw new NotGiven('It holds too many files with several names.');
    this.#linked.set(id, seen);
    return false;
  }

  async #give(path: Buffer, stat: BigIntStats): Promise<void> {
    if ((stat.mode & SET_ID) !== 0n && !stat.isSymbolicLink()) await this.#clear(path, stat);
    try {
      await lchown(path, this.#owner.uid, this.#owner.gid);
    } catch (error) {
      // What the operator mounted there read-only is not the install's.
      if (codeOf(error) !== 'EROFS') throw error;
    }
  }

  async #clear(path: Buffer, { mode }: BigIntStats): Promise<void> {
    const handle = await open(path, O_PATH | O_NOFOLLOW);
    try {
      // A descriptor of O_PATH takes no fchmod, but its link in /proc is the entry itself.
      await chmod(`/proc/self/fd/${handle.fd}`, Number(mode & 0o1777n));
      this.given.cleared += 1;
    } catch (error) {
      if (codeOf(error) !== 'EROFS') throw error;
    } finally {
      await handle.close();
    }
  }

  /** Ends what the folder has in common with places outside of it, which may not change with it. */
  async #separate(level: Level, path: Buffer, stat: BigIntStats): Promise<void> {
    if (!stat.isFile() || !this.#ownUids.has(stat.uid)) return this.#remove(path);
    this.#copies += 1;
    const copy = at(level, Buffer.from(`.portcullis-copy-${this.#copies}`));
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      await unlink(copy).catch(ignoreMissing);
      const flags = COPYFILE_EXCL | COPYFILE_FICLONE;
      await copyFile(`/proc/self/fd/${file.fd}`, copy, flags);
      const made = await open(copy, O_RDONLY | O_NOFOLLOW);
      try {
        await made.chmod(Number(stat.mode & 0o777n));
        await made.chown(this.#owner.uid, this.#owner.gid);
        await made.utimes(stat.atime, stat.mtime);
      } finally {
        await made.close();
      }
      await rename(copy, path);
      this.given.copied += 1;
    } finally {
      await file.close();
    }
  }

  async #remove(path: Buffer): Promise<void> {
    await unlink(path);
    this.given.removed += 1;
  }

  async #enter(path: Buffer, name: Buffer): Promise<void> {
    if (this.#levels.length >= this.#maxDepth)
      throw new NotGiven(`Its folders are nested more than ${this.#maxDepth} deep.`);
    const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
    const handle = await open(path, flags);
    try {
      const isRoot = this.#levels.length === 0;
      if (!isRoot && !this.#isSecond) await this.#giveDirectory(handle);
      const entries = await opendir(`/proc/self/fd/${handle.fd}`, { encoding: 'buffer' as never });
      this.#levels.push({ handle, entries, name });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #giveDirectory(handle: FileHandle): Promise<void> {
    try {
      const { mode } = await handle.stat({ bigint: true });
      if ((mode & SET_ID) !== 0n) {
        await handle.chmod(Number(mode & 0o1777n));
        this.given.cleared += 1;
      }
      await handle.chown(this.#owner.uid, this.#owner.gid);
    } catch (error) {
      if (codeOf(error) !== 'EROFS') throw error;
    }
  }

  async #try<T>(name: Buffer, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NotGiven) throw error;
      const names = [...this.#levels.map((level) => level.name), name].filter((one) => one.length);
      const path = Buffer.concat(names.flatMap((one) => [one, Buffer.from('/')]))
        .toString()
        .slice(0, -1);
      const shown = path.length > SHOWN ? `…${path.slice(-SHOWN)}` : path;
      throw new NotGiven(`${reasonOf(error)}: ${JSON.stringify(shown)}.`, { cause: error });
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EPERM: 'The owner of a file cannot be changed (is it immutable? see lsattr)',
  EACCES: 'A part of it may not be read',
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk is full',
  ENOENT: 'It is missing',
  ELOOP: 'It is a link',
  ENOTDIR: 'It is not a folder',
  EMFILE: 'The node has too many open files',
};

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return REASONS[code ?? ''] ?? `The file system reports ${code ?? 'an unknown error'}`;
}

function at({ handle }: Level, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${handle.fd}/`), name]);
}

function idOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

async function close({ handle, entries }: Level): Promise<void> {
  await entries.close().catch(() => undefined);
  await handle.close();
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
