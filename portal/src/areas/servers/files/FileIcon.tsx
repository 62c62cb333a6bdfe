import {
  File,
  FileArchive,
  FileCog,
  FileImage,
  FileQuestion,
  FileText,
  Folder,
  FolderSymlink,
  type LucideIcon,
  Package,
  ScrollText,
} from 'lucide-react';
import type { Entry } from './actions.ts';

/** Icons by the ending of a name, which a list has without opening files. */
const BY_ENDING: readonly (readonly [RegExp, LucideIcon])[] = [
  [/\.jar$/i, Package],
  [/\.(?:zip|tar|gz|tgz|zst|7z|rar|xz|bz2)$/i, FileArchive],
  [/\.(?:png|jpe?g|gif|webp|svg|bmp|ico)$/i, FileImage],
  [/\.log(?:\.\d+)?$/i, ScrollText],
  [/\.(?:ya?ml|json5?|toml|properties|ini|cfg|conf|xml|env)$/i, FileCog],
  [/\.(?:txt|md|lua|js|sh|py|sk|csv)$/i, FileText],
];

interface Props {
  readonly entry: Pick<Entry, 'name' | 'type'>;
}

/** The kind of an entry at a glance; its row says it in words. */
export function FileIcon({ entry: { name, type } }: Props) {
  const Icon = iconOf(name, type);
  return <Icon size={17} className="file-icon" data-type={type} aria-hidden="true" />;
}

function iconOf(name: string, type: string): LucideIcon {
  if (type === 'folder') return Folder;
  if (type === 'link') return FolderSymlink;
  if (type !== 'file') return FileQuestion;
  return BY_ENDING.find(([ending]) => ending.test(name))?.[1] ?? File;
}
