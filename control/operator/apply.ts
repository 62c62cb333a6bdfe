import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { Batch } from '../fleet/batch.ts';
import type { Current, Kind, Made, Wanted } from './kind.ts';
import { KINDS, kindNamed, type StoredObjects } from './kinds.ts';
import type { ObjectChange } from './plan.ts';

/** Applies changes of one kind that all save, or all remove. `made`: called with what saving an object made. */
export async function applyChanges(
  batch: Batch,
  changes: readonly ObjectChange[],
  made: (object: object, what: Made) => void,
): Promise<void> {
  const kind = kindNamed(changes[0]?.kind ?? '');
  if (kind === undefined) throw new Error(`there is no kind ${changes[0]?.kind}`);
  const wanted: Wanted<object>[] = [];
  const ended: Current<object>[] = [];
  for (const { object, before } of changes) {
    if (object !== null) wanted.push({ object, before });
    else if (before !== null) ended.push(before);
  }
  if (wanted.length > 0) {
    await kind.save(batch, wanted, (index, what) => made(wanted[index]?.object ?? {}, what));
  }
  if (ended.length > 0) await kind.remove(batch, ended);
}

/** Reads the database clock, which decides what is in effect. In whole milliseconds, as in a Date. */
export async function loadNow(db: Db | Tx): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    select date_trunc('milliseconds', now()) as now`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no time');
  return row.now;
}

/** Makes way for all changes of a plan before any of them is applied. */
export async function prepareChanges(
  batch: Batch,
  changes: readonly ObjectChange[],
): Promise<void> {
  for (const [name, ofKind] of Map.groupBy(changes, ({ kind }) => kind)) {
    const wanted = ofKind.flatMap(({ object, before }) =>
      object === null ? [] : [{ object, before }],
    );
    if (wanted.length > 0) await kindNamed(name)?.prepare?.(batch, wanted);
  }
}

/** Losses of others by saving declared objects: sentences by kind and key. */
export type Elsewhere = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** Loads what saving the objects of a file would end of others. */
export async function loadElsewhere(
  db: Db | Tx,
  declared: Readonly<Record<string, readonly { readonly object: object }[]>>,
): Promise<Elsewhere> {
  const found = new Map<string, ReadonlyMap<string, readonly string[]>>();
  for (const kind of KINDS as readonly Kind[]) {
    const objects = (declared[kind.name] ?? []).map(({ object }) => object);
    const ended = await kind.endsElsewhere?.(db, objects);
    if (ended !== undefined) found.set(kind.name, ended);
  }
  return found;
}

/** Loads the objects of every kind. */
export async function loadObjects(db: Db | Tx): Promise<StoredObjects> {
  const found: Record<string, readonly Current<object>[]> = {};
  for (const kind of KINDS as readonly Kind[]) found[kind.name] = await kind.load(db);
  return found as unknown as StoredObjects;
}
