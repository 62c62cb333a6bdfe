import type { FileList } from '@portcullis/client/index.ts';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import { filesMessages } from '../../../messages/files.ts';
import { rightRefusal } from '../server-right.ts';

export type Entry = FileList['data'][number];

/** The rights that the node asks for at each action. */
const NEEDS = {
  list: ['file.read'],
  open: ['file.read-content'],
  save: ['file.update'],
  download: ['file.read-content'],
  rename: ['file.update'],
  move: ['file.update'],
  mode: ['file.update'],
  copy: ['file.read-content', 'file.create'],
  archive: ['file.archive', 'file.read-content', 'file.create'],
  unpack: ['file.archive', 'file.read-content', 'file.create'],
  delete: ['file.delete'],
  create: ['file.create'],
  upload: ['file.create'],
  pull: ['file.create'],
  restore: ['file.create'],
  purge: ['file.delete'],
  searchText: ['file.read-content'],
} as const satisfies Readonly<Record<string, readonly FileRight[]>>;

export type FileAction = keyof typeof NEEDS;

/** Actions on one entry alone. */
const SINGLE: readonly FileAction[] = ['open', 'rename', 'unpack'];
/** Actions on files and folders, of which links and special files are neither. */
const NO_SPECIAL: readonly FileAction[] = ['open', 'download', 'copy', 'archive', 'mode'];
const ARCHIVE = /\.(?:zip|jar|tar|tgz|tzst|gz|zst|7z|rar|xz|txz|bz2|tbz2?)$/i;

const text = filesMessages.refusals;

/** Why an action on these entries is not possible; null when it is. */
export function refusalOf(
  action: FileAction,
  rights: readonly string[],
  entries: readonly Entry[] = [],
): string | null {
  for (const right of NEEDS[action]) {
    const refusal = rightRefusal(rights, right);
    if (refusal !== null) return refusal;
  }
  if (entries.length > 1 && SINGLE.includes(action)) return text.single;
  const denied = entries.find((entry) => entry.denied);
  if (denied !== undefined) return text.denied(denied.name);
  if (NO_SPECIAL.includes(action)) {
    const special = entries.find(({ type }) => type !== 'file' && type !== 'folder');
    if (special !== undefined) return text.special(special.name);
  }
  const [first] = entries;
  if (action === 'unpack' && first !== undefined && !isArchive(first)) return text.noArchive;
  return null;
}

export function isArchive({ name, type }: Pick<Entry, 'name' | 'type'>): boolean {
  return type === 'file' && ARCHIVE.test(name);
}
