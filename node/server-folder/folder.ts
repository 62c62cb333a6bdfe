import {
  type BigIntStats,
  closeSync,
  constants,
  fchown,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
} from 'node:fs';
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { renameToFree } from './rename.ts';

const syncDescriptor = promisify(fsync);
const giveDescriptor = promisify(fchown);
/** The descriptor of a folder that is closed. */
const CLOSED = -1;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY, O_CREAT, O_EXCL } = constants;
/** include/uapi/asm-generic/fcntl.h; Node has no name for it. Opens an entry of any type without touching it. */
const O_PATH = 0o10000000;

/** The name of a file that is being written. */
const NEW_FILE = '.portcullis-new';
/** Names that one call of the kernel reads. */
const BATCH = 512;

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Text, or bytes where a name need not be UTF-8. */
export type Name = string | Uint8Array;

/** A name that was read from a folder. */
export interface Entry {
  readonly name: Buffer;
  readonly isFolder: boolean;
}

/** Says why something in a folder is left untouched. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** The code of the system call that a refusal is of, such as `ENOENT`; undefined for a rule of this module. */
export function refusedCode({ cause }: Refusal): string | undefined {
  return cause === undefined ? undefined : codeOf(cause);
}

/**
 * An open directory of a game server. The game owns its content and may replace any part at any moment, so no multi-part
 * path is ever resolved: each name is opened from its parent's descriptor without following links (`/proc/self/fd` is the
 * directory itself, wherever it is moved). So the file that was checked is the file that is used.
 *
 * Node has no `openat`, so this needs a mounted `/proc`, and every open folder holds a descriptor. Steps that only look names
 * up are done at once: a path has many of them, and each would cost ten times as much through the pool of threads. What it cannot give is
 * one step for "if the file is still this one, replace it": between a check of an existing file and the rename over it a
 * game may write the file, and that write is lost.
 */
export class Folder {
  /** Negative once it is closed, because another file may have the number then. */
  private descriptor: number;

  private constructor(descriptor: number) {
    this.descriptor = descriptor;
  }

  /** Opens the server's own folder; the path to it is trusted, but the folder must not be a link. */
  static async open(path: string): Promise<Folder> {
    return new Folder(openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }

  async close(): Promise<void> {
    const { descriptor } = this;
    this.descriptor = CLOSED;
    if (descriptor !== CLOSED) closeSync(descriptor);
  }

  /** A path of this directory, valid while it is open. */
  get path(): string {
    return `/proc/self/fd/${this.descriptor}`;
  }

  /** The same directory, with a descriptor of its own. */
  async again(): Promise<Folder> {
    return new Folder(openSync(`${this.path}/.`, O_RDONLY | O_DIRECTORY));
  }

  /** Whether another one is the same directory, wherever each was opened. */
  isSame(other: Folder): boolean {
    const [own, its] = [this, other].map(({ descriptor }) =>
      fstatSync(descriptor, { bigint: true }),
    );
    return own?.dev === its?.dev && own?.ino === its?.ino;
  }

  /** Opens a subdirectory; with `make`, creates it if it is missing. Returns null if it is missing. */
  async enter(name: Name, make: { readonly owner: Owner | null } | null): Promise<Folder | null> {
    let made = false;
    for (;;) {
      const found = this.enterNow(name);
      if (found !== null && made && make?.owner) await found.give(make.owner, name);
      // Created and deleted again by the game: not retried.
      if (found !== null || make === null || made) return found;
      await mkdir(this.at(name), 0o755).catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw refusalOf(error, name);
      });
      made = true;
    }
  }

  /** Gives this folder to an owner, and closes it if that fails. */
  private async give({ uid, gid }: Owner, name: Name): Promise<void> {
    try {
      await giveDescriptor(this.descriptor, uid, gid);
    } catch (error) {
      await this.close();
      throw refusalOf(error, name);
    }
  }

  private enterNow(name: Name): Folder | null {
    try {
      return new Folder(openSync(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw refusalOf(error, name);
    }
  }

  /** Creates a subdirectory. Refused with `EEXIST` if there is anything of this name. */
  async make(name: Name, owner: Owner | null, mode = 0o755): Promise<void> {
    await mkdir(this.at(name), mode).catch((error: unknown) => {
      throw refusalOf(error, name);
    });
    if (owner === null) return;
    const made = await this.enter(name, null);
    await made?.give(owner, name);
    await made?.close();
  }

  /** Whether there is an entry of this name, of any type: a link is one, wherever it leads. */
  async has(name: Name): Promise<boolean> {
    return this.statNow(name) !== null;
  }

  /** The properties of an entry, of a link its own. Null if it is missing. */
  async stat(name: Name): Promise<BigIntStats | null> {
    try {
      return await lstat(this.at(name), { bigint: true });
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw refusalOf(error, name);
    }
  }

  /** The same as `stat`, at once: thousands of small calls one after the other cost a tenth of as many promises. */
  statNow(name: Name): BigIntStats | null {
    try {
      return lstatSync(this.at(name), { bigint: true });
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw refusalOf(error, name);
    }
  }

  /** The entries in the order of the file system. */
  async *entries(): AsyncGenerator<Entry> {
    const options = { encoding: 'buffer' as never, bufferSize: BATCH };
    for await (const entry of await opendir(this.path, options)) {
      yield { name: entry.name as unknown as Buffer, isFolder: entry.isDirectory() };
    }
  }

  /**
   * Opens a regular file to read it; returns null if it is missing. Refuses any other type (opening a FIFO would block),
   * and a file with several names that the server does not own: its content could be another account's.
   */
  async openFile(name: Name, owner: Owner | null): Promise<OpenFile | null> {
    let handle: FileHandle;
    try {
      if (!lstatSync(this.at(name)).isFile()) throw new Refusal('it is not a regular file');
      handle = await open(this.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw refusalOf(error, name);
    }
    try {
      const stat = fstatSync(handle.fd, { bigint: true });
      if (!stat.isFile()) throw new Refusal('it is not a regular file');
      requireOwn(stat, owner);
      return { handle, stat };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Reads a regular file; returns null if it is missing. */
  async read(name: Name, maxBytes: number, owner: Owner | null): Promise<FileContent | null> {
    const file = await this.openFile(name, owner);
    if (file === null) return null;
    const { handle, stat } = file;
    try {
      if (stat.size > maxBytes) throw tooLarge(maxBytes);
      return { bytes: await readWhole(handle, maxBytes), mode: Number(stat.mode & 0o777n) };
    } finally {
      await handle.close();
    }
  }

  /** Replaces a file atomically. An existing entry of this name is replaced, never written through. */
  async write(name: Name, bytes: Buffer, mode: number, owner: Owner | null): Promise<void> {
    await this.remove(NEW_FILE);
    const handle = await this.create(NEW_FILE);
    try {
      await handle.writeFile(bytes);
      await finishFile(handle, mode, owner);
      await rename(this.at(NEW_FILE), this.at(name));
    } catch (error) {
      await this.remove(NEW_FILE).catch(() => undefined);
      throw refusalOf(error, name);
    } finally {
      await handle.close();
    }
  }

  /** Creates a file to write it. Refused with `EEXIST` if there is anything of this name. */
  async create(name: Name): Promise<FileHandle> {
    try {
      return await open(this.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    } catch (error) {
      throw refusalOf(error, name);
    }
  }

  /**
   * Opens a regular file of the agent's own to write on in it; returns null if it is missing. Refuses one with a second name,
   * which the game could have given it.
   */
  async openToGoOn(name: Name): Promise<OpenFile | null> {
    let handle: FileHandle;
    try {
      handle = await open(this.at(name), O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw refusalOf(error, name);
    }
    try {
      const stat = await handle.stat({ bigint: true });
      if (!stat.isFile()) throw new Refusal('it is not a regular file');
      if (stat.nlink > 1n) throw new Refusal('it has a second name');
      return { handle, stat };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * Gives an entry another name, in this folder or in another one of the same server. Refused with `EEXIST` if there is
   * anything of that name; with `replace`, a file there is replaced.
   */
  async move(name: Name, to: Folder, newName: Name, replace = false): Promise<void> {
    try {
      if (replace) await rename(this.at(name), to.at(newName));
      else renameToFree(this.at(name), to.at(newName));
    } catch (error) {
      throw refusalOf(error, name);
    }
  }

  /** Removes a file or link. No-op if it is missing. */
  async remove(name: Name): Promise<void> {
    await unlink(this.at(name)).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw refusalOf(error, name);
    });
  }

  /** Removes an empty directory. No-op if it is missing. */
  async removeFolder(name: Name): Promise<void> {
    await rmdir(this.at(name)).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw refusalOf(error, name);
    });
  }

  /** Sets the permissions of a regular file or directory, of a link never; set-uid and the like are left out always. */
  async setMode(name: Name, mode: number, owner: Owner | null): Promise<void> {
    let handle: FileHandle | null = null;
    try {
      handle = await open(this.at(name), O_PATH | O_NOFOLLOW);
      const stat = await handle.stat({ bigint: true });
      if (stat.isSymbolicLink()) throw new Refusal('it is a link');
      if (!stat.isFile() && !stat.isDirectory()) throw new Refusal('it is no file and no folder');
      if (stat.isFile()) requireOwn(stat, owner);
      // A descriptor of O_PATH takes no fchmod, but its link in /proc is the entry itself.
      await chmod(`/proc/self/fd/${handle.fd}`, mode & 0o777);
    } catch (error) {
      throw refusalOf(error, name);
    } finally {
      await handle?.close();
    }
  }

  /** Resolves when the names of this directory are on the disk. */
  async sync(): Promise<void> {
    await syncDescriptor(this.descriptor);
  }

  private at(name: Name): Buffer {
    const bytes = Buffer.from(name as Uint8Array);
    const text = bytes.toString('latin1');
    if (text === '' || text === '.' || text === '..' || /[/\0]/.test(text)) {
      throw new Refusal('it is not a file name');
    }
    return Buffer.concat([Buffer.from(`${this.path}/`), bytes]);
  }
}

/** A regular file that was checked; its reader closes it. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly stat: BigIntStats;
}

/** Gives a file that was written its owner and permissions, without set-uid and the like, and waits until it is on the disk. */
export async function finishFile(
  handle: FileHandle,
  mode: number,
  owner: Owner | null,
): Promise<void> {
  if (owner !== null) await handle.chown(owner.uid, owner.gid);
  await handle.chmod(mode & 0o777);
  await handle.datasync();
}

/** Throws for a file with several names that the server does not own. */
function requireOwn({ nlink, uid }: BigIntStats, owner: Owner | null): void {
  const own = owner?.uid ?? process.getuid?.() ?? 0;
  if (nlink > 1n && uid !== BigInt(own))
    throw new Refusal("it has a second name elsewhere, and is not the server's own");
}

export interface FileContent {
  readonly bytes: Buffer;
  /** Permissions without set-uid and the like. */
  readonly mode: number;
}

/** Reads from the start to the end; refuses more than this number of bytes. */
export async function readWhole(handle: FileHandle, maxBytes: number): Promise<Buffer> {
  const bytes = Buffer.alloc(Math.min(maxBytes + 1, 64 * 1024));
  const parts: Buffer[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, length);
    if (bytesRead === 0) return Buffer.concat(parts);
    length += bytesRead;
    // The file may have grown since its size was checked.
    if (length > maxBytes) throw tooLarge(maxBytes);
    parts.push(Buffer.from(bytes.subarray(0, bytesRead)));
  }
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal(`it is larger than ${Math.floor(maxBytes / 1024)} KiB`);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder is being removed',
  EEXIST: 'there is something of this name already',
  ENOTEMPTY: 'it is not empty',
  EINVAL: 'it would be inside itself',
  EXDEV: 'it is on another file system',
  EROFS: 'it is on a file system that is read-only',
  ELOOP: 'it is a link',
  ENOTDIR: 'a part of the path is a link or not a directory',
  EISDIR: 'it is a directory',
  ENXIO: 'it is not a regular file',
  EACCES: 'it may not be opened',
  EPERM: 'it may not be changed',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  ENAMETOOLONG: 'its name is too long',
};

function refusalOf(error: unknown, name: Name): Error {
  if (error instanceof Refusal) return error;
  const reason = REASONS[codeOf(error) ?? ''];
  const why = reason ?? `${Buffer.from(name as Uint8Array)}: ${codeOf(error) ?? 'unknown error'}`;
  return new Refusal(why, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** The folder of all servers' folders, below the state directory. */
export function serversFolder(stateDir: string): string {
  return join(stateDir, 'servers');
}

/** The path of a server's folder. */
export function serverFolder(stateDir: string, uuid: string): string {
  return join(serversFolder(stateDir), uuid);
}

/**
 * Whether a file is in a server's folder. A link on the way is not followed: what it leads to is the game's business, so it
 * counts as there.
 */
export async function isInFolder(root: string, path: string): Promise<boolean> {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  const last = names.pop() ?? '';
  let folder = await Folder.open(root);
  try {
    for (const name of names) {
      const next = await folder.enter(name, null);
      if (next === null) return false;
      await folder.close();
      folder = next;
    }
    return await folder.has(last);
  } catch (error) {
    if (error instanceof Refusal) return true;
    throw error;
  } finally {
    await folder.close();
  }
}
