import { sql } from 'kysely';
import { type Actor, createKeys, type NewKey } from '../../access/index.ts';
import { assignGeoRule, createGeoRule, deleteGeoRule } from '../../firewall/geo/index.ts';
import {
  changeGameServer,
  createGameServer,
  deleteGameServer,
} from '../../declared/game-servers.ts';
import { applyChanges } from '../../operator/index.ts';
import { endBlocked, saveBlocked } from '../../firewall/blocked/index.ts';
import { setDefault } from '../../firewall/defaults/index.ts';
import {
  assignGroups,
  createGroups,
  deleteGroup,
  editGroup,
  type GroupConflict,
} from '../../firewall/groups/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import {
  changeHolding,
  closeService,
  createHoldings,
  deleteAsn,
  deleteHolding,
  deleteService,
  saveAsns,
  saveDetections,
  saveOrganisations,
  saveServices,
} from '../../organisations/index.ts';
import type {
  Change,
  DetectionPlace,
  FleetChange,
  HoldingRef,
  ObjectAction,
} from '../plan/change.ts';
import { suspendKey, updateKey } from './keys.ts';

export interface CreatedFleetKey {
  readonly organisation: string;
  readonly name: string;
  /** The whole key, which is stored nowhere. */
  readonly key: string;
}

/** Kinds that come by the thousand, applied in a few statements. */
const TOGETHER = [
  'organisation.create',
  'organisation.update',
  'asn.add',
  'service.create',
  'service.update',
  'holding.create',
  'key.create',
  'detection.set',
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
  readonly #actor: Actor;
  /** Ids by slug, including those created by this plan. */
  readonly organisations: Map<string, number>;
  readonly #holdings = new Map<string, number>();
  readonly #groups: Map<string, number>;
  readonly #geoRules: Map<string, number>;

  constructor(batch: Batch, actor: Actor, known: KnownRows) {
    this.#batch = batch;
    this.#actor = actor;
    this.organisations = new Map(known.organisations);
    this.#groups = new Map(known.groups);
    this.#geoRules = new Map(known.geoRules);
  }

  /**
   * Shortens each changed holding to the intersection of its old and new time. The new times do not overlap each
   * other, so that later changes cannot overlap either, in any order.
   */
  async shortenHoldings(changes: readonly FleetChange[]): Promise<void> {
    const moved = changes.filter((change) => change.do === 'holding.change');
    await sql`
      update holdings set during = during * tstzrange(since, until)
        from unnest(${moved.map(({ id }) => id)}::bigint[], ${moved.map(({ since }) => since)}::timestamptz[],
                    ${moved.map(({ until }) => until)}::timestamptz[]) as moved (id, since, until)
       where holdings.id = moved.id and during && tstzrange(since, until)`.execute(this.#tx);
  }

  /** Applies changes of one kind; several only if they are `isTogether`. */
  async apply(changes: readonly FleetChange[]): Promise<void> {
    const [first] = changes;
    if (first === undefined) return;
    if (isKindChange(first)) return applyChanges(this.#batch, changes.filter(isKindChange));
    if (!isTogether(first)) return this.#saveObject(first);
    if (isKind(changes, 'organisation.create', 'organisation.update')) {
      return this.#saveOrganisations(changes);
    }
    if (isKind(changes, 'asn.add')) return this.#addAsns(changes);
    if (isKind(changes, 'service.create', 'service.update')) return this.#saveServices(changes);
    if (isKind(changes, 'holding.create')) return this.#createHoldings(changes);
    if (isKind(changes, 'key.create')) return this.#createKeys(changes);
    if (isKind(changes, 'detection.set')) return this.#setDetections(changes);
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
      case 'organisation.close':
        return this.#closeOrganisation(change);
      case 'asn.remove':
        return deleteAsn(this.#batch, change.asn);
      case 'service.close':
      case 'service.delete':
        return this.#endService(change);
      case 'holding.change':
      case 'holding.delete':
        return this.#saveHolding(change);
      case 'key.update':
        return updateKey(this.#batch, change.id, change.key);
      case 'key.suspend':
        return suspendKey(this.#batch, change.id);
      case 'blocked.add':
      case 'blocked.remove':
        return this.#saveBlocked(change);
      case 'default.set':
        return this.#saveDefault(change);
      case 'server.create':
      case 'server.update':
      case 'server.delete':
        return this.#saveServer(change);
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

  async #saveServer(
    change: Change<'server.create' | 'server.update' | 'server.delete'>,
  ): Promise<void> {
    if (change.do === 'server.delete') return deleteGameServer(this.#batch, change.uuid);
    if (change.do === 'server.update') {
      return changeGameServer(this.#batch, change.server, change.move);
    }
    await createGameServer(this.#batch, change.server, this.#idOf(change));
  }

  get #tx() {
    return this.#batch.tx;
  }

  #idOf(change: FleetChange): number {
    return known(this.organisations, change.organisation ?? '');
  }

  async #closeOrganisation({ slug }: Change<'organisation.close'>): Promise<void> {
    await sql`update organisations set flags = '{}' where slug = ${slug}`.execute(this.#tx);
  }

  async #saveOrganisations(
    changes: readonly Change<'organisation.create' | 'organisation.update'>[],
  ): Promise<void> {
    const contents = changes.map(({ slug, values }) => ({ slug, ...values }));
    const ids = await saveOrganisations(this.#batch, contents);
    for (const [at, { slug }] of contents.entries()) this.organisations.set(slug, ids[at] ?? 0);
  }

  async #addAsns(changes: readonly Change<'asn.add'>[]): Promise<void> {
    await saveAsns(
      this.#batch,
      changes.map((change) => {
        const organisationId = change.organisation === null ? null : this.#idOf(change);
        return { asn: change.asn, organisationId };
      }),
    );
  }

  async #saveServices(
    changes: readonly Change<'service.create' | 'service.update'>[],
  ): Promise<void> {
    await saveServices(
      this.#batch,
      changes.map((change) => ({
        ...change.service,
        organisationId: this.#idOf(change),
        refresh: change.refresh,
      })),
    );
  }

  async #endService({ do: end, id }: Change<'service.close' | 'service.delete'>): Promise<void> {
    if (end === 'service.delete') return deleteService(this.#batch, id);
    await closeService(this.#batch, id);
  }

  async #createHoldings(changes: readonly Change<'holding.create'>[]): Promise<void> {
    const created = await createHoldings(
      this.#batch,
      changes.map(({ cidr, since, until, asn, serviceId, ...change }) => {
        const organisationId = known(this.organisations, change.organisation ?? '');
        return { organisationId, cidr, since, until, asn, serviceId };
      }),
    );
    const slugs = new Map([...this.organisations].map(([slug, id]) => [id, slug]));
    for (const { id, cidr, since, organisationId } of created) {
      this.#holdings.set(newHoldingKey(slugs.get(organisationId) ?? '', cidr, since), id);
    }
  }

  async #saveHolding(change: Change<'holding.change' | 'holding.delete'>): Promise<void> {
    if (change.do === 'holding.delete') return deleteHolding(this.#batch, change);
    await changeHolding(this.#batch, change.id, change);
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

  async #saveDefault({ holding, cidr, action }: Change<'default.set'>): Promise<void> {
    await setDefault(this.#batch, { holdingId: this.#holdingId(holding), target: cidr }, action);
  }

  async #setDetections(changes: readonly Change<'detection.set'>[]): Promise<void> {
    const kinds = Map.groupBy(changes, ({ of }) => of.kind);
    for (const [kind, settings] of kinds) {
      const rows = settings.map((change) => {
        const { of, detection } = change;
        return { id: of.kind === 'service' ? of.id : this.#rowOf(change, of), detection };
      });
      await saveDetections(this.#tx, kind, rows);
    }
  }

  #rowOf(change: FleetChange, of: Exclude<DetectionPlace, { readonly kind: 'service' }>): number {
    return of.kind === 'holding' ? this.#holdingId(of.ref) : this.#idOf(change);
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
