import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY, O_CREAT, O_EXCL } = constants;

/** The name of a file that is being written. */
const NEW_FILE = '.portcullis-new';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Says why something in a folder is left untouched. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/**
 * An open directory of a game server. The game owns its content and may replace any part at any moment, so no multi-part
 * path is ever resolved: each name is opened from its parent's descriptor without following links (`/proc/self/fd` is the
 * directory itself, wherever it is moved). So the file that was checked is the file that is used.
 */
export class Folder {
  private readonly handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.handle = handle;
  }

  /** Opens the server's own folder; the path to it is trusted, but the folder must not be a link. */
  static async open(path: string): Promise<Folder> {
    return new Folder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  /** A path of this directory, valid while it is open. */
  get path(): string {
    return `/proc/self/fd/${this.handle.fd}`;
  }

  /** Opens a subdirectory; with `make`, creates it if it is missing. Returns null if it is missing. */
  async enter(name: string, make: { readonly owner: Owner | null } | null): Promise<Folder | null> {
    let made = false;
    for (;;) {
      try {
        const handle = await open(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
        if (made && make?.owner) await handle.chown(make.owner.uid, make.owner.gid);
        return new Folder(handle);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw refusalOf(error, name);
        // Created and deleted again by the game: not retried.
        if (make === null || made) return null;
      }
      await mkdir(this.at(name), 0o755).catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw refusalOf(error, name);
      });
      made = true;
    }
  }

  /** Whether there is an entry of this name, of any type: a link is one, wherever it leads. */
  async has(name: string): Promise<boolean> {
    try {
      await lstat(this.at(name));
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      throw refusalOf(error, name);
    }
  }

  /**
   * Reads a regular file; returns null if it is missing. Refuses any other type (opening a FIFO would block), and a file
   * with several names that the server does not own: its content could be another account's.
   */
  async read(name: string, maxBytes: number, owner: Owner | null): Promise<FileContent | null> {
    let handle: FileHandle;
    try {
      if (!(await lstat(this.at(name))).isFile()) throw new Refusal('it is not a regular file');
      handle = await open(this.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw refusalOf(error, name);
    }
    try {
      const { mode, nlink, uid, size } = await handle.stat();
      if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
        throw new Refusal('it is not a regular file');
      }
      if (nlink > 1 && uid !== (owner?.uid ?? process.getuid?.())) {
        throw new Refusal("it has a second name elsewhere, and is not the server's own");
      }
      if (size > maxBytes) throw tooLarge(maxBytes);
      return { bytes: await readWhole(handle, maxBytes), mode: mode & 0o777 };
    } finally {
      await handle.close();
    }
  }

  /** Replaces a file atomically. An existing entry of this name is replaced, never written through. */
  async write(name: string, bytes: Buffer, mode: number, owner: Owner | null): Promise<void> {
    await this.remove(NEW_FILE);
    const handle = await this.create(NEW_FILE);
    try {
      await handle.writeFile(bytes);
      if (owner !== null) await handle.chown(owner.uid, owner.gid);
      await handle.chmod(mode);
      await handle.datasync();
      await rename(this.at(NEW_FILE), this.at(name));
    } catch (error) {
      await this.remove(NEW_FILE).catch(() => undefined);
      throw refusalOf(error, name);
    } finally {
      await handle.close();
    }
  }

  private async create(name: string): Promise<FileHandle> {
    try {
      return await open(this.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    } catch (error) {
      throw refusalOf(error, name);
    }
  }

  private async remove(name: string): Promise<void> {
    await unlink(this.at(name)).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw refusalOf(error, name);
    });
  }

  private at(name: string): string {
    if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
      throw new Refusal('it is not a file name');
    }
    return `${this.path}/${name}`;
  }
}

export interface FileContent {
  readonly bytes: Buffer;
  /** Permissions without set-uid and the like. */
  readonly mode: number;
}

async function readWhole(handle: FileHandle, maxBytes: number): Promise<Buffer> {
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
  EEXIST: 'it is being created by another process',
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

function refusalOf(error: unknown, name: string): Error {
  if (error instanceof Refusal) return error;
  const reason = REASONS[codeOf(error) ?? ''];
  const why = reason ?? `${name}: ${codeOf(error) ?? 'unknown error'}`;
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
