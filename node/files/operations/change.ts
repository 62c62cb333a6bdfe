import { formatPath, isInside } from '@portcullis/core/game-servers/files/path.ts';
import type { FileAnswerOf, FileOperationOf } from '@portcullis/link/messages/files.ts';
import type { Gate, Place } from '../gate.ts';
import { FileRefusal, notFound } from '../refusal.ts';
import { moveToBin } from './bin.ts';
import { each } from './each.ts';
import { pathOf } from './list.ts';

/** Moves or renames files and folders. */
export async function move(
  gate: Gate,
  { moves, replace }: FileOperationOf<'move'>,
): Promise<FileAnswerOf<'done'>> {
  const paths = moves.map(({ from }) => from);
  return each(paths, async (_, index) => {
    const { from, to } = moves[index] as (typeof moves)[number];
    const source = await gate.place(pathOf(from), 'file.update');
    const path = pathOf(to);
    requireOutside(source, path);
    await requirePresent(source);
    const target = await gate.place(path, 'file.update', true);
    await gate.change([source, target], async () => {
      await gate.requireTreeAllowed(source, [path]);
      await gate.about(target.path, () => moveOne(gate, source, target, replace));
    });
  });
}

async function moveOne(gate: Gate, source: Place, target: Place, replace: boolean): Promise<void> {
  const hasTarget = await target.folder.has(target.name);
  if (hasTarget && formatPath(source.path) === formatPath(target.path)) return;
  if (hasTarget && replace) {
    gate.require('file.delete');
    await gate.requireTreeAllowed(target);
    await moveToBin(gate, target);
  }
  await source.folder.move(source.name, target.folder, target.name);
  await target.folder.sync();
  await source.folder.sync();
}

export async function makeFolder(
  gate: Gate,
  { path: text }: FileOperationOf<'makeFolder'>,
): Promise<FileAnswerOf<'done'>> {
  return each([text], async () => {
    const path = pathOf(text);
    gate.require('file.create');
    const granted = await gate.files.quota.take({ bytes: 0, entries: 1 });
    let made = 0;
    try {
      const { folder, name } = await gate.place(path, 'file.create', true);
      await gate.about(path, () => folder.make(name, gate.files.owner));
      made = 1;
    } finally {
      granted.close({ bytes: 0, entries: made });
    }
  });
}

/** Sets permissions, never set-user-id, set-group-id or the sticky bit. */
export async function setMode(
  gate: Gate,
  { files }: FileOperationOf<'setMode'>,
): Promise<FileAnswerOf<'done'>> {
  const paths = files.map(({ path }) => path);
  return each(paths, async (text, index) => {
    const { folder, name, path } = await gate.place(pathOf(text), 'file.update');
    const mode = files[index]?.mode ?? 0;
    await gate.about(path, () => folder.setMode(name, mode, gate.files.owner));
  });
}

export async function requirePresent({ path, folder, name }: Place): Promise<void> {
  if (!(await folder.has(name))) throw notFound(formatPath(path));
}

/** A folder cannot be moved or copied into itself. */
export function requireOutside({ path }: Place, target: readonly string[]): void {
  if (!isInside(path, target) || path.length === target.length) return;
  const detail = `${formatPath(target)} is inside of ${formatPath(path)}.`;
  throw new FileRefusal('impossible', detail);
}
