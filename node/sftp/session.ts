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
import type { SftpEntry, SftpOperation, SftpResult } from './messages.ts';

const READ = 0x01;
const WRITE = 0x02;
const CREATE = 0x08;
const TRUNCATE = 0x10;
const EXCLUSIVE = 0x20;
const MAX_READ = 256 * 1024;
/** Entries of one answer. */
const PAGE = 100;
/** Entries of a folder; more are not listed. */
const MAX_ENTRIES = 100_000;

interface OpenFolder {
  readonly entries: readonly SftpEntry[];
  at: number;
}

const DONE: SftpResult = { kind: 'done' };
/** Operations that change something: each leaves a line of activity. */
const CHANGES: ReadonlySet<SftpOperation['kind']> = new Set([
  'setMode',
  'remove',
  'makeFolder',
  'removeFolder',
  'rename',
]);

/** A person that is connected to the files of one server. All that it does goes through the gate. */
export class SftpSession {
  readonly ref: SftpSessionRef;
  readonly #actor: string;
  readonly #files: FileService;
  readonly #open = new Map<number, OpenFile | OpenFolder>();
  readonly #opening = new Set<Promise<unknown>>();
  #rights: ReadonlySet<FileRight>;
  #lastHandle = 0;
  #end: 'lost' | 'forbidden' | null = null;

  constructor(files: FileService, { session, actor, rights }: SftpAdmitted) {
    this.ref = session;
    this.#actor = actor;
    this.#files = files;
    this.#rights = new Set(rights);
  }

  /** Never rejects: refusals are results. */
  async perform(operation: SftpOperation): Promise<SftpResult> {
    const work = this.#perform(operation);
    if (operation.kind === 'open' || operation.kind === 'openFolder') this.#opening.add(work);
    try {
      const result = await work;
      if (CHANGES.has(operation.kind)) this.#record(operation, 'done');
      return result;
    } catch (error) {
      const { code, reason } = this.#files.refusalOf(this.ref.server, error);
      if (CHANGES.has(operation.kind)) this.#record(operation, code);
      return { kind: 'refused', code, reason };
    } finally {
      this.#opening.delete(work);
    }
  }

  /** Takes the rights that the person has now. What is open by one that has gone is closed. */
  async narrow(rights: readonly FileRight[]): Promise<void> {
    this.#rights = new Set(rights);
    await Promise.allSettled(this.#opening);
    for (const [handle, open] of this.#open) {
      if ('entries' in open || this.#rights.has(open.right)) continue;
      this.#open.delete(handle);
      await open.close('forbidden').catch(() => undefined);
    }
  }

  /** Closes what is open. */
  async close(end: 'lost' | 'forbidden'): Promise<void> {
    this.#end ??= end;
    await Promise.allSettled(this.#opening);
    const all = [...this.#open.values()];
    this.#open.clear();
    const files = all.flatMap((open) => ('entries' in open ? [] : [open]));
    await Promise.allSettled(files.map((file) => file.close(end)));
  }

  async #perform(operation: SftpOperation): Promise<SftpResult> {
    if (this.#end !== null) throw new FileRefusal('forbidden', 'This connection has ended.');
    switch (operation.kind) {
      case 'open':
        return this.#openFile(operation.path, operation.flags);
      case 'read': {
        const { offset, length } = operation;
        const data = await this.#file(operation.handle).read(offset, Math.min(length, MAX_READ));
        return { kind: 'data', data };
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
        return this.#use((gate) => performOnPath(gate, operation, (folder) => this.#keep(folder)));
    }
  }

  #use<T>(work: (gate: Gate) => Promise<T>): Promise<T> {
    return this.#files.use(this.ref.server, this.#rights, work);
  }

  #openFile(text: string, flags: number): Promise<SftpResult> {
    const path = pathOf(text);
    return this.#use(async (gate) => {
      if ((flags & WRITE) === 0) return this.#keep(await openToRead(gate, path));
      if ((flags & READ) !== 0) gate.require('file.read-content');
      const file = await openToWrite(gate, path, {
        create: (flags & CREATE) !== 0,
        truncate: (flags & TRUNCATE) !== 0,
        exclusive: (flags & EXCLUSIVE) !== 0,
      });
      this.#files.record(this.ref.server, this.#actor, {
        door: 'sftp',
        operation: 'write',
        path: text,
        outcome: 'begun',
      });
      return this.#keep(file);
    });
  }

  #keep(open: OpenFile | OpenFolder): SftpResult {
    this.#lastHandle += 1;
    this.#open.set(this.#lastHandle, open);
    return { kind: 'handle', handle: this.#lastHandle };
  }

  #file(handle: number): OpenFile {
    const open = this.#open.get(handle);
    if (open === undefined || 'entries' in open) throw closed();
    return open;
  }

  async #close(handle: number): Promise<SftpResult> {
    const open = this.#open.get(handle);
    if (open === undefined) throw closed();
    this.#open.delete(handle);
    if (!('entries' in open)) await open.close('whole');
    return DONE;
  }

  #readFolder(handle: number): SftpResult {
    const open = this.#open.get(handle);
    if (open === undefined || !('entries' in open)) throw closed();
    if (open.at >= open.entries.length) return { kind: 'entries', entries: null };
    const entries = open.entries.slice(open.at, open.at + PAGE);
    open.at += PAGE;
    return { kind: 'entries', entries };
  }

  #record(operation: SftpOperation, outcome: string): void {
    const path = 'path' in operation ? operation.path : 'from' in operation ? operation.from : '';
    const { kind } = operation;
    this.#files.record(this.ref.server, this.#actor, {
      door: 'sftp',
      operation: kind,
      path,
      outcome,
    });
  }
}

type PathOperation = Exclude<
  SftpOperation,
  { kind: 'open' | 'read' | 'write' | 'statOpen' | 'setOpen' | 'close' | 'readFolder' }
>;

async function performOnPath(
  gate: Gate,
  operation: PathOperation,
  keep: (folder: OpenFolder) => SftpResult,
): Promise<SftpResult> {
  switch (operation.kind) {
    case 'stat':
      return { kind: 'entry', entry: await statPath(gate, pathOf(operation.path)) };
    case 'openFolder': {
      const all = { sort: 'name', descending: false, offset: 0, limit: MAX_ENTRIES } as const;
      const path = checked(operation.path);
      const { entries } = await list(gate, { kind: 'list', path, ...all, withContent: false });
      return keep({ entries, at: 0 });
    }
    case 'setMode': {
      const file = { path: checked(operation.path), mode: operation.mode & 0o777 };
      return only(await setMode(gate, { kind: 'setMode', files: [file] }));
    }
    case 'makeFolder':
      return only(await makeFolder(gate, { kind: 'makeFolder', path: checked(operation.path) }));
    case 'rename': {
      const moves = [{ from: checked(operation.from), to: checked(operation.to) }];
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
  return only(await deleteFiles(gate, { kind: 'delete', paths: [text], forGood: false }));
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

function checked(text: string): string {
  pathOf(text);
  return text;
}

function closed(): FileRefusal {
  return new FileRefusal('not_found', 'This file is not open.');
}
