import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { finishFile, type Folder, Refusal, refusedCode } from '../server-folder/folder.ts';
import type { Gate, Place } from './gate.ts';

/** A file or folder that is being made in the work folder, and gets its name when it is whole. */
export interface Draft {
  readonly tmp: Folder;
  readonly name: string;
  /** Whether it has its name, and nothing of it is left in the work folder. */
  isPublished?: boolean;
}

/**
 * Makes something in the work folder under a random name, and removes what is left of it in the end. What a killed agent
 * leaves there is removed by the next sweep.
 */
export async function withDraft<T>(gate: Gate, make: (draft: Draft) => Promise<T>): Promise<T> {
  const tmp = await gate.work('tmp');
  const name = randomBytes(12).toString('hex');
  const { inUse } = gate.files;
  const draft: Draft = { tmp, name };
  inUse.add(name);
  try {
    return await make(draft);
  } finally {
    if (draft.isPublished !== true) await discard(gate, tmp, name);
    inUse.delete(name);
  }
}

/** Writes a file of the work folder whole and on the disk. `fill` writes the content. */
export async function writeDraft(
  gate: Gate,
  { tmp, name }: Draft,
  mode: number,
  fill: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const handle = await tmp.create(name);
  try {
    await fill(handle);
    await finishFile(handle, mode, gate.files.owner);
  } finally {
    await handle.close();
  }
}

/** Gives a draft its place, where nothing may be. It is on the disk when this resolves. */
export async function publish(draft: Draft, place: Place, replace = false): Promise<void> {
  await draft.tmp.move(draft.name, place.folder, place.name, replace);
  draft.isPublished = true;
  await place.folder.sync();
}

async function discard(gate: Gate, tmp: Folder, name: string): Promise<void> {
  try {
    await tmp.remove(name);
  } catch (error) {
    // A folder: emptied by the sweep, because that may take long.
    if (!(error instanceof Refusal)) throw error;
    if (refusedCode(error) === 'EISDIR' || refusedCode(error) === 'EPERM') gate.files.sweep();
  }
}
