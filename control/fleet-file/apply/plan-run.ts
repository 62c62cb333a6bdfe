import { sql } from 'kysely';
import { assignGeoRule, createGeoRule, deleteGeoRule } from '../../firewall/geo/index.ts';
import { applyChanges, type Made, prepareChanges } from '../../operator/index.ts';
import { endBlocked, saveBlocked } from '../../firewall/blocked/index.ts';
import {
  assignGroups,
  createGroups,
  deleteGroup,
  editGroup,
  type GroupConflict,
} from '../../firewall/groups/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import type { Change, FleetChange, HoldingRef, ObjectAction } from '../plan/change.ts';

export interface CreatedFleetKey {
  readonly organisation: string;
  readonly name: string;
  /** The whole key, which is stored nowhere. */
  readonly key: string;
}

/** Kinds that come by the thousand, applied in a few statements. */
const TOGETHER = [
  'group.create',
  'group.assign',
  'group.unassign',
  'geo.unassign',
] as const satisfies readonly FleetChange['do'][];

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
  /** Ids by slug, including those created by this plan. */
  readonly organisations: Map<string, number>;
  readonly #holdings = new Map<string, number>();
  readonly #groups: Map<string, number>;
  readonly #geoRules: Map<string, number>;

  constructor(batch: Batch, known: KnownRows) {
    this.#batch = batch;
    this.organisations = new Map(known.organisations);
    this.#groups = new Map(known.groups);
    this.#geoRules = new Map(known.geoRules);
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
    if (isKind(changes, 'group.create')) return this.#createGroups(changes);
    if (isKind(changes, 'group.assign')) return this.#assignGroups(changes);
    if (isKind(changes, 'group.unassign')) return this.#unassign('group_assignments', changes);
    if (isKind(changes, 'geo.unassign')) return this.#unassign('geo_assignments', changes);
  }

  /** The change whose group a conflict is about. */
  culprit(changes: readonly FleetChange[], { groupId }: GroupConflict): FleetChange | undefined {
    return changes.find(
      (change) => change.do === 'group.assign' && this.#groupId(change) === groupId,
    );
  }

  async #saveObject(change: Exclude<FleetChange, Together | KindChange>): Promise<void> {
    switch (change.do) {
      case 'blocked.add':
      case 'blocked.remove':
        return this.#saveBlocked(change);
      case 'group.edit':
        return editGroup(this.#batch, change.id, change);
      case 'group.delete':
        return deleteGroup(this.#batch, change.id);
      case 'geo.create':
      case 'geo.delete':
        return this.#saveGeoRule(change);
      case 'geo.assign':
        return this.#assignGeoRule(change);
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
    await applyChanges(this.#batch, changes, (object, made) => this.#keepSecret(object, made));
    if (action === 'organisation.create') {
      const slugs = changes.map(({ organisation }) => organisation);
      const { rows } = await sql<{ id: number; slug: string }>`
        select id, slug from organisations where slug = any(${slugs}::text[])`.execute(this.#tx);
      for (const { id, slug } of rows) this.organisations.set(slug, id);
    } else if (action === 'holding.create') {
      const { rows } = await sql<{ id: number; slug: string; cidr: string; since: Date }>`
        select h.id, o.slug, h.cidr, lower(h.during) as since
          from holdings h join organisations o on o.id = h.organisation_id
         where h.owner = ${this.#batch.owner}`.execute(this.#tx);
      for (const { id, slug, cidr, since } of rows) {
        this.#holdings.set(newHoldingKey(slug, cidr, since), id);
      }
    }
  }

  #keepSecret(object: object, { secret }: Made): void {
    if (secret === null) return;
    const { organisation, name } = object as Pick<CreatedFleetKey, 'organisation' | 'name'>;
    this.createdKeys.push({ organisation, name, key: secret });
  }

  async #createGroups(changes: readonly Change<'group.create'>[]): Promise<void> {
    const ids = await createGroups(
      this.#batch,
      changes.map((change) => ({ ...change, organisationId: this.#idOf(change) })),
    );
    for (const [at, { organisation, name }] of changes.entries()) {
      this.#groups.set(`${organisation} ${name}`, ids[at] ?? 0);
    }
  }

  async #saveGeoRule(change: Change<'geo.create' | 'geo.delete'>): Promise<void> {
    if (change.do === 'geo.delete') return deleteGeoRule(this.#batch, change.id);
    const id = await createGeoRule(this.#batch, this.#idOf(change), change.content);
    this.#geoRules.set(`${change.organisation} ${change.key}`, id);
  }

  async #assignGroups(changes: readonly Change<'group.assign'>[]): Promise<void> {
    await assignGroups(
      this.#batch,
      changes.map((change) => ({
        groupId: this.#groupId(change),
        holdingId: this.#holdingId(change.holding),
        target: change.target,
      })),
    );
  }

  #groupId({ organisation, key }: Change<'group.assign'>): number {
    return known(this.#groups, `${organisation} ${key}`);
  }

  async #assignGeoRule(change: Change<'geo.assign'>): Promise<void> {
    const { organisation, key, target, holding } = change;
    const id = known(this.#geoRules, `${organisation} ${key}`);
    await assignGeoRule(this.#batch, id, [target], this.#holdingId(holding));
  }

  async #unassign(
    table: 'group_assignments' | 'geo_assignments',
    changes: readonly Change<'group.unassign' | 'geo.unassign'>[],
  ): Promise<void> {
    this.#batch.touch(...changes.map(({ target }) => target));
    await this.#batch.end(
      table,
      changes.map(({ assignmentId }) => assignmentId),
    );
  }

  async #saveBlocked(change: Change<'blocked.add' | 'blocked.remove'>): Promise<void> {
    const { holding, target, sources, note } = change;
    const holdingId = holding === null ? null : this.#holdingId(holding);
    const scope = { organisationId: this.#idOf(change), holdingId, target };
    if (change.do === 'blocked.remove') await endBlocked(this.#batch, scope, sources);
    else await saveBlocked(this.#batch, scope, { sources, note, expires: null });
  }

  #holdingId(ref: HoldingRef): number {
    if (ref.kind === 'existing') return ref.id;
    return known(this.#holdings, newHoldingKey(ref.organisation, ref.cidr, ref.since));
  }
}

/** Ids of existing rows, by the names that plans use. */
export interface KnownRows {
  readonly organisations: Iterable<readonly [slug: string, id: number]>;
  /** `slug name` */
  readonly groups: Iterable<readonly [name: string, id: number]>;
  /** `slug key` */
  readonly geoRules: Iterable<readonly [name: string, id: number]>;
}

function newHoldingKey(organisation: string, cidr: string, since: Date): string {
  return `${organisation} ${cidr} ${since.toISOString()}`;
}

function known(ids: ReadonlyMap<string, number>, name: string): number {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`a plan uses ${name} before creating it`);
  return id;
}
