import { once } from 'node:events';
import { PassThrough, type Readable, type Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import {
  type FilePath,
  formatPath,
  nameToBytes,
} from '@portcullis/core/game-servers/files/path.ts';
import type { FileOperationOf } from '@portcullis/link/messages/files.ts';
import { pack, type Pack } from 'tar-stream';
import yazl from 'yazl';
import { Refusal } from '../../server-folder/folder.ts';
import type { Gate, Place } from '../gate.ts';
import type { RunningJob } from '../jobs.ts';
import { requirePresent } from '../operations/change.ts';
import { pathOf } from '../operations/list.ts';
import { FileRefusal } from '../refusal.ts';
import { TreeWalk } from '../tree.ts';
import { publish, withDraft, writeDraft } from '../work.ts';
import { QuotaSink } from './sink.ts';

type ArchiveFormat = FileOperationOf<'archive'>['format'];

const ARCHIVE_MODE = 0o644;
const MAX_ENTRIES = 1_000_000;
const CHUNK = 256 * 1024;

/** Makes an archive of files and folders at a free name, as a job. Returns the id of the job. */
export async function archive(gate: Gate, operation: FileOperationOf<'archive'>): Promise<string> {
  gate.require('file.archive');
  const paths = operation.paths.map(pathOf);
  for (const path of paths) {
    await requirePresent(await gate.place(path, 'file.read-content'));
  }
  const target = await gate.place(pathOf(operation.to), 'file.create', true);
  if (await target.folder.has(target.name))
    throw new FileRefusal('exists', `There is a ${operation.to} already.`);
  const rights = ['file.archive', 'file.read-content', 'file.create'] as const;
  return gate.begin({ kind: 'archive', path: operation.to, rights }, (job) =>
    gate.about(target.path, () => makeArchive(gate, { paths, target }, operation, job)),
  );
}

interface Order {
  readonly paths: readonly FilePath[];
  readonly target: Place;
}

async function makeArchive(
  gate: Gate,
  { paths, target }: Order,
  { format }: FileOperationOf<'archive'>,
  job: RunningJob,
): Promise<void> {
  await withDraft(gate, async (draft) => {
    await writeDraft(gate, draft, ARCHIVE_MODE, async (handle) => {
      const sink = new QuotaSink(handle, gate.files.quota, job);
      try {
        await packInto(gate, { paths, format }, sink.asStream(), job);
      } finally {
        sink.close();
      }
    });
    await gate.change([target], () => publish(draft, target));
  });
}

/** Writes an archive of files and folders to a stream. */
export async function packInto(
  gate: Gate,
  { paths, format }: { readonly paths: readonly FilePath[]; readonly format: ArchiveFormat },
  target: Writable,
  job: RunningJob,
): Promise<void> {
  const writer = format === 'zip' ? new ZipWriter() : new TarWriter(format);
  const written = pipeline([...writer.streams, target], { signal: job.signal });
  // A failure of either ends the other.
  written.catch((error: unknown) => writer.fail(error as Error));
  throwFirst(await Promise.allSettled([written, addAll(gate, paths, writer, job)]));
}

/** Throws the failure of several, and of those a refusal, because that is what ended the others. */
function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  const reasons = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (reasons.length > 0) throw reasons.find((one) => one instanceof FileRefusal) ?? reasons[0];
}

/** A file or folder as an archive gets it. */
interface Member {
  readonly path: FilePath;
  readonly mode: number;
  readonly modifiedAt: Date;
}

/** One archive that is being written. */
interface Writer {
  readonly streams: readonly (Readable | Transform)[];
  folder(member: Member): Promise<void>;
  /** The content has exactly `size` bytes. */
  file(member: Member, size: number, content: AsyncIterable<Buffer>): Promise<void>;
  end(): void;
  fail(error: Error): void;
}

async function addAll(
  gate: Gate,
  paths: readonly FilePath[],
  writer: Writer,
  job: RunningJob,
): Promise<void> {
  try {
    for (const path of paths) await addTree(gate, path, writer, job);
    writer.end();
  } catch (error) {
    writer.fail(error as Error);
    throw error;
  }
}

async function addTree(gate: Gate, path: FilePath, writer: Writer, job: RunningJob): Promise<void> {
  const { denylist } = gate.files;
  const place = await gate.place(path, 'file.read-content');
  await addOne(gate, place, path.slice(-1), writer, job);
  const isAllowed = (inner: FilePath): boolean => !denylist.denies([...path, ...inner]);
  const walk = new TreeWalk({ maxEntries: MAX_ENTRIES, signal: job.signal, enters: isAllowed });
  for await (const { folder, name, path: inner } of walk.of(place.folder, place.name)) {
    if (isAllowed(inner)) {
      const found = { folder, name, path: [...path, ...inner] };
      await addOne(gate, found, [...path.slice(-1), ...inner], writer, job);
    } else job.note(`${formatPath([...path, ...inner])} was left out: the egg denies it.`);
  }
  job.signal.throwIfAborted();
  if (!walk.complete)
    throw new FileRefusal('too_large', `${formatPath(path)} is too deep, or has too many files.`);
}

/** `shown`: the path in the archive. */
async function addOne(
  gate: Gate,
  { folder, name, path }: Place,
  shown: FilePath,
  writer: Writer,
  job: RunningJob,
): Promise<void> {
  job.signal.throwIfAborted();
  try {
    const stat = await folder.stat(name);
    if (stat === null) return;
    const member = { path: shown, mode: Number(stat.mode & 0o777n), modifiedAt: stat.mtime };
    if (stat.isDirectory()) return await writer.folder(member);
    const file = await folder.openFile(name, gate.files.owner);
    if (file === null) return;
    try {
      const size = Number(file.stat.size);
      const content = file.handle.createReadStream({ autoClose: false, highWaterMark: CHUNK });
      await writer.file(member, size, exactly(content, size));
    } finally {
      await file.handle.close();
    }
    job.add({ entries: 1 });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    job.note(`${formatPath(path)} was left out: ${error.message}.`);
  }
}

/** A game may write the file meanwhile: what it adds is left out, and what it cuts off is zeros. */
async function* exactly(content: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let left = size;
  for await (const chunk of content) {
    if (left === 0) break;
    const taken = chunk.subarray(0, Math.min(left, chunk.length));
    left -= taken.length;
    yield taken;
  }
  for (; left > 0; left -= Math.min(left, CHUNK)) yield Buffer.alloc(Math.min(left, CHUNK));
}

/** The name in an archive: the bytes of the file system, read as UTF-8. */
function nameOf(path: FilePath): string {
  return path.map((name) => Buffer.from(nameToBytes(name) ?? []).toString()).join('/');
}

class TarWriter implements Writer {
  readonly #pack: Pack = pack();
  readonly streams: readonly (Readable | Transform)[];
  readonly #failed = new AbortController();

  constructor(format: Exclude<ArchiveFormat, 'zip'>) {
    const compressors = { tar: [], 'tar.gz': [createGzip()], 'tar.zst': [createZstdCompress()] };
    this.streams = [this.#pack, ...compressors[format]];
  }

  async folder({ path, mode, modifiedAt: mtime }: Member): Promise<void> {
    this.#pack.entry({ name: `${nameOf(path)}/`, type: 'directory', mode, mtime }).end();
  }

  async file(
    { path, mode, modifiedAt: mtime }: Member,
    size: number,
    content: AsyncIterable<Buffer>,
  ) {
    const { signal } = this.#failed;
    signal.throwIfAborted();
    const ended = Promise.withResolvers<void>();
    const entry = this.#pack.entry({ name: nameOf(path), size, mode, mtime }, (error) => {
      if (error) ended.reject(error);
      else ended.resolve();
    });
    ended.promise.catch(() => undefined);
    for await (const chunk of content) {
      signal.throwIfAborted();
      if (!entry.write(chunk)) await once(entry, 'drain', { signal });
    }
    entry.end();
    await ended.promise;
  }

  end(): void {
    this.#pack.finalize();
  }

  fail(error: Error): void {
    this.#failed.abort(error);
    this.#pack.destroy(error);
  }
}

class ZipWriter implements Writer {
  readonly #zip = new yazl.ZipFile();
  readonly streams: readonly (Readable | Transform)[];
  readonly #failed = new AbortController();

  constructor() {
    const output = new PassThrough();
    this.#zip.outputStream.pipe(output);
    this.streams = [output];
  }

  async folder({ path, mode, modifiedAt: mtime }: Member): Promise<void> {
    this.#zip.addEmptyDirectory(nameOf(path), { mode: 0o040000 | mode, mtime });
  }

  /** One after the other, so that few files are open. */
  async file(
    { path, mode, modifiedAt: mtime }: Member,
    size: number,
    content: AsyncIterable<Buffer>,
  ) {
    const { signal } = this.#failed;
    signal.throwIfAborted();
    const stream = new PassThrough();
    this.#zip.addReadStream(stream, nameOf(path), { mode: 0o100000 | mode, mtime, size });
    for await (const chunk of content) {
      signal.throwIfAborted();
      if (!stream.write(chunk)) await once(stream, 'drain', { signal });
    }
    stream.end();
    if (!stream.readableEnded) await once(stream, 'end', { signal });
  }

  end(): void {
    this.#zip.end();
  }

  fail(error: Error): void {
    this.#failed.abort(error);
    for (const stream of this.streams) stream.destroy(error);
  }
}
