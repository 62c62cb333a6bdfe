import type { Db, Tx } from '../db/database.ts';
import type { Batch } from '../fleet/batch.ts';
import type { Current, Kind, Wanted } from './kind.ts';
import { KINDS, kindNamed, type StoredObjects } from './kinds.ts';
import type { ObjectChange } from './plan.ts';

/** Applies changes of one kind that all save, or all remove. */
export async function applyChanges(batch: Batch, changes: readonly ObjectChange[]): Promise<void> {
  const kind = kindNamed(changes[0]?.kind ?? '');
  if (kind === undefined) throw new Error(`there is no kind ${changes[0]?.kind}`);
  const wanted: Wanted<object>[] = [];
  const ended: Current<object>[] = [];
  for (const { object, before } of changes) {
    if (object !== null) wanted.push({ object, before });
    else if (before !== null) ended.push(before);
  }
  if (wanted.length > 0) await kind.save(batch, wanted);
  if (ended.length > 0) await kind.remove(batch, ended);
}

/** Loads the objects of every kind. */
export async function loadObjects(db: Db | Tx): Promise<StoredObjects> {
  const found: Record<string, readonly Current<object>[]> = {};
  for (const kind of KINDS as readonly Kind[]) found[kind.name] = await kind.load(db);
  return found as unknown as StoredObjects;
}
