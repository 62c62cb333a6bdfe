import { sql } from 'kysely';
import { KEY_PREFIX } from '@portcullis/core/access/key-format.ts';
import type { Actor } from '../../access/index.ts';
import { createKey, hashSecret, revokeKey } from '../../access/index.ts';
import { assignGeoRule, createGeoRule, deleteGeoRule } from '../../firewall/geo/index.ts';
import { setDefault } from '../../firewall/defaults/index.ts';
import { assignGroup, createGroup, deleteGroup, editGroup } from '../../firewall/groups/index.ts';
import { type Batch, BEGINS } from '../../fleet/batch.ts';
import type { DetectionPlace, FleetChange, HoldingRef } from '../plan/change.ts';
import { saveGameServer, saveNode } from './game-servers.ts';
import { saveCollector, saveDetection, saveResponder } from './detection.ts';
import type { DesiredEdge, DesiredKey, DesiredService } from '../desired.ts';

export interface CreatedFleetKey {
  readonly organisation: string;
  readonly name: string;
  /** The whole key, which is stored nowhere. */
  readonly key: string;
}

/** A change of one kind. */
type Change<Kind extends FleetChange['do']> = Extract<FleetChange, { readonly do: Kind }>;

type DetectionChange = Change<
  'detection.set' | 'collector.save' | 'collector.delete' | 'responder.save' | 'responder.delete'
>;

function isDetectionChange(change: FleetChange): change is DetectionChange {
  return /^(?:detection|collector|responder)\./.test(change.do);
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

  async apply(change: FleetChange): Promise<void> {
    return isDetectionChange(change) ? this.#saveDetection(change) : this.#saveObject(change);
  }

  async #saveObject(change: Exclude<FleetChange, DetectionChange>): Promise<void> {
    if ('target' in change) return this.#saveAssignment(change);
    switch (change.do) {
      case 'organisation.create':
      case 'organisation.update':
      case 'organisation.close':
        return this.#saveOrganisation(change);
      case 'asn.add':
      case 'asn.remove':
        return this.#saveAsn(change);
      case 'service.create':
      case 'service.update':
        return this.#saveService(change.service, this.#idOf(change), change.refresh);
      case 'service.close':
      case 'service.delete':
        return this.#endService(change);
      case 'holding.create':
      case 'holding.change':
      case 'holding.delete':
        return this.#saveHolding(change);
      case 'key.create':
      case 'key.update':
      case 'key.revoke':
        return this.#saveKey(change);
      case 'default.set':
        return this.#saveDefault(change);
      case 'baseline.add':
      case 'baseline.remove':
        return this.#saveBaseline(change);
      case 'edge.create':
      case 'edge.update':
      case 'edge.delete':
        return this.#saveEdge(change);
      case 'node.create':
      case 'node.delete':
        return saveNode(this.#tx, change);
      case 'server.create':
      case 'server.update':
      case 'server.delete':
        return saveGameServer(this.#batch, change, this.#idOf(change));
      case 'group.create':
      case 'group.edit':
      case 'group.delete':
        return this.#saveGroup(change);
      case 'geo.create':
      case 'geo.delete':
        return this.#saveGeoRule(change);
    }
  }

  get #tx() {
    return this.#batch.tx;
  }

  #idOf(change: FleetChange): number {
    return known(this.organisations, change.organisation ?? '');
  }

  async #saveOrganisation(
    change: Change<'organisation.create' | 'organisation.update' | 'organisation.close'>,
  ): Promise<void> {
    const { slug } = change;
    if (change.do === 'organisation.close') {
      await sql`update organisations set flags = '{}' where slug = ${slug}`.execute(this.#tx);
      return;
    }
    const { name, flags, limits } = change.values;
    const { rows } = await sql<{ id: number }>`
      insert into organisations (slug, name, flags, owner, rules_per_ip, filters_per_ip,
        max_ports_per_request, attack_history_days, configured_addresses, requests_per_minute)
      values (${slug}, ${name}, ${flags}::text[], 'fleet', ${limits.rulesPerIp},
        ${limits.filtersPerIp}, ${limits.maxPortsPerRequest}, ${limits.attackHistoryDays},
        ${limits.configuredAddresses}, ${limits.requestsPerMinute})
      on conflict (slug) do update set name = excluded.name, flags = excluded.flags,
        rules_per_ip = excluded.rules_per_ip, filters_per_ip = excluded.filters_per_ip,
        max_ports_per_request = excluded.max_ports_per_request,
        attack_history_days = excluded.attack_history_days,
        configured_addresses = excluded.configured_addresses,
        requests_per_minute = excluded.requests_per_minute
      returning id
    `.execute(this.#tx);
    for (const { id } of rows) this.organisations.set(slug, id);
  }

  async #saveAsn(change: Change<'asn.add' | 'asn.remove'>): Promise<void> {
    if (change.do === 'asn.remove') {
      await sql`delete from asns where asn = ${change.asn}`.execute(this.#tx);
      return;
    }
    await sql`
      insert into asns (asn, organisation_id, owner) values (${change.asn}, ${this.#idOf(change)}, 'fleet')
      on conflict (asn) do update set organisation_id = excluded.organisation_id
    `.execute(this.#tx);
  }

  /** `refresh`: its managed filters changed, and so did the policies of its addresses. */
  async #saveService(
    { id, name, active, managedFilters }: DesiredService,
    organisationId: number,
    refresh: boolean,
  ): Promise<void> {
    await sql`
      insert into services (id, organisation_id, name, active, managed_filters, owner)
      values (${id}, ${organisationId}, ${name}, ${active}, ${JSON.stringify(managedFilters)}::jsonb, 'fleet')
      on conflict (id) do update set name = excluded.name, active = excluded.active,
        managed_filters = excluded.managed_filters
    `.execute(this.#tx);
    if (!refresh) return;
    const { rows } = await sql<{ cidr: string }>`
      select cidr from holdings where service_id = ${id}`.execute(this.#tx);
    this.#batch.touch(...rows.map(({ cidr }) => cidr));
  }

  async #endService({ id, ...change }: Change<'service.close' | 'service.delete'>): Promise<void> {
    if (change.do === 'service.delete') {
      await sql`delete from services where id = ${id}`.execute(this.#tx);
    } else await sql`update services set active = false where id = ${id}`.execute(this.#tx);
  }

  async #saveHolding(
    change: Change<'holding.create' | 'holding.change' | 'holding.delete'>,
  ): Promise<void> {
    this.#batch.touch(change.cidr);
    if (change.do === 'holding.delete') return this.#deleteHolding(change.id);
    const { since, until, asn, serviceId } = change;
    const during = sql`tstzrange(${since}::timestamptz, ${until}::timestamptz)`;
    if (change.do === 'holding.change') {
      await sql`
        update holdings set during = ${during}, asn = ${asn}, service_id = ${serviceId}
         where id = ${change.id}`.execute(this.#tx);
      return;
    }
    const { rows } = await sql<{ id: number }>`
      insert into holdings (organisation_id, cidr, during, asn, service_id, owner)
      values (${this.#idOf(change)}, ${change.cidr}, ${during}, ${asn}, ${serviceId}, 'fleet')
      returning id
    `.execute(this.#tx);
    const key = newHoldingKey(change.organisation ?? '', change.cidr, since);
    for (const { id } of rows) this.#holdings.set(key, id);
  }

  /** Only for holdings that nothing refers to, or that never started, so that no history is lost. */
  async #deleteHolding(id: number): Promise<void> {
    for (const table of ['rules', 'filters']) {
      await sql`
        delete from ${sql.table(table)}
         where address_id in (select id from addresses where holding_id = ${id})`.execute(this.#tx);
    }
    for (const table of ['addresses', 'group_assignments', 'geo_assignments', 'default_actions']) {
      await sql`delete from ${sql.table(table)} where holding_id = ${id}`.execute(this.#tx);
    }
    await sql`delete from holdings where id = ${id}`.execute(this.#tx);
  }

  async #saveKey(change: Change<'key.create' | 'key.update' | 'key.revoke'>): Promise<void> {
    if (change.do === 'key.revoke') {
      await revokeKey(this.#tx, change.id, this.#actor);
      return;
    }
    if (change.do === 'key.update') return this.#updateKey(change.id, change.key);
    const { secret, ...key } = change.key;
    const organisation = change.organisation ?? '';
    const wanted = { ...key, organisationId: this.#idOf(change), owner: 'fleet' } as const;
    const created = await createKey(
      this.#tx,
      secret === null ? wanted : { ...wanted, secret },
      this.#actor,
    );
    if (secret === null) {
      this.createdKeys.push({ organisation, name: key.name, key: created.secret });
    }
  }

  async #updateKey(id: number, key: DesiredKey): Promise<void> {
    await sql`
      update api_keys set abilities = ${key.abilities}::text[], servers = ${key.servers}::uuid[], managed_servers = ${key.managedServers}::uuid[],
             prefixes = ${key.prefixes}::cidr[], sources = ${key.sources}::cidr[],
             expires_at = ${key.expiresAt}
       where id = ${id} and revoked_at is null`.execute(this.#tx);
    if (key.secret === null) return;
    const hint = key.secret.slice(KEY_PREFIX.length, KEY_PREFIX.length + 6);
    await sql`
      update api_keys set secret_hash = ${hashSecret(key.secret)}, hint = ${hint}
       where id = ${id} and revoked_at is null`.execute(this.#tx);
  }

  async #saveGroup(change: Change<'group.create' | 'group.edit' | 'group.delete'>): Promise<void> {
    if (change.do === 'group.edit') return editGroup(this.#batch, change.id, change);
    if (change.do === 'group.delete') return deleteGroup(this.#batch, change.id);
    const id = await createGroup(this.#batch, { ...change, organisationId: this.#idOf(change) });
    this.#groups.set(`${change.organisation} ${change.name}`, id);
  }

  async #saveGeoRule(change: Change<'geo.create' | 'geo.delete'>): Promise<void> {
    if (change.do === 'geo.delete') return deleteGeoRule(this.#batch, change.id);
    const id = await createGeoRule(this.#batch, this.#idOf(change), change.content);
    this.#geoRules.set(`${change.organisation} ${change.key}`, id);
  }

  async #saveAssignment(
    change: Change<'group.assign' | 'geo.assign' | 'group.unassign' | 'geo.unassign'>,
  ): Promise<void> {
    const batch = this.#batch;
    const { target } = change;
    if ('assignmentId' in change) {
      const table = change.do === 'group.unassign' ? 'group_assignments' : 'geo_assignments';
      batch.touch(target);
      return batch.end(table, [change.assignmentId]);
    }
    const name = `${change.organisation} ${change.key}`;
    const holdingId = this.#holdingId(change.holding);
    if (change.do === 'group.assign') {
      await assignGroup(batch, known(this.#groups, name), target, holdingId);
    } else await assignGeoRule(batch, known(this.#geoRules, name), target, holdingId);
  }

  async #saveDefault({ holding, cidr, action }: Change<'default.set'>): Promise<void> {
    await setDefault(this.#batch, { holdingId: this.#holdingId(holding), target: cidr }, action);
  }

  async #saveDetection(change: DetectionChange): Promise<void> {
    if (change.do === 'responder.save' || change.do === 'responder.delete') {
      return saveResponder(this.#tx, change);
    }
    if (change.do !== 'detection.set') return saveCollector(this.#tx, change);
    const { of, detection } = change;
    const id = of.kind === 'service' ? of.id : this.#rowOf(change, of);
    await saveDetection(this.#tx, of.kind, id, detection);
  }

  #rowOf(change: FleetChange, of: Exclude<DetectionPlace, { readonly kind: 'service' }>): number {
    return of.kind === 'holding' ? this.#holdingId(of.ref) : this.#idOf(change);
  }

  #holdingId(ref: HoldingRef): number {
    if (ref.kind === 'existing') return ref.id;
    return known(this.#holdings, newHoldingKey(ref.organisation, ref.cidr, ref.since));
  }

  async #saveBaseline(change: Change<'baseline.add' | 'baseline.remove'>): Promise<void> {
    this.#batch.touch(change.prefix);
    if (change.do === 'baseline.remove') return this.#batch.end('baseline_rules', [change.id]);
    const { action, protocol, source, port } = change.rule;
    const { rows } = await sql<{ id: number }>`
      insert into baseline_rules (prefix, action, protocol, source, port, created_generation)
      values (${change.prefix}, ${action}, ${protocol}, ${source}, ${port}, ${BEGINS.created_generation})
      returning id
    `.execute(this.#tx);
    this.#batch.begin(
      'baseline_rules',
      rows.map(({ id }) => id),
    );
  }

  async #saveEdge(change: Change<'edge.create' | 'edge.update' | 'edge.delete'>): Promise<void> {
    this.#batch.mark();
    if (change.do === 'edge.delete') {
      await sql`delete from edges where id = ${change.id}`.execute(this.#tx);
      return;
    }
    const { name, site, devices, serves, sees, fragments, management }: DesiredEdge = change.edge;
    if (change.do === 'edge.update') await this.#touchServed(change.id, serves);
    await sql`
      insert into edges (name, site, devices, serves, sees, fragments, management, owner)
      values (${name}, ${site}, ${devices}::text[], ${serves}::cidr[], ${sees}, ${fragments},
              ${JSON.stringify(management)}::jsonb, 'fleet')
      on conflict (name) do update set site = excluded.site, devices = excluded.devices,
        serves = excluded.serves, sees = excluded.sees, fragments = excluded.fragments,
        management = excluded.management
    `.execute(this.#tx);
  }

  /** Marks the prefixes that an edge gains or loses as changed, because edges fetch only what changed. */
  async #touchServed(id: number, serves: readonly string[]): Promise<void> {
    const { rows } = await sql<{ cidr: string }>`
      with was as (select unnest(serves) as cidr from edges where id = ${id}),
           wanted as (select unnest(${serves}::cidr[]) as cidr)
      (select cidr from was except select cidr from wanted)
      union (select cidr from wanted except select cidr from was)`.execute(this.#tx);
    this.#batch.touch(...rows.map(({ cidr }) => cidr));
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
