import {
  formatPath,
  MAX_PATH_LENGTH,
  nameFromBytes,
  RESERVED_NAME,
} from '@portcullis/core/game-servers/files/path.ts';
import {
  type FileAnswerOf,
  type FileOperationOf,
  MAX_PAGE,
} from '@portcullis/link/messages/files.ts';
import { type DiskUse, ENTRY_BYTES, type MeasureDisk } from '../../disk/measure.ts';
import type { Folder } from '../../server-folder/folder.ts';
import type { Gate } from '../gate.ts';
import { typeOf } from './describe.ts';
import { pathOf } from './list.ts';

const NONE: DiskUse = { bytes: 0, entries: 0, complete: false };
const BLOCK = 512n;

type Child = FileAnswerOf<'measured'>['children'][number];

/** Measures the disk use of a folder and of each entry in it, the largest first. What time does not allow is marked. */
export async function measureFolder(
  gate: Gate,
  operation: FileOperationOf<'measure'>,
  measure: MeasureDisk,
  signal: AbortSignal,
): Promise<FileAnswerOf<'measured'>> {
  const path = pathOf(operation.path);
  const folder = await gate.folder(path, 'file.read');
  const children: Child[] = [];
  const total = { bytes: ENTRY_BYTES, entries: 1, complete: true };
  await gate.about(path, async () => {
    for await (const { name } of folder.entries()) {
      const child = await measureOne(folder, name, measure, signal);
      if (child === null) continue;
      total.bytes += child.bytes;
      total.entries += child.entries;
      total.complete &&= child.complete;
      const isReserved = path.length === 0 && child.name === RESERVED_NAME;
      if (!isReserved && formatPath([child.name]).length <= MAX_PATH_LENGTH) children.push(child);
    }
  });
  const largest = children.toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_PAGE);
  return { kind: 'measured', ...total, children: largest };
}

async function measureOne(
  folder: Folder,
  name: Buffer,
  measure: MeasureDisk,
  signal: AbortSignal,
): Promise<Child | null> {
  const stat = await folder.stat(name);
  if (stat === null) return null;
  const common = { name: nameFromBytes(name), type: typeOf(stat) };
  if (!stat.isDirectory()) {
    const bytes = Math.max(Number(stat.blocks * BLOCK), ENTRY_BYTES);
    return { ...common, bytes, entries: 1, complete: true };
  }
  const inner = await folder.enter(name, null).catch(() => null);
  if (inner === null) return { ...common, ...NONE };
  try {
    // The path of a descriptor ends in its directory itself.
    const use = signal.aborted ? NONE : await measure(`${inner.path}/.`, signal, { lane: 'start' });
    return { ...common, ...use };
  } catch {
    return { ...common, ...NONE };
  } finally {
    await inner.close();
  }
}
