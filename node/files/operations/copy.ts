import type { FileHandle } from 'node:fs/promises';
import { formatPath, nameToBytes } from '@portcullis/core/game-servers/files/path.ts';
import type { FileOperationOf } from '@portcullis/link/messages/files.ts';
import { finishFile, type Folder, type OpenFile, Refusal } from '../../server-folder/folder.ts';
import type { Gate, Place } from '../gate.ts';
import type { RunningJob } from '../jobs.ts';
import { FileRefusal } from '../refusal.ts';
import { TreeWalk, type Visit } from '../tree.ts';
import { type Draft, publish, withDraft, writeDraft } from '../work.ts';
import { requireOutside, requirePresent } from './change.ts';
import { pathOf } from './list.ts';

const CHUNK = 256 * 1024;
/** Entries of a folder that is copied. */
const MAX_ENTRIES = 1_000_000;

/** Copies a file or a folder to a free name, as a job. Returns the id of the job. */
export async function copy(gate: Gate, { from, to }: FileOperationOf<'copy'>): Promise<string> {
  gate.require('file.read-content');
  const source = await gate.place(pathOf(from), 'file.read-content');
  const path = pathOf(to);
  requireOutside(source, path);
  await requirePresent(source);
  const target = await gate.place(path, 'file.create', true);
  if (await target.folder.has(target.name))
    throw new FileRefusal('exists', `There is a ${to} already.`);
  const rights = ['file.read-content', 'file.create'] as const;
  return gate.begin({ kind: 'copy', path: from, rights }, (job) =>
    gate.about(path, () => copyTree(gate, source, target, job)),
  );
}

async function copyTree(gate: Gate, source: Place, target: Place, job: RunningJob): Promise<void> {
  await gate.requireTreeAllowed(source, [target.path]);
  await withDraft(gate, async (draft) => {
    const stat = await source.folder.stat(source.name);
    if (stat?.isDirectory() === true) await copyFolder(gate, { source, target }, draft, job);
    else await copyOne(gate, source, draft, job);
    job.signal.throwIfAborted();
    await gate.change([target], () => publish(draft, target));
  });
}

async function copyOne(gate: Gate, source: Place, draft: Draft, job: RunningJob): Promise<void> {
  const file = await source.folder.openFile(source.name, gate.files.owner);
  if (file === null) throw new FileRefusal('not_found', `There is no ${formatPath(source.path)}.`);
  try {
    await writeDraft(gate, draft, modeOf(file), (handle) => fill(gate, file, handle, job));
  } finally {
    await file.handle.close();
  }
}

/** Copies regular files and folders. Links, devices and what may not be read are left out, and named. */
async function copyFolder(
  gate: Gate,
  { source, target }: { readonly source: Place; readonly target: Place },
  draft: Draft,
  job: RunningJob,
): Promise<void> {
  const { owner } = gate.files;
  await takeFolder(gate);
  await draft.tmp.make(draft.name, owner);
  const made = await draft.tmp.enter(draft.name, null);
  if (made === null) throw copyRemoved();
  const walk = new TreeWalk({ maxEntries: MAX_ENTRIES, signal: job.signal });
  try {
    for await (const visit of walk.of(source.folder, source.name)) {
      const into = await enterCopy(made, visit.path.slice(0, -1));
      try {
        // It may have come there since all was checked.
        for (const { path } of [source, target]) gate.requireAllowed([...path, ...visit.path]);
        await copyVisited(gate, visit, into, job);
      } finally {
        await into.close();
      }
    }
  } finally {
    await made.close();
  }
  job.signal.throwIfAborted();
  if (!walk.complete)
    throw new FileRefusal('too_large', 'The folder is too deep, or has too many files.');
}

async function copyVisited(gate: Gate, visit: Visit, into: Folder, job: RunningJob): Promise<void> {
  const { folder, name, stat, path } = visit;
  const { owner } = gate.files;
  if (stat.isDirectory()) {
    await takeFolder(gate);
    return into.make(name, owner);
  }
  try {
    const file = await folder.openFile(name, owner);
    if (file === null) return;
    try {
      const handle = await into.create(name);
      try {
        await fill(gate, file, handle, job);
        await finishFile(handle, modeOf(file), owner);
      } finally {
        await handle.close();
      }
    } finally {
      await file.handle.close();
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    job.note(`${formatPath(path)} was left out: ${error.message}.`);
  }
}

/** Counts a folder that is about to be made, or throws the refusal. */
async function takeFolder({ files: { quota } }: Gate): Promise<void> {
  (await quota.take({ bytes: 0, entries: 1 })).close({ bytes: 0, entries: 1 });
}

/** Opens the folder of a copy; the walk made each before its content. */
async function enterCopy(root: Folder, names: readonly string[]): Promise<Folder> {
  let folder = await root.again();
  for (const name of names) {
    try {
      const next = await folder.enter(Buffer.from(nameToBytes(name) ?? []), null);
      if (next === null) throw copyRemoved();
      await folder.close();
      folder = next;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }
  return folder;
}

function copyRemoved(): FileRefusal {
  return new FileRefusal('impossible', 'The copy was removed while it was made.');
}

/** Copies a file's content, as far as its size was when it was opened, and takes the quota for that. */
async function fill(
  gate: Gate,
  { handle: from, stat }: OpenFile,
  to: FileHandle,
  job: RunningJob,
): Promise<void> {
  const size = Number(stat.size);
  const granted = await gate.files.quota.take({ bytes: size, entries: 1 });
  let copied = 0;
  try {
    const chunk = Buffer.alloc(Math.min(CHUNK, Math.max(1, size)));
    while (copied < size) {
      job.signal.throwIfAborted();
      const length = Math.min(chunk.length, size - copied);
      const { bytesRead } = await from.read(chunk, 0, length, copied);
      if (bytesRead === 0) break;
      await to.writeFile(chunk.subarray(0, bytesRead));
      copied += bytesRead;
      job.add({ bytes: bytesRead });
    }
    job.add({ entries: 1 });
  } finally {
    granted.close({ bytes: copied, entries: 1 });
  }
}

function modeOf({ stat }: OpenFile): number {
  return Number(stat.mode & 0o777n);
}
