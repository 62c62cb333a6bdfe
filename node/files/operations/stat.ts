import { type FilePath, formatPath } from '@portcullis/core/game-servers/files/path.ts';
import type { FileEntry } from '@portcullis/link/messages/files.ts';
import type { Gate } from '../gate.ts';
import { notFound } from '../refusal.ts';
import { describeEntry } from './describe.ts';

/** Describes one entry; of a link, the link itself. */
export async function statPath(gate: Gate, path: FilePath): Promise<FileEntry> {
  gate.require('file.read');
  if (path.length === 0) return TOP;
  const place = await gate.place(path, 'file.read');
  return gate.about(path, async () => {
    const stat = place.folder.statNow(place.name);
    if (stat === null) throw notFound(formatPath(path));
    return describeEntry(path.at(-1) ?? '', stat, { denied: false, content: null });
  });
}

/** The folder of the server. */
const TOP: FileEntry = {
  name: '',
  type: 'folder',
  size: 0,
  modifiedAtMs: 0,
  mode: 0o755,
  denied: false,
  content: null,
};

/** Whether a folder is empty; throws for what is none. */
export async function isEmptyFolder(gate: Gate, path: FilePath): Promise<boolean> {
  const folder = await gate.folder(path, 'file.delete');
  for await (const _ of folder.entries()) return false;
  return true;
}
