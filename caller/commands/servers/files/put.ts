import { createReadStream, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, RateLimitError, ServiceError } from '@portcullis/client/errors.ts';
import type { FileTransfers } from '@portcullis/client/transfers.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { failed } from '../../../exit.ts';
import type { CallOptions } from '../../../options.ts';
import { print, printable, printJson } from '../../../output.ts';
import { findUuid } from '../find.ts';
import { listTree } from './tree.ts';
import { AT_ONCE, connectTransfers, inParallel, onPath, TransferProgress } from './transfer.ts';

/** Smaller files are sent whole again: to ask how far they came costs as much. */
const RESUMED_FROM = 4 * 1024 * 1024;
/** Tries of one file, without any progress between them. */
const TRIES = 6;
const RETRY_MS = 500;

export interface PutOptions extends CallOptions {
  /** `--no-resume`: everything is sent from its beginning. */
  readonly resume?: boolean;
}

interface LocalFile {
  readonly file: string;
  readonly path: string;
  readonly size: number;
  readonly changedAtMs: number;
}

/** Uploads a file, a folder with all that is in it, or standard input. */
export async function putFile(
  server: string,
  file: string,
  path: string,
  options: PutOptions,
): Promise<void> {
  const { client, transfers } = connectTransfers(options);
  if (file === '-') {
    const bytes = await buffer(process.stdin);
    const slice = await findUuid(client, server);
    const part = { slice, path, offset: 0, size: bytes.length };
    await transfers.upload({ ...part, body: new Uint8Array(bytes) });
    return report([{ file, path, size: bytes.length, changedAtMs: 0 }], 0, options);
  }
  const isFolder = onPath(file, () => statSync(file).isDirectory());
  const found = isFolder ? [...filesIn(file, path)] : [localFile(file, pathOf(file, path))];
  const slice = await findUuid(client, server);
  const wanted =
    isFolder && options.resume !== false ? await without(client, slice, path, found) : found;
  const upload = new Upload({ client, transfers, slice, options, files: wanted });
  await upload.run();
  report(wanted, found.length - wanted.length, options);
}

/** The path of an uploaded file: below a path that ends in `/`, under the name that it has here. */
function pathOf(file: string, path: string): string {
  return path.endsWith('/') ? `${path}${basename(file)}` : path;
}

function report(files: readonly LocalFile[], left: number, options: PutOptions): void {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const [only] = files;
  if (options.json === true) printJson({ files: files.length, unchanged: left, bytes });
  else if (options.quiet === true) return;
  else if (files.length === 1 && left === 0) print(`${only?.path}: ${bytes} bytes written.`);
  else print(`${files.length} files, ${bytes} bytes written; ${left} were there already.`);
}

function localFile(file: string, path: string): LocalFile {
  const { size, mtimeMs } = onPath(file, () => statSync(file));
  return { file, path, size, changedAtMs: mtimeMs };
}

/** Regular files below a folder; links are not followed. */
function* filesIn(folder: string, path: string): Generator<LocalFile> {
  for (const entry of onPath(folder, () => readdirSync(folder, { withFileTypes: true }))) {
    const file = join(folder, entry.name);
    const to = path === '' ? entry.name : `${path.replace(/\/+$/, '')}/${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(file, to);
    else if (entry.isFile()) yield localFile(file, to);
  }
}

/** The files but for those that are there already: as long, and written since the local one changed. */
async function without(
  client: KeyClient,
  slice: string,
  path: string,
  files: readonly LocalFile[],
): Promise<readonly LocalFile[]> {
  const there = new Map((await listTree(client, slice, path)).map((one) => [one.path, one]));
  return files.filter((file) => {
    const known = there.get(file.path);
    return known?.size !== file.size || Date.parse(known.modified_at) < file.changedAtMs;
  });
}

interface UploadOptions {
  readonly client: KeyClient;
  readonly transfers: FileTransfers;
  readonly slice: string;
  readonly options: PutOptions;
  readonly files: readonly LocalFile[];
}

class Upload {
  readonly #of: UploadOptions;
  readonly #progress: TransferProgress;

  constructor(of: UploadOptions) {
    this.#of = of;
    const total = of.files.reduce((sum, { size }) => sum + size, 0);
    this.#progress = new TransferProgress(of.options, total);
  }

  async run(): Promise<void> {
    const { files } = this.#of;
    try {
      await inParallel(files, AT_ONCE, (file) => this.#put(file));
    } finally {
      this.#progress.end();
    }
  }

  async #put(file: LocalFile): Promise<void> {
    const { options } = this.#of;
    const isResumed = options.resume !== false && file.size > RESUMED_FROM;
    let from = isResumed ? await this.#received(file) : 0;
    this.#progress.add(from);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#send(file, from);
      } catch (error) {
        if (!isTemporary(error)) throw error;
        const before = from;
        await delay(RETRY_MS * attempt);
        from = await this.#received(file).catch(() => before);
        if (from > before) attempt = 0;
        else if (attempt >= TRIES) throw error;
        this.#progress.set(file.path, from - before);
      }
    }
  }

  /** Bytes that the node has of this file, as it is now. */
  async #received({ path, size }: LocalFile): Promise<number> {
    const { client, slice } = this.#of;
    const { data } = await client.readUpload({ slice, query: { path } });
    return data.size === size ? data.received : 0;
  }

  async #send({ file, path, size }: LocalFile, offset: number): Promise<void> {
    const { transfers, slice } = this.#of;
    const source = createReadStream(file, { start: offset, end: Math.max(offset, size - 1) });
    // That of `Readable.toWeb` throws where nobody catches it when an answer ends the upload.
    const body = ReadableStream.from(this.#counted(source, path));
    const sent = size === offset ? new Uint8Array() : body;
    const { done } = await transfers.upload({ slice, path, offset, size, body: sent });
    if (!done) throw failed(`${printable(file)} became shorter while it was sent`);
  }

  async *#counted(source: AsyncIterable<Buffer>, path: string): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      this.#progress.add(chunk.length, path);
      yield chunk;
    }
  }
}

function isTemporary(error: unknown): boolean {
  return (
    error instanceof ConnectionError ||
    error instanceof RateLimitError ||
    error instanceof ServiceError
  );
}
