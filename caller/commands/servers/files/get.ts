import { createWriteStream, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, InvalidRequestError, ProblemError } from '@portcullis/client/errors.ts';
import type { DownloadedFile, FileTransfers, Rest } from '@portcullis/client/transfers.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { failed, usageError } from '../../../exit.ts';
import type { CallOptions } from '../../../options.ts';
import { print, printable, printJson } from '../../../output.ts';
import { findUuid } from '../find.ts';
import { AT_ONCE, connectTransfers, inParallel, onPath, TransferProgress } from './transfer.ts';
import { listTree } from './tree.ts';

const TRIES = 6;
const RETRY_MS = 500;

export interface GetOptions extends CallOptions {
  /** `--no-resume`: what an earlier download left is not used. */
  readonly resume?: boolean;
}

interface RemoteFile {
  readonly path: string;
  readonly file: string;
  readonly size: number;
}

/** Downloads a file, or a folder with all that is in it. */
export async function getFile(
  server: string,
  path: string,
  file: string | undefined,
  options: GetOptions,
): Promise<void> {
  const { client, transfers } = connectTransfers(options);
  const slice = await findUuid(client, server);
  if (file === undefined) return showFile(client, transfers, { slice, path }, options);
  const files = await filesAt(client, slice, path, file);
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const download = new Download(transfers, slice, options, total);
  await download.run(files);
  if (options.json === true) printJson({ files: files.length, bytes: total });
  else if (options.quiet !== true && files.length !== 1)
    print(`${files.length} files, ${total} bytes read.`);
}

/** Writes a file to standard output; as JSON what a file of at most 4 MiB is. */
async function showFile(
  client: KeyClient,
  transfers: FileTransfers,
  { slice, path }: { readonly slice: string; readonly path: string },
  { json }: GetOptions,
): Promise<void> {
  if (json === true) {
    const { data } = await client.readFile({ slice, query: { path } });
    return printJson(data);
  }
  const { body } = await transfers.download({ slice, path });
  for await (const chunk of body) {
    if (process.stdout.write(Buffer.from(chunk))) continue;
    await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
}

/** The files to download, and where they go: into a folder that is there under its own name, as `cp` does. */
async function filesAt(
  client: KeyClient,
  slice: string,
  path: string,
  target: string,
): Promise<readonly RemoteFile[]> {
  const isFolder = await isRemoteFolder(client, slice, path);
  const isThere = isLocalFolder(target);
  const name = path.split('/').findLast((one) => one !== '') ?? '';
  const to = isThere && name !== '' ? join(target, name) : target;
  if (!isFolder) return [{ path, file: to, size: 0 }];
  const found = await listTree(client, slice, path);
  return found.map((one) => ({
    path: one.path,
    size: one.size,
    file: join(to, ...localNames(one.path.slice(path === '' ? 0 : path.length + 1))),
  }));
}

/** Names of a server's files are its game's: none may lead out of the folder that was chosen. */
function localNames(path: string): readonly string[] {
  const names = path.split('/');
  const wrong = names.find((name) => name === '' || name === '.' || name === '..');
  if (wrong !== undefined) throw failed(`${printable(path)} is no path that can be written here`);
  return names;
}

async function isRemoteFolder(client: KeyClient, slice: string, path: string): Promise<boolean> {
  if (path === '') return true;
  try {
    await client.listFiles({ slice, query: { path, per_page: 1 } });
    return true;
  } catch (error) {
    // It is a file.
    if (error instanceof InvalidRequestError && error.code === 'conflict') return false;
    throw error;
  }
}

function isLocalFolder(target: string): boolean {
  return statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
}

class Download {
  readonly #transfers: FileTransfers;
  readonly #slice: string;
  readonly #options: GetOptions;
  readonly #progress: TransferProgress;

  constructor(transfers: FileTransfers, slice: string, options: GetOptions, total: number) {
    this.#transfers = transfers;
    this.#slice = slice;
    this.#options = options;
    this.#progress = new TransferProgress(options, total);
  }

  async run(files: readonly RemoteFile[]): Promise<void> {
    try {
      await inParallel(files, AT_ONCE, (file) => this.#get(file));
    } finally {
      this.#progress.end();
    }
  }

  async #get(remote: RemoteFile): Promise<void> {
    onPath(remote.file, () => mkdirSync(dirname(remote.file), { recursive: true }));
    if (isLocalFolder(remote.file)) throw usageError(`${remote.file} is a folder`);
    if (this.#options.resume === false) removeParts(remote.file);
    let before = -1;
    for (let attempt = 1; ; attempt += 1) {
      const part = partOf(remote.file);
      const rest = part && { from: part.size, etag: part.etag };
      try {
        return await this.#receive(remote, rest);
      } catch (error) {
        if (error instanceof ProblemError && error.code === 'range_not_satisfiable') {
          removeParts(remote.file);
          continue;
        }
        const now = partOf(remote.file)?.size ?? 0;
        if (!(error instanceof ConnectionError)) throw error;
        if (now > before) attempt = 0;
        else if (attempt >= TRIES) throw error;
        before = now;
        await delay(RETRY_MS * (attempt + 1));
      }
    }
  }

  /** Receives a file: what arrives stays beside it, under the name of the ETag that it is a part of, until it is whole. */
  async #receive({ path, file, size }: RemoteFile, rest: Rest | null): Promise<void> {
    const known = size > 0 ? { size } : {};
    const got = await this.#transfers.download({ slice: this.#slice, path, rest, ...known });
    if (!got.isPart) removeParts(file);
    const part = partName(file, got.etag ?? '""');
    const target = onPath(part, () => createWriteStream(part, { flags: got.isPart ? 'a' : 'w' }));
    const received = await this.#write(got, path, target);
    if (got.length !== null && received < got.length)
      throw new ConnectionError('The connection broke off.');
    onPath(file, () => renameSync(part, file));
  }

  async #write(
    { body }: DownloadedFile,
    path: string,
    target: NodeJS.WritableStream,
  ): Promise<number> {
    let received = 0;
    const count = (bytes: number): void => {
      received += bytes;
      this.#progress.add(bytes, path);
    };
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of body) {
          count(chunk.length);
          yield chunk;
        }
      } catch (error) {
        throw new ConnectionError('The connection broke off.', { cause: error });
      }
    };
    await pipeline(Readable.from(chunks()), target);
    return received;
  }
}

const PART = /^\.(?<name>.+)\.(?<tag>[\w-]{20,40}\.bytes)\.part$/;

function partName(file: string, etag: string): string {
  return join(dirname(file), `.${basename(file)}.${etag.replaceAll('"', '')}.part`);
}

function partNames(file: string): readonly string[] {
  const names = onPath(file, () => readdirSync(dirname(file)));
  return names.filter((name) => PART.exec(name)?.groups?.['name'] === basename(file));
}

/** The part that an earlier download of this file left; null if there is nothing. */
function partOf(file: string): { readonly size: number; readonly etag: string } | null {
  const [name = ''] = partNames(file);
  const tag = PART.exec(name)?.groups?.['tag'];
  if (tag === undefined) return null;
  const { size } = statSync(join(dirname(file), name));
  return size === 0 ? null : { size, etag: `"${tag}"` };
}

function removeParts(file: string): void {
  for (const name of partNames(file)) rmSync(join(dirname(file), name));
}
