import { createHash } from 'node:crypto';
import { type FilePath, formatPath } from '@portcullis/core/game-servers/files/path.ts';
import {
  type FileAnswerOf,
  type FileOperationOf,
  MAX_CALL_BYTES,
} from '@portcullis/link/messages/files.ts';
import { type OpenFile, readWhole } from '../../server-folder/folder.ts';
import type { Gate, Place } from '../gate.ts';
import { FileRefusal, notFound } from '../refusal.ts';
import { type Draft, publish, withDraft, writeDraft } from '../work.ts';
import { momentOf } from './describe.ts';
import { pathOf } from './list.ts';

export const NEW_MODE = 0o644;
/** The tag of no file. */
const ABSENT = 'absent';
/** Reads a file of at most 4 MiB. */
export async function read(
  gate: Gate,
  operation: FileOperationOf<'read'>,
): Promise<FileAnswerOf<'content'>> {
  const place = await gate.place(pathOf(operation.path), 'file.read-content');
  return gate.about(place.path, async () => {
    const file = await place.folder.openFile(place.name, gate.files.owner);
    if (file === null) throw notFound(formatPath(place.path));
    const { handle, stat } = file;
    try {
      if (stat.size > MAX_CALL_BYTES) throw tooLarge(place);
      const bytes = await readWhole(handle, MAX_CALL_BYTES);
      return {
        kind: 'content',
        content: bytes.toString('base64'),
        tag: tagOf(bytes),
        size: bytes.length,
        modifiedAtMs: momentOf(stat),
        mode: Number(stat.mode & 0o777n),
      };
    } finally {
      await handle.close();
    }
  });
}

/**
 * Writes a file whole: readers see the old content or the new one, also after a crash. Creates the folders on the way. With
 * `expected`, only if the file still has that content.
 */
export async function write(
  gate: Gate,
  operation: FileOperationOf<'write'>,
): Promise<FileAnswerOf<'written'>> {
  const path = pathOf(operation.path);
  const bytes = Buffer.from(operation.content, 'base64');
  const isNew = !(await exists(gate, path));
  const place = await gate.place(path, isNew ? 'file.create' : 'file.update', isNew);
  return gate.about(path, () =>
    withDraft(gate, async (draft) => {
      const before = await present(place);
      await requireExpected(gate, place, operation.expected);
      const added = { bytes: bytes.length - (before?.size ?? 0), entries: before === null ? 1 : 0 };
      const granted = await gate.files.quota.take(added);
      let used = { bytes: 0, entries: 0 };
      try {
        const mode = operation.mode ?? before?.mode ?? NEW_MODE;
        await writeDraft(gate, draft, mode, (handle) => handle.writeFile(bytes));
        const check = () => requireExpected(gate, place, operation.expected);
        await publishFile(gate, draft, place, { check });
        used = added;
      } finally {
        granted.close(used);
      }
      return { kind: 'written', tag: tagOf(bytes), size: bytes.length, created: before === null };
    }),
  );
}

export interface PublishOptions {
  /** Whether a file that is there is replaced; default: it is. */
  readonly replace?: boolean;
  /** Throws if the file may not get its name after all. Nothing else changes between it and the rename. */
  readonly check?: () => Promise<void>;
}

/**
 * Gives a whole file its name: the last step of every door. It needs the right for what is there by then, which a game or
 * another caller may have made since the door looked. Only a regular file is replaced.
 */
export function publishFile(
  gate: Gate,
  draft: Draft,
  place: Place,
  { replace = true, check }: PublishOptions = {},
): Promise<void> {
  return gate.change([place], async () => {
    await check?.();
    const replaces = (await present(place)) !== null && replace;
    gate.require(replaces ? 'file.update' : 'file.create');
    await publish(draft, place, replaces);
  });
}

/** Whether there is anything at a path. Needs the right to write there. */
export async function exists(gate: Gate, path: FilePath): Promise<boolean> {
  try {
    const { folder, name } = await gate.place(path, gate.requireAny('file.update', 'file.create'));
    return await folder.has(name);
  } catch (error) {
    if (error instanceof FileRefusal && error.code === 'not_found') return false;
    throw error;
  }
}

/** The regular file at a place; null if there is nothing. Throws for anything else. */
export async function present({ path, folder, name }: Place) {
  const stat = folder.statNow(name);
  if (stat === null) return null;
  if (!stat.isFile()) {
    const what = stat.isDirectory() ? 'a folder' : stat.isSymbolicLink() ? 'a link' : 'no file';
    throw new FileRefusal('impossible', `${formatPath(path)} is ${what}.`);
  }
  return { size: Number(stat.size), mode: Number(stat.mode & 0o777n) };
}

/** Throws unless a file has this tag; null: any. */
export async function requireExpected(
  gate: Gate,
  place: Place,
  expected: string | null,
): Promise<void> {
  if (expected === null) return;
  const found = await presentTag(gate, place);
  if (found === expected) return;
  const path = formatPath(place.path);
  const detail =
    expected === ABSENT
      ? `There is a file ${path} already.`
      : found === ABSENT
        ? `${path} is gone: it was deleted or moved since it was read.`
        : `${path} was changed since it was read.`;
  throw new FileRefusal('changed', detail);
}

async function presentTag(gate: Gate, { folder, name }: Place): Promise<string> {
  const file = await folder.openFile(name, gate.files.owner);
  if (file === null) return ABSENT;
  try {
    return await tagOfFile(file);
  } finally {
    await file.handle.close();
  }
}

/** Names the content of an open file; that of a large one by what each write changes of its properties. */
export async function tagOfFile({ handle, stat }: OpenFile): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = stat;
  if (size <= MAX_CALL_BYTES) return tagOf(await readWhole(handle, MAX_CALL_BYTES));
  return tagOf(Buffer.from([dev, ino, size, mtimeNs, ctimeNs].join(' ')));
}

/** The tag of a file, for a caller that is about to write it. */
export async function readTag(
  gate: Gate,
  operation: FileOperationOf<'tag'>,
): Promise<FileAnswerOf<'tagged'>> {
  const path = pathOf(operation.path);
  try {
    const place = await gate.place(path, 'file.read-content');
    const tag = await gate.about(path, () => presentTag(gate, place));
    return { kind: 'tagged', tag: tag === ABSENT ? null : tag };
  } catch (error) {
    if (error instanceof FileRefusal && error.code === 'not_found')
      return { kind: 'tagged', tag: null };
    throw error;
  }
}

/** Names a content: two files of one tag hold the same. */
function tagOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

function tooLarge({ path }: Place): FileRefusal {
  const detail = `${formatPath(path)} is larger than 4 MiB, which is the most that is read at once.`;
  return new FileRefusal('too_large', detail);
}
