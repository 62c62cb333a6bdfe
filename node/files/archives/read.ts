import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { PassThrough, pipeline } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { extract, type Entry } from 'tar-stream';
import yauzl from 'yauzl';
import type { OpenFile } from '../../server-folder/folder.ts';
import { FileRefusal } from '../refusal.ts';
import { convert, type Converter, type ConvertingJob } from './conversion.ts';
import type { ArchiveEntry } from './entry.ts';

const HEAD_BYTES = 512;
/** Marks at the beginning of a file, in hexadecimal. */
const GZIP = '1f8b';
const ZSTD = '28b52ffd';
const ZIP = '504b';
/** Marks of archives that another program converts, and that program. */
const CONVERTED: readonly (readonly [mark: string, converter: Converter])[] = [
  ['377abcaf271c', 'bsdtar'], // 7z
  ['526172211a07', 'bsdtar'], // rar
  ['fd377a585a00', 'bsdcat'], // xz
  ['425a68', 'bsdcat'], // bzip2
];
const MARK_BYTES = 6;
/** The mark of a tar archive, at byte 257. */
const USTAR = 'ustar';

/** The type bits of a mode, which zip keeps in the upper half of its attributes. */
const TYPE_BITS = 0o170000;
const TYPES: Readonly<Record<number, ArchiveEntry['type']>> = {
  0: 'file',
  0o100000: 'file',
  0o040000: 'folder',
};

/** Reads the entries of an archive one after the other; what it is, its first bytes say. */
export async function* readArchive(
  { handle, stat }: OpenFile,
  name: string,
  job: ConvertingJob,
): AsyncGenerator<ArchiveEntry> {
  const head = Buffer.alloc(HEAD_BYTES);
  const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
  const start = head.toString('hex', 0, Math.min(bytesRead, MARK_BYTES));
  if (start.startsWith(ZIP)) {
    yield* readZip(handle.fd);
    return;
  }
  const converter = CONVERTED.find(([mark]) => start.startsWith(mark))?.[1];
  if (converter !== undefined) {
    yield* readConverted(handle, name, converter, job);
    return;
  }
  const file = handle.createReadStream({ autoClose: false, start: 0, end: Number(stat.size) });
  const stream = new PassThrough();
  // A failure of any of them ends the last, whose reader gets it.
  const done = (): void => {};
  if (start.startsWith(GZIP)) pipeline(file, createGunzip(), stream, done);
  else if (start.startsWith(ZSTD)) pipeline(file, createZstdDecompress(), stream, done);
  else if (isTar(head, name)) pipeline(file, stream, done);
  else
    throw new FileRefusal(
      'impossible',
      'The file is no archive of a known format: zip, tar, gz, zst, 7z, rar, xz or bzip2.',
    );
  try {
    yield* readStream(stream, name);
  } finally {
    stream.destroy();
    file.destroy();
  }
}

/** The entries of an archive that another program reads; it ends with this. */
async function* readConverted(
  handle: FileHandle,
  name: string,
  converter: Converter,
  { server, signal }: ConvertingJob,
): AsyncGenerator<ArchiveEntry> {
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  const output = convert(handle, converter, { server, signal: until });
  try {
    yield* converter === 'bsdtar' ? readTar(output) : readStream(output, name);
  } finally {
    ended.abort();
    // Where nothing reads it any more, this gives its slot back.
    await output.return(undefined).catch(() => undefined);
  }
}

/** The content of a compressed file: a tar archive, or a single file. */
async function* readStream(
  stream: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<ArchiveEntry> {
  const chunks = stream[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const next = await chunks.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const rest = async function* (): AsyncGenerator<Buffer> {
    yield head;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      yield next.value;
    }
  };
  if (isTar(head, name)) {
    yield* readTar(rest());
    return;
  }
  const inner = name.replace(/\.(?:gz|zst|xz|bz2)$/i, '');
  yield {
    name: Buffer.from(inner === name ? `${name}.unpacked` : inner),
    type: 'file',
    mode: null,
    content: async () => rest(),
  };
}

/** Tars of before 1988 have no mark, so the name counts too. */
function isTar(head: Buffer, name: string): boolean {
  if (head.toString('latin1', 257, 262) === USTAR) return true;
  return head.length === HEAD_BYTES && /\.(?:tar(?:\.\w+)?|tgz|txz|tbz2?)$/i.test(name);
}

async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<ArchiveEntry> {
  const tar = extract({ filenameEncoding: 'latin1' });
  const feed = feedTar(tar, chunks);
  // Its failure destroys the reader below, which throws it.
  feed.catch(() => undefined);
  for await (const entry of tar as AsyncIterable<Entry>) {
    yield describeTar(entry);
    // What was not read is skipped.
    entry.resume();
  }
  await feed;
}

async function feedTar(
  tar: ReturnType<typeof extract>,
  chunks: AsyncIterable<Buffer>,
): Promise<void> {
  try {
    for await (const chunk of chunks) {
      if (tar.destroyed) return;
      if (!tar.write(chunk)) await drained(tar);
    }
    tar.end();
  } catch (error) {
    tar.destroy(error as Error);
    throw error;
  }
}

function drained(tar: ReturnType<typeof extract>): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      tar.off('drain', go).off('close', go);
      resolve();
    };
    tar.on('drain', go).on('close', go);
  });
}

const TAR_TYPES: Readonly<Record<string, ArchiveEntry['type']>> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'folder',
};

function describeTar(entry: Entry): ArchiveEntry {
  const { name, type, mode } = entry.header;
  const { pax } = entry.header as { readonly pax?: { readonly path?: string } | null };
  return {
    // Names of plain headers come byte by byte; those of pax headers are text already.
    name: Buffer.from(name, pax?.path === undefined ? 'latin1' : 'utf8'),
    type: TAR_TYPES[type ?? 'file'] ?? 'other',
    mode: mode === undefined ? null : mode & 0o777,
    content: async () => entry,
  };
}

async function* readZip(fd: number): AsyncGenerator<ArchiveEntry> {
  const zip = await openZip(fd);
  for (let entry = await nextOf(zip); entry !== null; entry = await nextOf(zip)) {
    const file = entry;
    if ((file.generalPurposeBitFlag & 1) !== 0)
      throw new FileRefusal('impossible', 'The archive is encrypted.');
    const attributes = file.externalFileAttributes >>> 16;
    const isFolder = file.fileName.endsWith('/');
    yield {
      name: Buffer.from(file.fileName),
      type: isFolder ? 'folder' : (TYPES[attributes & TYPE_BITS] ?? 'other'),
      mode: attributes === 0 ? null : attributes & 0o777,
      content: () => openEntry(zip, file),
    };
  }
}

function openZip(fd: number): Promise<yauzl.ZipFile> {
  return new Promise((resolve, reject) => {
    yauzl.fromFd(fd, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error) reject(error);
      else resolve(zip);
    });
  });
}

function nextOf(zip: yauzl.ZipFile): Promise<yauzl.Entry | null> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      zip.removeAllListeners();
      act();
    };
    zip.once('entry', (entry: yauzl.Entry) => settle(() => resolve(entry)));
    zip.once('end', () => settle(() => resolve(null)));
    zip.once('error', (error: Error) => settle(() => reject(error)));
    zip.readEntry();
  });
}

function openEntry(zip: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) reject(error);
      else resolve(stream);
    });
  });
}
