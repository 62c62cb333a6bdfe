import { parsePath, type FilePath } from '@portcullis/core/game-servers/files/path.ts';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import type { FileAnswer } from '@portcullis/link/messages/files.ts';
import type { SftpAdmitted, SftpSessionRef } from '@portcullis/link/messages/sftp.ts';
import { type OpenFile, openToRead, openToWrite } from '../files/operations/open-file.ts';
import { list } from '../files/operations/list.ts';
import { deleteFiles } from '../files/operations/bin.ts';
import { makeFolder, move, setMode } from '../files/operations/change.ts';
import { isEmptyFolder, statPath } from '../files/operations/stat.ts';
import type { Gate } from '../files/gate.ts';
import { FileRefusal } from '../files/refusal.ts';
import type { FileService } from '../files/service.ts';
import type { Done } from './activity.ts';
import type { ReadBytes, SftpEntry, SftpOperation, SftpResult } from './messages.ts';

const READ = 0x01;
const WRITE = 0x02;
const CREATE = 0x08;
const TRUNCATE = 0x10;
const EXCLUSIVE = 0x20;
const MAX_READ = 256 * 1024;
/** Bytes of a file that are sent with its handle. */
const START_BYTES = 32 * 1024;
/** Entries of one answer. */
const PAGE = 100;
/** Entries of a folder; more are not listed. */
const MAX_ENTRIES = 100_000;

/** An open folder, with the entries that wait in memory until they are read. */
export interface Listing {
  readonly server: string;
  /** Null: given up, because others needed the memory. */
  entries: readonly SftpEntry[] | null;
  /** The next entry to be read. */
  at: number;
}

/** An open file with its path. */
interface OpenPath {
  readonly file: OpenFile;
  readonly path: string;
}

const GIVEN_UP = 'Too many large folders are open, so this one was closed. Try again.';
const DONE: SftpResult = { kind: 'done' };
/** The names of the activity for operations that change something. */
const ACTIONS: Readonly<Partial<Record<SftpOperation['kind'], Done['action']>>> = {
  setMode: 'files.mode',
  remove: 'files.delete',
  makeFolder: 'files.folder',
  removeFolder: 'files.delete',
  rename: 'files.move',
};

export interface SessionOptions {
  /** Called for each operation that changed something, or was refused. */
  readonly record: (done: Done) => void;
  readonly listings: Listings;
}

/** A person that is connected to the files of one server. All that it does goes through the gate. */
export class SftpSession {
  readonly ref: SftpSessionRef;
  readonly #files: FileService;
  readonly #record: (done: Done) => void;
  readonly #open = new Map<number, OpenPath | Listing>();
  readonly #listings: Listings;
  readonly #opening = new Set<Promise<unknown>>();
  readonly #closing = new Set<Promise<unknown>>();
  /** Every gate of the session has this set, so that what ends in it ends in all of them at once. */
  readonly #rights: Set<FileRight>;
  #lastHandle = 0;
  #end: 'lost' | 'forbidden' | null = null;

  constructor(
    files: FileService,
    { session, rights }: Pick<SftpAdmitted, 'session' | 'rights'>,
    { record, listings }: SessionOptions,
  ) {
    this.ref = session;
    this.#files = files;
    this.#record = record;
    this.#listings = listings;
    this.#rights = new Set(rights);
  }

  /** Never rejects: refusals are results. */
  async perform(operation: SftpOperation): Promise<SftpResult> {
    const work = this.#perform(operation);
    if (operation.kind === 'open' || operation.kind === 'openFolder') this.#opening.add(work);
    try {
      const result = await work;
      this.#note(operation, null);
      return result;
    } catch (error) {
      const { code, reason } = this.#files.refusalOf(this.ref.server, error);
      this.#note(operation, code);
      return { kind: 'refused', code, reason };
    } finally {
      this.#opening.delete(work);
    }
  }

  /**
   * Takes the rights that the person has now, at once: a disk that is slow for one person holds no other one's rights. What is
   * open by a right that has gone can no longer be used, and is closed in the background.
   */
  narrow(rights: readonly FileRight[]): void {
    this.#rights.clear();
    for (const right of rights) this.#rights.add(right);
    for (const [handle, open] of this.#open) {
      if (this.#rights.has(rightOf(open))) continue;
      this.#open.delete(handle);
      const closing = this.#finish(open, 'forbidden')
        .catch(() => undefined)
        .finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }

  /** Closes what is open. */
  async close(end: 'lost' | 'forbidden'): Promise<void> {
    this.#end ??= end;
    await Promise.allSettled(this.#opening);
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(all.map((open) => this.#finish(open, end)));
    await Promise.allSettled(this.#closing);
  }

  async #perform(operation: SftpOperation): Promise<SftpResult> {
    if (this.#end !== null) throw new FileRefusal('forbidden', 'This connection has ended.');
    switch (operation.kind) {
      case 'open':
        return this.#openFile(operation.path, operation.flags);
      case 'read': {
        const { offset, length } = operation;
        return readPart(this.#file(operation.handle), offset, Math.min(length, MAX_READ));
      }
      case 'write':
        await this.#file(operation.handle).write(operation.offset, operation.data);
        return DONE;
      case 'statOpen':
        return { kind: 'entry', entry: await this.#file(operation.handle).stat() };
      case 'setOpen': {
        const file = this.#file(operation.handle);
        if (operation.size !== null) await file.setSize(operation.size);
        if (operation.mode !== null) file.setMode(operation.mode);
        return DONE;
      }
      case 'close':
        return this.#close(operation.handle);
      case 'readFolder':
        return this.#readFolder(operation.handle);
      case 'stat':
      case 'setMode':
      case 'openFolder':
      case 'remove':
      case 'makeFolder':
      case 'removeFolder':
      case 'rename':
      default:
        return this.#use((gate) =>
          performOnPath(gate, operation, (entries) =>
            this.#keep({ server: this.ref.server, entries, at: 0 }),
          ),
        );
    }
  }

  #use<T>(work: (gate: Gate) => Promise<T>): Promise<T> {
    return this.#files.use(this.ref.server, { rights: this.#rights }, work);
  }

  async #openFile(text: string, flags: number): Promise<SftpResult> {
    const path = (flags & CREATE) === 0 ? pathOf(text) : newPathOf(text);
    if ((flags & WRITE) === 0) return this.#use((gate) => this.#openToRead(gate, path, text));
    const { opening } = await this.#use(async (gate) => {
      if ((flags & READ) !== 0) gate.require('file.read-content');
      const file = openToWrite(gate, path, {
        create: (flags & CREATE) !== 0,
        truncate: (flags & TRUNCATE) !== 0,
        exclusive: (flags & EXCLUSIVE) !== 0,
      });
      gate.hold(file);
      // Without a slot of the server's operations, because it copies what a file has that goes on.
      return { opening: file };
    });
    return this.#keepFile(await opening, text);
  }

  /** Opens a file to read it, and reads its start, which is all of most files. */
  async #openToRead(gate: Gate, path: FilePath, text: string): Promise<SftpResult> {
    const file = await openToRead(gate, path);
    const opened = await this.#keepFile(file, text);
    // A read of the client words a failure.
    const start = await readPart(file, 0, START_BYTES).catch(() => null);
    return start === null ? opened : { ...opened, start };
  }

  async #keepFile(file: OpenFile, path: string): Promise<SftpResult & { readonly kind: 'handle' }> {
    if (this.#rights.has(file.right)) return this.#keep({ file, path });
    await file.close('forbidden');
    const detail = `The right ${file.right} to the files of the server ended while this was opened.`;
    throw new FileRefusal('forbidden', detail);
  }

  #keep(open: OpenPath | Listing): SftpResult & { readonly kind: 'handle' } {
    if ('entries' in open) this.#listings.take(open);
    this.#lastHandle += 1;
    this.#open.set(this.#lastHandle, open);
    return { kind: 'handle', handle: this.#lastHandle };
  }

  #file(handle: number): OpenFile {
    const open = this.#open.get(handle);
    if (open === undefined || 'entries' in open) throw closed();
    return open.file;
  }

  async #close(handle: number): Promise<SftpResult> {
    const open = this.#open.get(handle);
    if (open === undefined) throw closed();
    this.#open.delete(handle);
    await this.#finish(open, 'whole');
    return DONE;
  }

  async #finish(open: OpenPath | Listing, end: Parameters<OpenFile['close']>[0]): Promise<void> {
    if ('entries' in open) {
      this.#listings.release(open);
      return;
    }
    const done = { action: 'files.write', path: open.path } as const;
    try {
      if (await open.file.close(end)) this.#record({ ...done, refused: null });
    } catch (error) {
      const { code } = this.#files.refusalOf(this.ref.server, error);
      this.#record({ ...done, refused: code });
      throw error;
    }
  }

  #readFolder(handle: number): SftpResult {
    const open = this.#open.get(handle);
    if (open === undefined || !('entries' in open)) throw closed();
    if (open.entries === null) throw new FileRefusal('busy', GIVEN_UP);
    if (open.at >= open.entries.length) return { kind: 'entries', entries: null };
    const entries = open.entries.slice(open.at, open.at + PAGE);
    open.at += PAGE;
    return { kind: 'entries', entries };
  }

  #note(operation: SftpOperation, refused: Done['refused']): void {
    if (operation.kind === 'rename') {
      this.#record({ action: 'files.move', path: operation.from, to: operation.to, refused });
      return;
    }
    const isRefusedWrite = operation.kind === 'open' && (operation.flags & WRITE) !== 0 && refused;
    const action = isRefusedWrite ? 'files.write' : ACTIONS[operation.kind];
    if (action !== undefined && 'path' in operation)
      this.#record({ action, path: operation.path, refused });
  }
}

/** The open folders of all sessions of a node, which hold so many entries together. */
export class Listings {
  readonly #limit: number;
  /** The oldest first. */
  readonly #open = new Set<Listing>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Takes one more. Where there are too many entries, the server that holds the most loses its oldest folders, so that the people
   * of one server keep out nobody of another. Throws a refusal if that is its own server.
   */
  take(listing: Listing): void {
    const added = lengthOf(listing);
    for (;;) {
      const held = this.#heldByServer();
      const all = [...held.values()].reduce((sum, count) => sum + count, 0);
      if (all + added <= this.#limit) break;
      const own = (held.get(listing.server) ?? 0) + added;
      const [most] = [...held].toSorted(([, a], [, b]) => b - a);
      if (most === undefined || most[1] <= own)
        throw new FileRefusal(
          'busy',
          'Too many large folders are open. Close some, and try again.',
        );
      this.#giveUpOldest(most[0]);
    }
    this.#open.add(listing);
  }

  /** No-op for one that was given up. */
  release(listing: Listing): void {
    this.#open.delete(listing);
  }

  #heldByServer(): Map<string, number> {
    const held = new Map<string, number>();
    for (const one of this.#open) held.set(one.server, (held.get(one.server) ?? 0) + lengthOf(one));
    return held;
  }

  #giveUpOldest(server: string): void {
    for (const one of this.#open) {
      if (one.server !== server) continue;
      this.#open.delete(one);
      one.entries = null;
      return;
    }
  }
}

function lengthOf({ entries }: Listing): number {
  return entries?.length ?? 0;
}

/** The right by which something is open. */
function rightOf(open: OpenPath | Listing): FileRight {
  return 'entries' in open ? 'file.read' : open.file.right;
}

type PathOperation = Exclude<
  SftpOperation,
  { kind: 'open' | 'read' | 'write' | 'statOpen' | 'setOpen' | 'close' | 'readFolder' }
>;

async function performOnPath(
  gate: Gate,
  operation: PathOperation,
  keep: (entries: readonly SftpEntry[]) => SftpResult,
): Promise<SftpResult> {
  switch (operation.kind) {
    case 'stat':
      return { kind: 'entry', entry: await statPath(gate, pathOf(operation.path)) };
    case 'openFolder': {
      const all = { sort: 'name', descending: false, offset: 0, limit: MAX_ENTRIES } as const;
      const path = checked(operation.path);
      const { entries } = await list(gate, { kind: 'list', path, ...all, withContent: false });
      return keep(entries);
    }
    case 'setMode': {
      const file = { path: checked(operation.path), mode: operation.mode & 0o777 };
      return only(await setMode(gate, { kind: 'setMode', files: [file] }));
    }
    case 'makeFolder':
      newPathOf(operation.path);
      return only(await makeFolder(gate, { kind: 'makeFolder', path: operation.path }));
    case 'rename': {
      newPathOf(operation.to);
      const moves = [{ from: checked(operation.from), to: operation.to }];
      return only(await move(gate, { kind: 'move', moves, replace: false }));
    }
    case 'remove':
    case 'removeFolder':
    default:
      return remove(gate, operation.path, operation.kind === 'removeFolder');
  }
}

async function remove(gate: Gate, text: string, isFolder: boolean): Promise<SftpResult> {
  gate.require('file.delete');
  const path = pathOf(text);
  if (isFolder) {
    if (!(await isEmptyFolder(gate, path)))
      throw new FileRefusal('exists', `${text} is not empty.`);
  } else {
    const { folder, name } = await gate.place(path, 'file.delete');
    const stat = await gate.about(path, () => folder.stat(name));
    if (stat === null) throw new FileRefusal('not_found', `There is no ${text}.`);
    if (stat.isDirectory()) throw new FileRefusal('impossible', `${text} is a folder.`);
  }
  const deletion = { kind: 'delete', paths: [text], forGood: false } as const;
  // A client deletes a folder file by file, which the bin of a full server cannot keep.
  return only(await deleteFiles(gate, deletion, { isForGoodAtFull: true }));
}

async function readPart(file: OpenFile, offset: number, length: number): Promise<ReadBytes> {
  const data = await file.read(offset, length);
  return { kind: 'data', data, isEnd: data === null || file.endsAt(offset + data.length) };
}

/** The answer of an operation on one path. */
function only(answer: FileAnswer): SftpResult {
  const [failed] = answer.kind === 'done' ? answer.failed : [];
  if (failed !== undefined) throw new FileRefusal(failed.code, failed.reason);
  return DONE;
}

function pathOf(text: string): FilePath {
  const path = parsePath(text);
  if (path.ok) return path.value;
  throw new FileRefusal('not_found', `The path ${path.reason}.`);
}

/** The character that the library puts in the place of bytes that are no UTF-8. */
const REPLACED = '\uFFFD';

/** The path of what is made. Two names that differ only in such bytes would be one. */
function newPathOf(text: string): FilePath {
  if (!text.includes(REPLACED)) return pathOf(text);
  throw new FileRefusal('impossible', 'The name is not UTF-8: set your program to UTF-8.');
}

function checked(text: string): string {
  pathOf(text);
  return text;
}

function closed(): FileRefusal {
  return new FileRefusal('not_found', 'This file is not open.');
}
