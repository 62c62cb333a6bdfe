import type { BigIntStats } from 'node:fs';
import {
  type FilePath,
  formatPath,
  MAX_PATH_LENGTH,
} from '@portcullis/core/game-servers/files/path.ts';
import type { ContentKind, FileEntry } from '@portcullis/link/messages/files.ts';
import type { Folder, Owner } from '../../server-folder/folder.ts';
import { Refusal } from '../../server-folder/folder.ts';

/** Enough to tell a tar archive, whose mark is at byte 257. */
const HEAD_BYTES = 512;
const LAST_MOMENT = 253_402_300_799_999;

/** The link's description of an entry. */
export function describeEntry(
  name: string,
  stat: BigIntStats,
  { denied, content }: Pick<FileEntry, 'denied' | 'content'>,
): FileEntry {
  return {
    name,
    type: typeOf(stat),
    size: sizeOf(stat),
    modifiedAtMs: momentOf(stat),
    mode: Number(stat.mode & 0o777n),
    denied,
    content,
  };
}

export function typeOf(stat: BigIntStats): FileEntry['type'] {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'folder';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

/** A game may make a file as large as its file system counts, which is more than a number holds. */
export function sizeOf(stat: Pick<BigIntStats, 'isDirectory' | 'size'>): number {
  return stat.isDirectory() ? 0 : Math.min(Number(stat.size), Number.MAX_SAFE_INTEGER);
}

/** Whether a path is one that an answer holds: a game may make folders deeper than that. */
export function isShort(path: FilePath): boolean {
  return formatPath(path).length <= MAX_PATH_LENGTH;
}

/** A game may set any time, also one that no date has. */
export function momentOf({ mtimeMs }: BigIntStats): number {
  const ms = Number(mtimeMs);
  return Math.min(Math.max(0, ms), LAST_MOMENT);
}

/** The kind of a regular file's content by its first bytes; null for a file that may not be read. */
export async function contentOf(
  folder: Folder,
  name: Buffer,
  owner: Owner | null,
): Promise<ContentKind | null> {
  try {
    const file = await folder.openFile(name, owner);
    if (file === null) return null;
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      const { bytesRead } = await file.handle.read(head, 0, HEAD_BYTES, 0);
      return kindOf(head.subarray(0, bytesRead));
    } finally {
      await file.handle.close();
    }
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** First bytes in hexadecimal. */
const MARKS: readonly (readonly [string, ContentKind])[] = [
  ['89504e47', 'image'],
  ['ffd8ff', 'image'],
  ['47494638', 'image'],
  ['504b0304', 'archive'],
  ['504b0506', 'archive'],
  ['1f8b', 'archive'],
  ['28b52ffd', 'archive'],
  ['377abcaf271c', 'archive'],
  ['526172211a07', 'archive'],
  ['fd377a585a00', 'archive'],
  ['425a68', 'archive'],
];

export function kindOf(head: Buffer): ContentKind {
  if (head.length === 0) return 'empty';
  const start = head.toString('hex', 0, 8);
  const mark = MARKS.find(([bytes]) => start.startsWith(bytes));
  if (mark !== undefined) return mark[1];
  if (head.toString('latin1', 257, 262) === 'ustar') return 'archive';
  if (start.startsWith('52494646') && head.toString('latin1', 8, 12) === 'WEBP') return 'image';
  return head.includes(0) ? 'binary' : 'text';
}
