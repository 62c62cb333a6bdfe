import { fstatSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { type FilePath, formatPath } from '@portcullis/core/game-servers/files/path.ts';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import type { FileEntry } from '@portcullis/link/messages/files.ts';
import { finishFile } from '../../server-folder/folder.ts';
import type { Gate, Place } from '../gate.ts';
import type { Granted } from '../quota.ts';
import { FileRefusal, notFound } from '../refusal.ts';
import { withDraft } from '../work.ts';
import { present, publishFile } from './content.ts';
import { describeEntry } from './describe.ts';

const NEW_MODE = 0o644;
/** Bytes that are taken from the quota at a time. */
const STEP_BYTES = 4 * 1024 * 1024;
const COPY_BYTES = 1024 * 1024;
/** The largest file; a hole before it counts as written. */
const MAX_BYTES = 2 ** 43;

/** A file that a door holds open: it is read, or written and gets its name in the end. */
export interface OpenFile {
  /** The right by which it was opened; it closes when that ends. */
  readonly right: FileRight;
  /** Null: the end of the file. */
  read(offset: number, length: number): Promise<Buffer | null>;
  /** Whether the file ends here now. */
  endsAt(offset: number): boolean;
  write(offset: number, bytes: Uint8Array): Promise<void>;
  setSize(size: number): Promise<void>;
  setMode(mode: number): void;
  stat(): Promise<FileEntry>;
  /**
   * Waits for writes that run. `lost`: its door was; `forbidden`: its right has ended. Returns whether what was written is under
   * its name now.
   */
  close(end: 'whole' | 'lost' | 'forbidden'): Promise<boolean>;
}

/** Opens a file to read it. */
export async function openToRead(gate: Gate, path: FilePath): Promise<OpenFile> {
  const place = await gate.place(path, 'file.read-content');
  return gate.about(path, async () => {
    const file = await place.folder.openFile(place.name, gate.files.owner);
    if (file === null) throw notFound(formatPath(path));
    return new ReadFile(gate, path, file.handle);
  });
}

class ReadFile implements OpenFile {
  readonly right = 'file.read-content';
  readonly #path: FilePath;
  readonly #handle: FileHandle;
  readonly #closed = Promise.withResolvers<void>();

  constructor(gate: Gate, path: FilePath, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
    gate.hold(this.#closed.promise);
  }

  async read(offset: number, length: number): Promise<Buffer | null> {
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#handle.read(bytes, 0, length, offset);
    return bytesRead === 0 ? null : bytes.subarray(0, bytesRead);
  }

  endsAt(offset: number): boolean {
    return fstatSync(this.#handle.fd).size <= offset;
  }

  async write(): Promise<void> {
    throw new FileRefusal('forbidden', 'This file is open to be read.');
  }

  async setSize(): Promise<void> {
    return this.write();
  }

  setMode(): void {
    throw new FileRefusal('forbidden', 'This file is open to be read.');
  }

  async stat(): Promise<FileEntry> {
    const stat = await this.#handle.stat({ bigint: true });
    return describeEntry(this.#path.at(-1) ?? '', stat, { denied: false, content: null });
  }

  async close(): Promise<boolean> {
    await this.#handle.close();
    this.#closed.resolve();
    return false;
  }
}

export interface WriteOptions {
  /** Whether a file that is missing is made. */
  readonly create: boolean;
  /** Whether what it holds is dropped. */
  readonly truncate: boolean;
  /** Whether a file that is there is refused. */
  readonly exclusive: boolean;
}

/**
 * Opens a file to write it. What is written goes to a draft, so that the file under its name is never half of an old and a
 * new one. A draft of a file that goes on begins as a copy of it.
 */
export async function openToWrite(
  gate: Gate,
  path: FilePath,
  { create, truncate, exclusive }: WriteOptions,
): Promise<OpenFile> {
  gate.requireAny('file.update', 'file.create');
  const found = await gate.place(path, gate.requireAny('file.create', 'file.update'));
  const before = await gate.about(path, () => present(found));
  if (before === null && !create) throw notFound(formatPath(path));
  if (before !== null && exclusive) {
    throw new FileRefusal('exists', `There is a file ${formatPath(path)} already.`);
  }
  const right = before === null ? 'file.create' : 'file.update';
  gate.require(right);
  const opened = Promise.withResolvers<DraftFile>();
  const work = withDraft(gate, async (draft) => {
    const handle = await gate.about(path, () => draft.tmp.create(draft.name));
    const file = new DraftFile(gate, found, handle, before);
    try {
      await file.begin();
      if (before !== null && !truncate)
        await gate.files.copies.run(() => copyInto(gate, found, file));
      opened.resolve(file);
      const isKept = await file.ended;
      if (isKept) {
        await gate.about(path, async () => {
          await finishFile(handle, file.mode, gate.files.owner);
          await publishFile(gate, draft, found, { replace: !exclusive });
        });
      }
      file.settle(isKept);
    } finally {
      file.settle(false);
      await handle.close();
    }
  });
  gate.hold(work);
  work.catch((error: unknown) => opened.reject(error));
  const file = await opened.promise;
  file.work = work;
  return file;
}

async function copyInto(gate: Gate, { folder, name }: Place, to: DraftFile): Promise<void> {
  const from = await folder.openFile(name, gate.files.owner);
  if (from === null) return;
  try {
    const bytes = Buffer.allocUnsafe(COPY_BYTES);
    for (let at = 0; ; ) {
      const { bytesRead } = await from.handle.read(bytes, 0, COPY_BYTES, at);
      if (bytesRead === 0) return;
      await to.write(at, bytes.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    await from.handle.close();
  }
}

class DraftFile implements OpenFile {
  readonly right: FileRight;
  mode: number;
  /** All that follows the end, which its closing waits for. */
  work: Promise<void> = Promise.resolve();
  readonly #gate: Gate;
  readonly #place: Place;
  readonly #handle: FileHandle;
  readonly #before: { readonly size: number; readonly mode: number } | null;
  readonly #end = Promise.withResolvers<boolean>();
  readonly #running = new Set<Promise<unknown>>();
  #granting: Promise<void> = Promise.resolve();
  #granted: Granted | null = null;
  #grantedBytes = 0;
  #size = 0;
  #hasFailed = false;

  constructor(
    gate: Gate,
    place: Place,
    handle: FileHandle,
    before: { readonly size: number; readonly mode: number } | null,
  ) {
    this.#gate = gate;
    this.#place = place;
    this.#handle = handle;
    this.#before = before;
    this.right = before === null ? 'file.create' : 'file.update';
    this.mode = before?.mode ?? NEW_MODE;
  }

  /** Takes the quota for a new file, which an empty one needs too. */
  async begin(): Promise<void> {
    if (this.#before === null) this.#granted = await this.#gate.files.quota.take(ONE_ENTRY);
  }

  /** Whether it shall get its name, when it is closed. */
  get ended(): Promise<boolean> {
    return this.#end.promise;
  }

  async read(offset: number, length: number): Promise<Buffer | null> {
    this.#gate.require('file.read-content');
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.#handle.read(bytes, 0, length, offset);
    return bytesRead === 0 ? null : bytes.subarray(0, bytesRead);
  }

  endsAt(offset: number): boolean {
    return this.#size <= offset;
  }

  write(offset: number, bytes: Uint8Array): Promise<void> {
    return this.#run(async () => {
      await this.#reserve(offset + bytes.length);
      let done = 0;
      while (done < bytes.length) {
        const { bytesWritten } = await this.#handle.write(
          bytes,
          done,
          bytes.length - done,
          offset + done,
        );
        done += bytesWritten;
      }
      this.#size = Math.max(this.#size, offset + bytes.length);
    });
  }

  setSize(size: number): Promise<void> {
    return this.#run(async () => {
      await this.#reserve(size);
      await this.#handle.truncate(size);
      this.#size = size;
    });
  }

  setMode(mode: number): void {
    this.mode = mode & 0o777;
  }

  async stat(): Promise<FileEntry> {
    const stat = await this.#handle.stat({ bigint: true });
    const name = this.#place.path.at(-1) ?? '';
    return { ...describeEntry(name, stat, { denied: false, content: null }), mode: this.mode };
  }

  /**
   * A client that is lost goes on where a new file ended, so that one stays; a file that was there before stays as it was.
   */
  async close(end: 'whole' | 'lost' | 'forbidden'): Promise<boolean> {
    await Promise.allSettled(this.#running);
    const isKept = end === 'whole' ? !this.#hasFailed : end === 'lost' && this.#before === null;
    this.#end.resolve(isKept);
    await this.work;
    if (end === 'whole' && this.#hasFailed) {
      throw new FileRefusal(
        'impossible',
        'The file was not written, because a part of it was not.',
      );
    }
    return isKept;
  }

  /** Counts what is used of the quota; once. */
  settle(isKept: boolean): void {
    const before = this.#before;
    const bytes = this.#size - (before?.size ?? 0);
    this.#granted?.close(isKept ? { bytes, entries: before === null ? 1 : 0 } : NOTHING);
    this.#granted = null;
  }

  async #run(work: () => Promise<void>): Promise<void> {
    const running = work().catch((error: unknown) => {
      this.#hasFailed = true;
      throw error;
    });
    this.#running.add(running);
    try {
      await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Takes the quota for a file of this size, one step after the other. */
  #reserve(size: number): Promise<void> {
    if (!Number.isSafeInteger(size) || size < 0 || size > MAX_BYTES) {
      throw new FileRefusal('too_large', 'The file would be larger than a file may be.');
    }
    this.#granting = this.#granting.catch(() => undefined).then(() => this.#grow(size));
    return this.#granting;
  }

  async #grow(size: number): Promise<void> {
    if (this.#granted !== null && size <= this.#grantedBytes) return;
    const { quota } = this.#gate.files;
    const take = async (bytes: number): Promise<void> => {
      this.#granted?.close(NOTHING);
      this.#granted = null;
      this.#granted = await quota.take({ bytes, entries: 1 });
      this.#grantedBytes = bytes;
    };
    // The last step before the limit may be smaller than a whole one.
    await take(Math.max(size, this.#grantedBytes + STEP_BYTES)).catch(() => take(size));
  }
}

const NOTHING = { bytes: 0, entries: 0 };
const ONE_ENTRY = { bytes: 0, entries: 1 };
