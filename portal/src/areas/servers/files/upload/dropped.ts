/** A file of the viewer's machine, and where it goes below the folder that it was given to. */
export interface LocalFile {
  readonly path: string;
  readonly file: File;
}

export interface LocalTree {
  readonly files: readonly LocalFile[];
  /** Folders that hold nothing, which no file brings with it. */
  readonly emptyFolders: readonly string[];
}

/** The part of a browser's `FileSystemEntry` that this reads. */
export interface DroppedEntry {
  readonly isFile: boolean;
  readonly name: string;
  file?(done: (file: File) => void, failed: (error: Error) => void): void;
  createReader?(): {
    readEntries(
      done: (entries: readonly DroppedEntry[]) => void,
      failed: (error: Error) => void,
    ): void;
  };
}

/**
 * The entries of a drop. They must be taken while the event runs, because a browser empties its list afterwards.
 */
export function entriesOf(items: DataTransferItemList): readonly DroppedEntry[] {
  return Array.from(items).flatMap((item) => {
    const entry = item.kind === 'file' ? item.webkitGetAsEntry() : null;
    return entry === null ? [] : [entry];
  });
}

/** Every file below these entries, whole folders with their paths. */
export async function readEntries(entries: readonly DroppedEntry[]): Promise<LocalTree> {
  const files: LocalFile[] = [];
  const emptyFolders: string[] = [];
  const visit = async (entry: DroppedEntry, above: string): Promise<void> => {
    const path = above === '' ? entry.name : `${above}/${entry.name}`;
    if (entry.isFile) {
      files.push({ path, file: await fileOf(entry) });
      return;
    }
    const children = await childrenOf(entry);
    if (children.length === 0) emptyFolders.push(path);
    for (const child of children) await visit(child, path);
  };
  for (const entry of entries) await visit(entry, '');
  return { files, emptyFolders };
}

/** The files that a file dialog gave; those of a folder name their path in it. */
export function treeOf(chosen: FileList | null): LocalTree {
  const files = Array.from(chosen ?? []).map((file) => ({
    path: file.webkitRelativePath === '' ? file.name : file.webkitRelativePath,
    file,
  }));
  return { files, emptyFolders: [] };
}

/** The names that a tree would make in its folder. */
export function topNames({ files, emptyFolders }: LocalTree): ReadonlySet<string> {
  const paths = [...files.map(({ path }) => path), ...emptyFolders];
  return new Set(paths.map((path) => path.split('/', 1)[0] ?? path));
}

/** The tree without what has these names in its folder. */
export function without(tree: LocalTree, names: ReadonlySet<string>): LocalTree {
  const stays = (path: string): boolean => !names.has(path.split('/', 1)[0] ?? path);
  return {
    files: tree.files.filter(({ path }) => stays(path)),
    emptyFolders: tree.emptyFolders.filter(stays),
  };
}

function fileOf(entry: DroppedEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file?.(resolve, reject));
}

/** A reader gives a hundred entries at a time, until it gives none. */
async function childrenOf(entry: DroppedEntry): Promise<readonly DroppedEntry[]> {
  const reader = entry.createReader?.();
  const children: DroppedEntry[] = [];
  for (;;) {
    const more = await new Promise<readonly DroppedEntry[]>((resolve, reject) => {
      if (reader === undefined) resolve([]);
      else reader.readEntries(resolve, reject);
    });
    if (more.length === 0) return children;
    children.push(...more);
  }
}
