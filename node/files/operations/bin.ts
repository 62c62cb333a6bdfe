import { randomBytes } from 'node:crypto';
import {
  type FilePath,
  formatPath,
  nameFromBytes,
  nameToBytes,
} from '@portcullis/core/game-servers/files/path.ts';
import type { FileAnswerOf, FileOperationOf } from '@portcullis/link/messages/files.ts';
import type { Folder } from '../../server-folder/folder.ts';
import type { Gate, Place } from '../gate.ts';
import { FileRefusal, notFound } from '../refusal.ts';
import { TreeWalk } from '../tree.ts';
import { isShort, sizeOf, typeOf } from './describe.ts';
import { each } from './each.ts';
import { pathOf } from './list.ts';

/** Days that deleted files are kept. */
export const BIN_DAYS = 7;
const DAY_MS = 86_400_000;
/** Items of one answer. */
const MAX_ITEMS = 1_000;
const BEFORE_INSTALL = /^before-install-\d+$/;
/** Entries of the files before an install, which are checked as one. */
const MOST_ENTRIES = 5_000_000;

/**
 * A deleted entry is in a folder of its own of the bin, below the folders that it was in. The name of that folder says
 * when it was deleted, and how many names its path has.
 */
const ID = /^(?<at>[0-9a-z]{8,9})-(?<depth>\d{1,2})-[0-9a-f]{16}$/;

interface Binned {
  readonly deletedAtMs: number;
  readonly depth: number;
}

/** `isForGoodAtFull`: what the bin of a full server does not take is deleted for good. */
export async function deleteFiles(
  gate: Gate,
  { paths, forGood }: FileOperationOf<'delete'>,
  { isForGoodAtFull = false }: { readonly isForGoodAtFull?: boolean } = {},
): Promise<FileAnswerOf<'done'>> {
  const { quota } = gate.files;
  return each(paths, async (text) => {
    const place = await gate.place(pathOf(text), 'file.delete');
    await gate.about(place.path, async () => {
      await gate.requireTreeAllowed(place);
      const isLast = forGood || (isForGoodAtFull && quota.isBinFull(place.path.length));
      await (isLast ? discard(gate, place.folder, place.name) : moveToBin(gate, place));
    });
  });
}

/** Moves an entry to the bin, with what is in it. Leaves nothing else there if that fails. */
export async function moveToBin(gate: Gate, { path, folder, name }: Place): Promise<void> {
  if (!(await folder.has(name))) throw notFound(formatPath(path));
  // Its own folder in the bin, and those that it was in.
  await gate.files.quota.takeForBin(path.length);
  const bin = await gate.work('bin');
  const id = newBinId(path.length);
  await bin.make(id, gate.files.owner, 0o700);
  let isMoved = false;
  try {
    const own = await enterAll(gate, bin, [id, ...path.slice(0, -1)], true);
    try {
      await folder.move(name, own, name);
      isMoved = true;
      await own.sync();
      await folder.sync();
    } finally {
      await own.close();
    }
  } catch (error) {
    if (!isMoved) await discard(gate, bin, Buffer.from(id)).catch(() => undefined);
    throw error;
  }
}

/** The name of the one folder that the files of a server are in the bin when it is installed again. */
export function beforeInstall(buildEpoch: number): string {
  return `before-install-${buildEpoch}`;
}

/** A name in the bin for an entry that is deleted now, whose path has this number of names. */
export function newBinId(depth: number): string {
  return `${Date.now().toString(36)}-${depth}-${randomBytes(8).toString('hex')}`;
}

/** Lists the bin, newest first. */
export async function listBin(gate: Gate): Promise<FileAnswerOf<'bin'>> {
  gate.require('file.read');
  const bin = await gate.work('bin');
  const items: FileAnswerOf<'bin'>['items'][number][] = [];
  for (const id of (await idsOf(bin)).slice(0, MAX_ITEMS)) {
    const found = await locate(gate, bin, id).catch(ignoreRefusal);
    if (found === null) continue;
    const { folder, name, path, deletedAtMs } = found;
    try {
      const stat = await folder.stat(name);
      // What a game put there may have any path.
      if (stat === null || !isShort(path)) continue;
      const [type, size] = [typeOf(stat), sizeOf(stat)];
      items.push({ id, path: formatPath(path), type, size, deletedAtMs });
    } finally {
      await folder.close();
    }
  }
  return { kind: 'bin', items, days: BIN_DAYS };
}

/** Moves items of the bin back to where they were. */
export async function restore(
  gate: Gate,
  { ids }: FileOperationOf<'restore'>,
): Promise<FileAnswerOf<'done'>> {
  const bin = await gate.work('bin');
  return each(ids, async (id) => {
    const found = await locate(gate, bin, id);
    if (found === null) throw new FileRefusal('not_found', `There is no ${id} in the bin.`);
    try {
      const { path, folder, name } = found;
      const target = await gate.place(path, 'file.create', true);
      const isBeforeInstall = path.length === 1 && BEFORE_INSTALL.test(path[0] ?? '');
      if (isBeforeInstall) await discardDenied(gate, found);
      await gate.change([target], () =>
        gate.about(path, async () => {
          if (!isBeforeInstall) await gate.requireTreeAllowed({ ...found, path });
          await folder.move(name, target.folder, target.name);
          await target.folder.sync();
        }),
      );
    } finally {
      await found.folder.close();
    }
    await discard(gate, bin, Buffer.from(id));
  });
}

/**
 * Removes what the egg denies of the files before an install, which was at the top of the server and is not denied in a folder. The
 * install was to take it away with the rest.
 */
async function discardDenied(gate: Gate, { path, folder, name }: Place): Promise<void> {
  const { denylist } = gate.files;
  if (denylist.isEmpty) return;
  const walk = new TreeWalk({ maxEntries: MOST_ENTRIES });
  for await (const visit of walk.of(folder, name)) {
    const isDenied = denylist.denies(visit.path) || denylist.denies([...path, ...visit.path]);
    if (isDenied) await discard(gate, visit.folder, visit.name);
  }
  if (walk.complete) return;
  const detail = `${formatPath(path)} holds too much to check it against the denylist of the egg.`;
  throw new FileRefusal('denied', detail);
}

export async function emptyBin(
  gate: Gate,
  { ids }: FileOperationOf<'emptyBin'>,
): Promise<FileAnswerOf<'done'>> {
  gate.require('file.delete');
  const bin = await gate.work('bin');
  // All: also what a game put there.
  if (ids === null) {
    await discardAll(gate, bin, () => true);
    return { kind: 'done', done: [], failed: [] };
  }
  return each(ids, async (id) => {
    if (readId(id) === null || !(await bin.has(id)))
      throw new FileRefusal('not_found', `There is no ${id} in the bin.`);
    await discard(gate, bin, Buffer.from(id));
  });
}

/** Removes what has been in the bin for its days. */
export async function expireBin(gate: Gate, nowMs: number): Promise<void> {
  const before = nowMs - BIN_DAYS * DAY_MS;
  await discardAll(gate, await gate.work('bin'), (name) => {
    const item = readId(nameFromBytes(name));
    return item !== null && item.deletedAtMs < before;
  });
}

async function discardAll(gate: Gate, bin: Folder, goes: (name: Buffer) => boolean): Promise<void> {
  const names: Buffer[] = [];
  for await (const { name } of bin.entries()) if (goes(name)) names.push(name);
  for (const name of names) await discard(gate, bin, name);
}

/** Moves an entry out of sight at once; a sweep removes it, which may take long. */
async function discard(gate: Gate, folder: Folder, name: Buffer): Promise<void> {
  const tmp = await gate.work('tmp');
  await folder.move(name, tmp, randomBytes(12).toString('hex'));
  await folder.sync();
  gate.files.sweep();
}

interface Located extends Place, Binned {}

/** The deleted entry of an item, in its open folder, and the path that it had. Null if there is none. */
async function locate(gate: Gate, bin: Folder, id: string): Promise<Located | null> {
  const item = readId(id);
  if (item === null) return null;
  const path: string[] = [];
  let folder = await enterAll(gate, bin, [id], false);
  try {
    for (;;) {
      const name = await onlyName(folder);
      if (name === null) break;
      path.push(nameFromBytes(name));
      if (path.length === item.depth) return { ...item, path, folder, name };
      const next = await folder.enter(name, null);
      if (next === null) break;
      await folder.close();
      folder = next;
    }
  } catch (error) {
    await folder.close();
    throw error;
  }
  await folder.close();
  return null;
}

/** The name in a folder of the bin, which has one; null if it has none. */
async function onlyName(folder: Folder): Promise<Buffer | null> {
  for await (const { name } of folder.entries()) return name;
  return null;
}

async function idsOf(bin: Folder): Promise<string[]> {
  const ids: string[] = [];
  for await (const { name } of bin.entries()) {
    const id = nameFromBytes(name);
    if (readId(id) !== null) ids.push(id);
  }
  return ids.toSorted().toReversed();
}

function readId(id: string): Binned | null {
  const { at, depth } = ID.exec(id)?.groups ?? {};
  return at === undefined ? null : { deletedAtMs: Number.parseInt(at, 36), depth: Number(depth) };
}

/** Opens a folder below another one; its caller closes it. */
async function enterAll(gate: Gate, from: Folder, names: FilePath, make: boolean): Promise<Folder> {
  let folder = await from.again();
  for (const name of names) {
    const { owner } = gate.files;
    const bytes = Buffer.from(nameToBytes(name) ?? []);
    try {
      const next = await folder.enter(bytes, make ? { owner } : null);
      if (next === null) throw new FileRefusal('not_found', `There is no ${name} in the bin.`);
      await folder.close();
      folder = next;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }
  return folder;
}

/** Null for an entry that a game left in the bin, which is no item of it. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof Error && (error.name === 'Refusal' || error instanceof FileRefusal))
    return null;
  throw error;
}
