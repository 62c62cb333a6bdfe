import {
  nameFromBytes,
  nameToBytes,
  type FilePath,
  parsePath,
  RESERVED_NAME,
} from '@portcullis/core/game-servers/files/path.ts';
import type { FileAnswerOf, FileEntry, FileOperationOf } from '@portcullis/link/messages/files.ts';
import type { Folder } from '../../server-folder/folder.ts';
import type { Gate } from '../gate.ts';
import { contentOf, describeEntry } from './describe.ts';

/** Entries of a folder that are read; more are not sorted. */
const MAX_ENTRIES = 100_000;
/** Concurrent calls of the file system. */
const BATCH = 32;
/** Entries whose properties are read without a pause. */
const PAUSE_ENTRIES = 256;

interface Listed {
  readonly name: string;
  readonly isFolder: boolean;
  /** For sorting. */
  readonly key: string | number;
}

/** Lists a page of a folder: folders first, then by what was asked for. */
export async function list(
  gate: Gate,
  operation: FileOperationOf<'list'>,
): Promise<FileAnswerOf<'entries'>> {
  const path = pathOf(operation.path);
  const { offset, limit, withContent } = operation;
  if (withContent) gate.require('file.read-content');
  const folder = await gate.folder(path, 'file.read');
  return gate.about(path, async () => {
    const { listed, complete } = await collect(folder, path, operation);
    const page = listed.slice(offset, offset + limit);
    const entries = await inBatches(page, ({ name }) =>
      describe(gate, folder, [...path, name], withContent),
    );
    const present = entries.filter((entry) => entry !== null);
    return { kind: 'entries', entries: present, total: listed.length, complete };
  });
}

async function collect(
  folder: Folder,
  path: FilePath,
  { sort, descending }: FileOperationOf<'list'>,
): Promise<{ readonly listed: readonly Listed[]; readonly complete: boolean }> {
  const found: Listed[] = [];
  let complete = true;
  for await (const { name, isFolder } of folder.entries()) {
    const text = nameFromBytes(name);
    if (path.length === 0 && text === RESERVED_NAME) continue;
    if (found.length >= MAX_ENTRIES) {
      complete = false;
      break;
    }
    found.push({ name: text, isFolder, key: text.toLowerCase() });
  }
  const listed = sort === 'name' ? found : await withKeys(folder, found, sort);
  return { listed: listed.toSorted((a, b) => compare(a, b, descending)), complete };
}

async function withKeys(
  folder: Folder,
  found: readonly Listed[],
  sort: 'size' | 'modified',
): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (const entry of found) {
    // The agent gets to do other work.
    if (listed.length % PAUSE_ENTRIES === 0) await new Promise(setImmediate);
    const stat = folder.statNow(bytesOf(entry.name));
    const key = sort === 'size' ? stat?.size : stat?.mtimeMs;
    listed.push({ ...entry, key: Number(key ?? 0) });
  }
  return listed;
}

function compare(a: Listed, b: Listed, descending: boolean): number {
  if (a.isFolder !== b.isFolder) return a.isFolder ? -1 : 1;
  const order = a.key < b.key ? -1 : a.key > b.key ? 1 : a.name < b.name ? -1 : 1;
  return descending ? -order : order;
}

async function describe(
  gate: Gate,
  folder: Folder,
  path: FilePath,
  withContent: boolean,
): Promise<FileEntry | null> {
  const { denylist, owner } = gate.files;
  const name = path.at(-1) ?? '';
  const stat = await folder.stat(bytesOf(name));
  if (stat === null) return null;
  const denied = denylist.denies(path);
  const looks = withContent && !denied && stat.isFile();
  const content = looks ? await contentOf(folder, bytesOf(name), owner) : null;
  return describeEntry(name, stat, { denied, content });
}

async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += BATCH) {
    results.push(...(await Promise.all(items.slice(at, at + BATCH).map(work))));
  }
  return results;
}

function bytesOf(name: string): Buffer {
  return Buffer.from(nameToBytes(name) ?? []);
}

/** The path of an operation, which the link has checked. */
export function pathOf(text: string): FilePath {
  const path = parsePath(text);
  if (!path.ok) throw new Error(`a path ${path.reason}`);
  return path.value;
}
