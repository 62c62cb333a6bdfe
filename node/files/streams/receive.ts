import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { type Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import { type FilePath, formatPath } from '@portcullis/core/game-servers/files/path.ts';
import type { FileAnswerOf, FileOperationOf } from '@portcullis/link/messages/files.ts';
import { releaseBytes } from '@portcullis/link/release-bytes.ts';
import { ENTRY_BYTES } from '../../disk/measure.ts';
import { finishFile, type Folder } from '../../server-folder/folder.ts';
import type { Gate } from '../gate.ts';
import { exists, NEW_MODE, present, publishFile, requireExpected } from '../operations/content.ts';
import { pathOf } from '../operations/list.ts';
import { GrowingGrant, type Quota, type Space } from '../quota.ts';
import { FileRefusal } from '../refusal.ts';
import { receiveStream, type StreamEnd, type StreamOf, type StreamRoute } from './connect.ts';
import type { Received } from './transfers.ts';

/** An upload that nobody goes on with is removed after this time. */
const KEPT_MS = 24 * 3_600_000;
/** Bytes that are taken from the quota at a time. */
const WINDOW_BYTES = 16 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;
const NOTHING = { bytes: 0, entries: 0 };
const ONE_ENTRY = { bytes: 0, entries: 1 };

/** Where the bytes of an upload come from. */
export interface Origin extends StreamEnd {
  receive(signal: AbortSignal): Promise<Readable>;
}

/** The replica of control that waits with a ticket. */
export function fromControl(route: StreamRoute, of: StreamOf): Origin {
  return {
    id: of.ticket.id,
    isDirect: false,
    receive: (signal) => receiveStream(route, of, signal),
  };
}

/** A file, or the rest of it, that is sent to the node. */
export type Upload = Omit<FileOperationOf<'receive'>, 'kind' | 'ticket'>;

/** Begins to receive a file from an offset on. What arrives stays in the work folder until the file is whole. */
export async function receiveFile(
  gate: Gate,
  operation: Upload,
  from: Origin,
): Promise<FileAnswerOf<'receiving'>> {
  const path = pathOf(operation.path);
  const { transfers, quota } = gate.files;
  const { offset, size } = operation;
  transfers.requireRoom();
  const right = await requireWritable(gate, path, operation.expected);
  const key = keyOf(path);
  // Refused before anything is sent. What is made now counts, also if nothing arrives.
  const own = offset === 0 ? ENTRY_BYTES : 0;
  const granted = await quota.take({ bytes: size - offset + own, entries: 1 });
  granted.close(offset === 0 ? ONE_ENTRY : NOTHING);
  const uploads = await gate.work('uploads');
  const work = async (handle: FileHandle, signal: AbortSignal): Promise<Received> => {
    const sink = new UploadSink(handle, quota, { offset, size });
    try {
      const source = await from.receive(signal);
      await pipeline(source, sink.asStream(), { signal });
      if (sink.received === size) await finish(gate, { path, handle, uploads, key }, operation);
      return { received: sink.received, size, isWhole: sink.received === size };
    } finally {
      sink.close();
      await handle.close();
    }
  };
  // One after the other: of two uploads of a file at once, the second ends the first.
  await gate.files.beginnings.run(async () => {
    await transfers.end(key);
    const handle = await openUpload(uploads, key, operation);
    gate.beginStream(from, { key, right }, (signal) => work(handle, signal));
  });
  return { kind: 'receiving' };
}

/** Says how much of a file was received. */
export async function describeUpload(
  gate: Gate,
  operation: FileOperationOf<'uploaded'>,
): Promise<FileAnswerOf<'received'>> {
  const path = pathOf(operation.path);
  gate.requireAny('file.create', 'file.update');
  gate.requireAllowed(path);
  const none = { kind: 'received', received: 0, size: null, isWhole: false } as const;
  const key = keyOf(path);
  const isOpen = gate.files.transfers.keys.has(key);
  if (!(await gate.hasWork())) return { ...none, isOpen };
  const found = await findUpload(await gate.work('uploads'), key);
  return found === null ? { ...none, isOpen } : { ...none, ...found, isOpen };
}

/** Ends an upload, and removes what was received. */
export async function dropUpload(
  gate: Gate,
  operation: FileOperationOf<'dropUpload'>,
): Promise<FileAnswerOf<'done'>> {
  const path = pathOf(operation.path);
  gate.requireAny('file.create', 'file.update');
  gate.requireAllowed(path);
  const key = keyOf(path);
  await gate.files.transfers.end(key);
  if (await gate.hasWork()) await removeUploads(await gate.work('uploads'), key);
  return { kind: 'done', done: [operation.path], failed: [] };
}

/** Removes uploads that nobody went on with. */
export async function expireUploads(gate: Gate, nowMs: number): Promise<void> {
  const uploads = await gate.work('uploads');
  const running = gate.files.transfers.keys;
  for await (const { name, isFolder } of uploads.entries()) {
    const [key = ''] = name.toString('latin1').split('.');
    const stat = await uploads.stat(name);
    if (isFolder || stat === null || running.has(key)) continue;
    if (nowMs - Number(stat.mtimeMs) > KEPT_MS) await uploads.remove(name);
  }
}

/** The right by which the caller may write a file at this path as it is now. Throws a refusal without it. */
export async function requireWritable(
  gate: Gate,
  path: FilePath,
  expected: string | null,
): Promise<FileRight> {
  const isThere = await exists(gate, path);
  if (!isThere) {
    gate.require('file.create');
    gate.requireAllowed(path);
    if (expected !== null && expected !== 'absent')
      throw new FileRefusal('changed', `${formatPath(path)} is gone.`);
    return 'file.create';
  }
  const place = await gate.place(path, 'file.update');
  await gate.about(path, async () => {
    await present(place);
    await requireExpected(gate, place, expected);
  });
  return 'file.update';
}

/** Names the upload of a path in the work folder, beside the size of the whole file. */
function keyOf(path: FilePath): string {
  return createHash('sha256').update(formatPath(path)).digest('hex').slice(0, 40);
}

async function findUpload(
  uploads: Folder,
  key: string,
): Promise<{ readonly name: string; readonly received: number; readonly size: number } | null> {
  for await (const entry of uploads.entries()) {
    const name = entry.name.toString('latin1');
    const [start, size = ''] = name.split('.');
    if (start !== key || !/^\d{1,15}$/.test(size)) continue;
    const stat = await uploads.stat(name);
    if (stat?.isFile() === true) return { name, received: Number(stat.size), size: Number(size) };
  }
  return null;
}

async function removeUploads(uploads: Folder, key: string): Promise<void> {
  for await (const { name } of uploads.entries()) {
    if (name.toString('latin1').startsWith(`${key}.`)) await uploads.remove(name);
  }
}

/** Opens what was received to write on at its end; at offset 0 it begins anew. */
async function openUpload(
  uploads: Folder,
  key: string,
  { path, offset, size }: Upload,
): Promise<FileHandle> {
  if (offset === 0) {
    await removeUploads(uploads, key);
    return uploads.create(`${key}.${size}`);
  }
  const found = await findUpload(uploads, key);
  if (found?.received !== offset || found.size !== size) {
    const has = found === null ? '0 bytes' : `${found.received} of ${found.size} bytes`;
    const detail = `Of ${path} ${has} were received: go on from there, or begin anew at 0.`;
    throw new FileRefusal('impossible', detail);
  }
  const opened = await uploads.openToGoOn(found.name);
  if (opened === null) throw new FileRefusal('impossible', `The upload of ${path} is gone.`);
  return opened.handle;
}

interface WholeUpload {
  readonly path: FilePath;
  readonly handle: FileHandle;
  readonly uploads: Folder;
  readonly key: string;
}

/** Gives a file that is whole its name, where what is there has not changed. */
async function finish(
  gate: Gate,
  { path, handle, uploads, key }: WholeUpload,
  { size, expected }: Upload,
): Promise<void> {
  const isNew = !(await exists(gate, path));
  const place = await gate.place(path, isNew ? 'file.create' : 'file.update', isNew);
  await gate.about(path, async () => {
    const mode = (await present(place))?.mode ?? NEW_MODE;
    await finishFile(handle, mode, gate.files.owner);
    const draft = { tmp: uploads, name: `${key}.${size}` };
    await publishFile(gate, draft, place, { check: () => requireExpected(gate, place, expected) });
  });
}

/** Writes what arrives at the end of an upload, within its size and the quota. */
class UploadSink {
  received: number;
  readonly #handle: FileHandle;
  readonly #grant: GrowingGrant;
  readonly #size: number;
  #grantedTo: number;
  #grantedFrom: number;

  constructor(
    handle: FileHandle,
    quota: Quota,
    { offset, size }: { readonly offset: number; readonly size: number },
  ) {
    this.#handle = handle;
    this.#grant = new GrowingGrant(quota);
    this.#size = size;
    this.received = offset;
    this.#grantedFrom = offset;
    this.#grantedTo = offset;
  }

  asStream(): Writable {
    return new Writable({
      highWaterMark: BUFFER_BYTES,
      write: (chunk: Buffer, _encoding, done) => void this.#writeThen([chunk], done),
      writev: (chunks, done) => {
        const all = chunks.map(({ chunk }) => chunk as Buffer);
        void this.#writeThen(all, done);
      },
    });
  }

  async #writeThen(chunks: readonly Buffer[], done: (error?: Error) => void): Promise<void> {
    let failure: Error | undefined;
    try {
      await this.#write(chunks);
    } catch (error) {
      failure = error as Error;
    }
    done(failure);
  }

  /** Counts what was written as used. */
  close(): void {
    this.#grant.close(this.#used);
  }

  /** The bytes since the grant; the file itself was counted when it was made. */
  get #used(): Space {
    return { bytes: this.received - this.#grantedFrom, entries: 0 };
  }

  async #write(chunks: readonly Buffer[]): Promise<void> {
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
    const end = this.received + bytes;
    if (end > this.#size)
      throw new FileRefusal('too_large', 'More was sent than the size of the file.');
    if (end > this.#grantedTo) await this.#takeNext(end);
    let left = chunks;
    while (left.length > 0) {
      const { bytesWritten } = await this.#handle.writev(left, this.received);
      this.received += bytesWritten;
      left = restOf(left, bytesWritten);
    }
    for (const chunk of chunks) releaseBytes(chunk);
  }

  /** Takes the next part of the quota; what was written so far is used by then. */
  async #takeNext(end: number): Promise<void> {
    this.#grant.giveBack(this.#used);
    this.#grantedFrom = this.received;
    const take = async (to: number): Promise<void> => {
      await this.#grant.take({ bytes: to - this.#grantedFrom, entries: 0 });
      this.#grantedTo = to;
    };
    // The last part before the limit may be smaller than a whole one.
    const whole = Math.min(this.#size, this.received + WINDOW_BYTES);
    await take(Math.max(end, whole)).catch(() => take(end));
  }
}

function restOf(chunks: readonly Buffer[], written: number): readonly Buffer[] {
  let skip = written;
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(Math.min(skip, chunk.length));
    skip -= chunk.length - rest.length;
    return rest.length === 0 ? [] : [rest];
  });
}
