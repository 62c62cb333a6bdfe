import type { Denylist } from '@portcullis/core/game-servers/files/denylist.ts';
import {
  type FilePath,
  formatPath,
  nameFromBytes,
  nameToBytes,
  RESERVED_NAME,
} from '@portcullis/core/game-servers/files/path.ts';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import type { FileAnswer } from '@portcullis/link/messages/files.ts';
import type { Limiter } from '@portcullis/link/limiter.ts';
import { Folder, type Name, type Owner } from '../server-folder/folder.ts';
import type { JobHolder, JobOrder, Jobs, RunningJob } from './jobs.ts';
import type { Granted, Quota } from './quota.ts';
import type { StreamEnd } from './streams/connect.ts';
import type { Received, Transfers } from './streams/transfers.ts';
import { aboutPath, FileRefusal, notFound } from './refusal.ts';
import { TreeWalk } from './tree.ts';

/** Folders in the reserved folder: deleted files, files that are being written, and uploads that may go on. */
export type WorkFolder = 'bin' | 'tmp' | 'uploads';

/** The files of one server, and what limits all of its callers together. */
export interface ServerFiles {
  readonly uuid: string;
  /** The path of its folder. */
  readonly folder: string;
  /** The owner of new files; null: the agent's own account. */
  readonly owner: Owner | null;
  readonly denylist: Denylist;
  readonly quota: Quota;
  readonly jobs: Jobs;
  readonly transfers: Transfers;
  /** Serialises the first steps of uploads: the end of an older one of the same file, and what was received of it. */
  readonly beginnings: Limiter;
  /** Serialises the last steps of writes, by `Gate.change`: a check of what is there, and the rename. */
  readonly changes: Limiter;
  /** Limits the copies of files that are opened to go on. */
  readonly copies: Limiter;
  /** Names in `tmp` that are in use. */
  readonly inUse: Set<string>;
  /** Empties `tmp` of what is not in use, in the background. */
  sweep(): void;
}

/** The caller that a gate is opened for. */
export interface Holder {
  readonly rights: ReadonlySet<FileRight>;
  /** Names it to control, which knows its rights later; null: control is not asked. */
  readonly caller: string | null;
}

/** The last name of a path, in its open folder. */
export interface Place {
  readonly path: FilePath;
  readonly folder: Folder;
  readonly name: Buffer;
}

/** An answer, or what waits for it and needs neither the gate nor a slot of the server any more. */
export type Performed = FileAnswer | (() => Promise<FileAnswer>);

/** The grant for folders of the agent's own, which no quota counts. */
const FREE: Granted = { close: () => undefined };
/** Entries that one check of a folder for denied files looks at. */
const MAX_CHECKED = 100_000;

/**
 * The one gate in front of a server's files, for one caller: rights, then the egg's denylist, then the quota, which the
 * operations take from here. Every door (the link, SFTP, archives) opens files by it and by nothing else, and every folder
 * that it opens is closed with it.
 */
export class Gate {
  readonly files: ServerFiles;
  readonly #root: Folder;
  /** Names the caller to control; null: control is not asked. */
  readonly caller: string | null;
  #rights: ReadonlySet<FileRight>;
  readonly #opened: Folder[] = [];
  readonly #work = new Map<WorkFolder, Folder>();
  readonly #holds: Promise<unknown>[] = [];

  private constructor(files: ServerFiles, root: Folder, { rights, caller }: Holder) {
    this.files = files;
    this.#root = root;
    this.#rights = rights;
    this.caller = caller;
  }

  static async open(files: ServerFiles, holder: Holder): Promise<Gate> {
    return new Gate(files, await Folder.open(files.folder), holder);
  }

  /** Closes every folder, after the work that `hold` named. */
  async close(): Promise<void> {
    // Such work may name more.
    for (let held = -1; held < this.#holds.length; ) {
      held = this.#holds.length;
      await Promise.allSettled(this.#holds);
    }
    for (const folder of this.#opened.splice(0)) await folder.close();
    await this.#root.close();
  }

  /** Keeps the gate open until this has settled. */
  hold(work: Promise<unknown>): void {
    this.#holds.push(work);
  }

  /**
   * Begins a job, which keeps the gate open beyond the call. It ends when the caller has one of these rights no longer.
   * Returns its id; throws a refusal.
   */
  begin(
    order: Pick<JobOrder, 'kind' | 'path' | 'rights'>,
    work: (job: RunningJob) => Promise<void>,
  ): string {
    for (const right of order.rights) this.require(right);
    const { id, ended } = this.files.jobs.begin({ ...order, holder: this.#holder() }, work);
    this.hold(ended);
    return id;
  }

  /** Begins a stream, which keeps the gate open beyond the call. One to the caller itself ends with this right. */
  beginStream(
    { id, isDirect }: StreamEnd,
    { key, right }: { readonly key: string | null; readonly right: FileRight },
    work: (signal: AbortSignal) => Promise<Received | null>,
  ): void {
    const watch = isDirect ? { holder: this.#holder(), right } : null;
    this.hold(this.files.transfers.begin(id, key, work, watch));
  }

  #holder(): JobHolder {
    return {
      caller: this.caller,
      narrow: (rights) => {
        this.#rights = rights;
      },
    };
  }

  require(right: FileRight): void {
    this.requireAny(right);
  }

  /** Returns the first of these rights that the caller has. */
  requireAny(...rights: readonly FileRight[]): FileRight {
    const held = rights.find((right) => this.#rights.has(right));
    if (held !== undefined) return held;
    const named = rights.join(' or ');
    throw new FileRefusal('forbidden', `This needs the right ${named} to the files of the server.`);
  }

  requireAllowed(path: FilePath): void {
    if (!this.files.denylist.denies(path)) return;
    throw new FileRefusal('denied', `The egg of the server denies ${formatPath(path)}.`);
  }

  /** Opens the folder of a path. */
  async folder(path: FilePath, right: FileRight): Promise<Folder> {
    this.require(right);
    this.requireAllowed(path);
    return this.#enter(path, false);
  }

  /**
   * Opens the folder that a path's last name is in; with `make`, creates the folders on the way, which needs the right to
   * create and counts in the quota.
   */
  async place(path: FilePath, right: FileRight, make = false): Promise<Place> {
    this.require(right);
    this.requireAllowed(path);
    const name = nameToBytes(path.at(-1) ?? '');
    if (name === null)
      throw new FileRefusal('impossible', 'This is the folder of the server itself.');
    const folder = await this.#enter(path.slice(0, -1), make);
    return { path, folder, name: Buffer.from(name) };
  }

  /** Runs work on a place and closes its folder then, for those that visit many. Refusals are worded. */
  async at<T>(
    path: FilePath,
    { right, make = false }: { readonly right: FileRight; readonly make?: boolean },
    work: (place: Place) => Promise<T>,
  ): Promise<T> {
    const place = await this.place(path, right, make);
    try {
      return await this.about(path, () => work(place));
    } finally {
      await this.#close(place.folder);
    }
  }

  /** Whether the server has a reserved folder. */
  hasWork(): Promise<boolean> {
    return this.#root.has(RESERVED_NAME);
  }

  /** A folder of the reserved one, which it creates. */
  async work(name: WorkFolder): Promise<Folder> {
    const known = this.#work.get(name);
    if (known !== undefined) return known;
    try {
      const folder = await this.#enterNames([RESERVED_NAME, name], () => FREE);
      this.#work.set(name, folder);
      return folder;
    } catch (error) {
      throw aboutPath(`${RESERVED_NAME}/${name}`, error);
    }
  }

  /** Runs work on a path, and words its refusals. */
  async about<T>(path: FilePath, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw aboutPath(formatPath(path), error);
    }
  }

  /**
   * Throws if anything in the folder of a place is denied where it is, or would be at one of these other paths. So no denied
   * file is moved, copied or deleted with a folder around it.
   */
  async requireTreeAllowed(place: Place, others: readonly FilePath[] = []): Promise<void> {
    const { denylist } = this.files;
    for (const other of others) this.requireAllowed(other);
    if (denylist.isEmpty) return;
    const walk = new TreeWalk({ maxEntries: MAX_CHECKED });
    for await (const { path } of walk.of(place.folder, place.name)) {
      for (const base of [place.path, ...others]) this.requireAllowed([...base, ...path]);
    }
    if (walk.complete) return;
    const detail = `${formatPath(place.path)} holds too much to check it against the denylist of the egg: take its parts one by one.`;
    throw new FileRefusal('denied', detail);
  }

  /**
   * Runs the last step of a change, one at a time of the server. Where the egg denies files, throws if the folder of a place was
   * moved since it was opened: the place may be denied by now.
   */
  change<T>(places: readonly Place[], work: () => Promise<T>): Promise<T> {
    return this.files.changes.run(async () => {
      if (!this.files.denylist.isEmpty)
        for (const place of places) await this.#requireUnmoved(place);
      return work();
    });
  }

  async #requireUnmoved({ path, folder }: Place): Promise<void> {
    const around = path.slice(0, -1);
    const found = await this.#enter(around, false);
    try {
      if (found.isSame(folder)) return;
      const detail = `${formatPath(around)} was moved meanwhile.`;
      throw new FileRefusal('impossible', detail);
    } finally {
      await this.#close(found);
    }
  }

  async #close(folder: Folder): Promise<void> {
    this.#opened.splice(this.#opened.indexOf(folder), 1);
    await folder.close();
  }

  async #enter(path: FilePath, make: boolean): Promise<Folder> {
    const names = path.map((name) => Buffer.from(nameToBytes(name) ?? []));
    const grant = (entries: number): Promise<Granted> => {
      this.require('file.create');
      return this.files.quota.take({ bytes: 0, entries });
    };
    return this.about(path, () => this.#enterNames(names, make ? grant : null));
  }

  /** Opens a folder; those that are missing are made if so many are granted. Null: none is made. */
  async #enterNames(
    names: readonly Name[],
    grant: ((entries: number) => Granted | Promise<Granted>) | null,
  ): Promise<Folder> {
    const { owner } = this.files;
    let folder = await this.#root.again();
    let granted: Granted | null = null;
    let made = 0;
    try {
      for (const [index, name] of names.entries()) {
        let next = await folder.enter(name, null);
        if (next === null && grant !== null) {
          granted ??= await grant(names.length - index);
          next = await folder.enter(name, { owner });
          made += 1;
        }
        if (next === null) throw notFound(names.map(spelling).join('/'));
        await folder.close();
        folder = next;
      }
    } catch (error) {
      await folder.close();
      throw error;
    } finally {
      granted?.close({ bytes: 0, entries: made });
    }
    this.#opened.push(folder);
    return folder;
  }
}

function spelling(name: Name): string {
  return typeof name === 'string' ? name : nameFromBytes(name);
}
