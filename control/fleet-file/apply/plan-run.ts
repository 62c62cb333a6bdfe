import { sql } from 'kysely';
import { type Actor, createKeys, type NewKey } from '../../access/index.ts';
import { applyChanges, prepareChanges } from '../../operator/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import type { Change, FleetChange, ObjectAction } from '../plan/change.ts';
import { suspendKey, updateKey } from './keys.ts';

export interface CreatedFleetKey {
  readonly organisation: string;
  readonly name: string;
  /** The whole key, which is stored nowhere. */
  readonly key: string;
}

/** Kinds that come by the thousand, applied in a few statements. */
const TOGETHER = ['key.create'] as const satisfies readonly FleetChange['do'][];

type Together = Change<(typeof TOGETHER)[number]>;

type KindChange = Change<ObjectAction>;

function isKindChange(change: FleetChange): change is KindChange {
  return 'kind' in change;
}

/** Whether changes of this kind may be applied in one call. */
export function isTogether(change: FleetChange): change is Together | KindChange {
  const kinds: readonly FleetChange['do'][] = TOGETHER;
  return isKindChange(change) || kinds.includes(change.do);
}

function isKind<Kind extends FleetChange['do']>(
  changes: readonly FleetChange[],
  ...kinds: readonly Kind[]
): changes is readonly Change<Kind>[] {
  return kinds.some((kind) => changes[0]?.do === kind);
}

/** Applies the changes of a plan in one transaction, and remembers the ids that earlier changes created. */
export class PlanRun {
  readonly createdKeys: CreatedFleetKey[] = [];
  readonly #batch: Batch;
  readonly #actor: Actor;
  /** Ids by slug, including those created by this plan. */
  readonly organisations: Map<string, number>;

  constructor(batch: Batch, actor: Actor, known: KnownRows) {
    this.#batch = batch;
    this.#actor = actor;
    this.organisations = new Map(known.organisations);
  }

  /** Makes way for all changes before any of them is applied. */
  async prepare(changes: readonly FleetChange[]): Promise<void> {
    await prepareChanges(this.#batch, changes.filter(isKindChange));
  }

  /** Applies changes of one kind; several only if they are `isTogether`. */
  async apply(changes: readonly FleetChange[]): Promise<void> {
    const [first] = changes;
    if (first === undefined) return;
    if (isKindChange(first)) return this.#applyObjects(first.do, changes.filter(isKindChange));
    if (!isTogether(first)) return this.#saveObject(first);
    if (isKind(changes, 'key.create')) return this.#createKeys(changes);
  }

  async #saveObject(change: Exclude<FleetChange, Together | KindChange>): Promise<void> {
    switch (change.do) {
      case 'key.update':
        return updateKey(this.#batch, change.id, change.key);
      case 'key.suspend':
        return suspendKey(this.#batch, change.id);
    }
  }

  get #tx() {
    return this.#batch.tx;
  }

  #idOf(change: FleetChange): number {
    return known(this.organisations, change.organisation ?? '');
  }

  /** Remembers the rows that objects got, for changes that name those. */
  async #applyObjects(action: ObjectAction, changes: readonly KindChange[]): Promise<void> {
    await applyChanges(this.#batch, changes);
    if (action === 'organisation.create') {
      const slugs = changes.map(({ organisation }) => organisation);
      const { rows } = await sql<{ id: number; slug: string }>`
        select id, slug from organisations where slug = any(${slugs}::text[])`.execute(this.#tx);
      for (const { id, slug } of rows) this.organisations.set(slug, id);
    }
  }

  async #createKeys(changes: readonly Change<'key.create'>[]): Promise<void> {
    const created = await createKeys(
      this.#tx,
      changes.map((change): NewKey => {
        const { secret, ...key } = change.key;
        const wanted = { ...key, organisationId: this.#idOf(change), owner: 'fleet' } as const;
        return secret === null ? wanted : { ...wanted, secret };
      }),
      this.#actor,
    );
    for (const [at, { key, organisation }] of changes.entries()) {
      const secret = created[at]?.secret;
      if (key.secret !== null || secret === undefined) continue;
      this.createdKeys.push({ organisation: organisation ?? '', name: key.name, key: secret });
    }
  }
}

/** Ids of existing rows, by the names that plans use. */
export interface KnownRows {
  readonly organisations: Iterable<readonly [slug: string, id: number]>;
}

function known(ids: ReadonlyMap<string, number>, name: string): number {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`a plan uses ${name} before creating it`);
  return id;
}
