import { RESERVED_NAME } from '@portcullis/core/game-servers/files/path.ts';
import type { EmptyFiles } from '@portcullis/core/game-servers/power.ts';
import { Folder, type Owner } from '../../server-folder/folder.ts';
import { removeContentBut } from '../tree.ts';
import { newBinId } from './bin.ts';

export interface Emptying {
  /** The path of the server's folder. */
  readonly folder: string;
  readonly owner: Owner | null;
  readonly how: EmptyFiles;
  /** The name under which all of it is one item of the bin. */
  readonly name: string;
}

/**
 * Empties the folder of a server that does not run. In the bin its files are one folder, which can be restored; deleted files
 * are gone, with all that the bin had. An end in the middle leaves a part of them, and the next call takes the rest.
 */
export async function emptyFolder({ folder, owner, how, name }: Emptying): Promise<void> {
  const root = await Folder.open(folder);
  try {
    if (how === 'delete') await removeContentBut(root, new Set());
    else await moveAll(root, owner, name);
    await root.sync();
  } finally {
    await root.close();
  }
}

async function moveAll(root: Folder, owner: Owner | null, name: string): Promise<void> {
  const opened: Folder[] = [];
  const enter = async (from: Folder, entry: string): Promise<Folder> => {
    const next = await from.enter(entry, { owner });
    if (next === null) throw new Error(`${entry} went away while the folder was emptied`);
    opened.push(next);
    return next;
  };
  const names: Buffer[] = [];
  for await (const entry of root.entries()) {
    if (entry.name.toString('latin1') !== RESERVED_NAME) names.push(entry.name);
  }
  if (names.length === 0) return;
  try {
    const bin = await enter(await enter(root, RESERVED_NAME), 'bin');
    const target = await enter(await enter(bin, newBinId(1)), name);
    for (const entry of names) await root.move(entry, target, entry);
    await target.sync();
  } finally {
    for (const one of opened.toReversed()) await one.close();
  }
}
