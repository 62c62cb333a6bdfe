import { type RawBuilder, sql } from 'kysely';
import type { FilterSettings } from '@portcullis/core/filters/settings.ts';
import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { ManagedFilter, RuleAction, RuleProtocol } from '../../db/schema.ts';
import type { Tx } from '../../db/database.ts';

/** CIDRs whose policies are requested. */
export type Region = readonly string[];

/** A rule as [id, action, protocol, source, port]: a tuple, because half a million are loaded. */
export type RuleTuple = readonly [number, RuleAction, RuleProtocol, string | null, number | null];
/** A filter as [id, type, port, settings]; those of groups have no settings. */
export type FilterTuple = readonly [number, string, number, FilterSettings?];

export interface HoldingRow {
  readonly id: number;
  readonly cidr: string;
  readonly serviceId: number | null;
  readonly managedFilters: readonly ManagedFilter[] | null;
  /** Ports of the service's game servers that are reachable at this address. */
  readonly gamePorts: readonly number[];
  /** Ports: those that the managed filters name, by `UUID:NAME`; null: none. */
  readonly namedPorts: Readonly<Record<string, number>> | null;
}
export interface OwnRow {
  readonly target: string;
  readonly holdingId: number;
  readonly rules: readonly RuleTuple[];
  readonly filters: readonly FilterTuple[];
}
export interface GroupRow {
  readonly id: number;
  readonly rules: readonly RuleTuple[];
  readonly filters: readonly FilterTuple[];
}
export interface GroupAssignmentRow {
  readonly target: string;
  readonly holdingId: number;
  readonly groupId: number;
}
export interface GeoAssignmentRow {
  readonly target: string;
  readonly holdingId: number;
  readonly ruleId: number;
  readonly action: 'deny' | 'only';
  readonly countries: readonly string[];
  readonly asns: readonly number[];
}
export interface DefaultRow {
  readonly target: string;
  readonly holdingId: number;
  readonly action: DefaultAction;
}
/** A list of blocked sources on a target; one of an organisation is on each of its holdings. */
export interface BlockedRow {
  readonly target: string;
  readonly holdingId: number;
  /** The source set that has the list. */
  readonly name: string;
}
/** An open port of a server that runs. */
export interface OpeningRow {
  readonly target: string;
  readonly holdingId: number;
  readonly id: number;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}
export interface BaselineRow {
  readonly prefix: string;
  readonly rules: readonly RuleTuple[];
}

export interface MitigationRow {
  readonly target: string;
  readonly id: number;
  readonly action: MitigationAction;
  readonly mode: 'enforce' | 'observe';
  readonly safelist: readonly string[];
}

/** All rows that the policies of a region depend on. */
export interface PolicyRows {
  readonly holdings: readonly HoldingRow[];
  readonly own: readonly OwnRow[];
  readonly groups: readonly GroupRow[];
  readonly groupAssignments: readonly GroupAssignmentRow[];
  readonly geoAssignments: readonly GeoAssignmentRow[];
  readonly defaults: readonly DefaultRow[];
  readonly blocked: readonly BlockedRow[];
  readonly openings: readonly OpeningRow[];
  readonly baseline: readonly BaselineRow[];
  readonly mitigations: readonly MitigationRow[];
}

export interface RowsRequest {
  readonly region: Region;
  /** The time at which holdings are evaluated, as PostgreSQL writes a timestamptz. */
  readonly asOf: string;
  /** Objects as of this generation; null means the accepted ones. */
  readonly generation: number | null;
}

/** Loads the rows in eleven statements. Needs one snapshot (repeatable read) to be consistent. */
export async function loadPolicyRows(tx: Tx, request: RowsRequest): Promise<PolicyRows> {
  const groupAssignments = await loadNear<GroupAssignmentRow>(tx, request, {
    table: 'group_assignments',
    select: sql`select r.target, r.holding_id as "holdingId", r.group_id as "groupId" from group_assignments r`,
  });
  return {
    holdings: await loadHoldings(tx, request),
    own: await loadOwn(tx, request),
    groups: await loadGroups(tx, request, [...new Set(groupAssignments.map((a) => a.groupId))]),
    groupAssignments,
    geoAssignments: await loadNear<GeoAssignmentRow>(tx, request, {
      table: 'geo_assignments',
      select: sql`
        select r.target, r.holding_id as "holdingId", g.id as "ruleId", g.action, g.countries, g.asns
          from geo_assignments r join geo_rules g on g.id = r.geo_rule_id and ${exists('g', request.generation)}`,
    }),
    defaults: await loadNear<DefaultRow>(tx, request, {
      table: 'default_actions',
      select: sql`select r.target, r.holding_id as "holdingId", r.action from default_actions r`,
    }),
    blocked: await loadBlocked(tx, request),
    openings: await loadOpenings(tx, request),
    baseline: await loadNear<BaselineRow>(tx, request, {
      table: 'baseline_rules',
      column: 'prefix',
      select: sql`select r.prefix, json_agg(${ruleTuple}) as rules from baseline_rules r`,
      group: sql`group by r.prefix`,
    }),
    mitigations: await loadNear<MitigationRow>(tx, request, {
      table: 'mitigations',
      select: sql`select r.id, r.target, r.countermeasure as action, r.mode, r.safelist from mitigations r`,
    }),
  };
}

/** The objects `r` of a table that exist and whose prefix overlaps the region. */
async function loadNear<Row>(
  tx: Tx,
  { region, generation }: RowsRequest,
  from: {
    readonly table: string;
    readonly column?: string;
    readonly select: RawBuilder<unknown>;
    readonly group?: RawBuilder<unknown>;
  },
): Promise<Row[]> {
  const { table, column = 'target', select, group = sql`` } = from;
  const { rows } = await sql<Row>`
    ${select} where ${exists('r', generation)} and ${touches('r', table, column, region)} ${group}`.execute(
    tx,
  );
  return rows;
}

/** The condition that an object exists, now or as of a generation. */
function exists(alias: string, generation: number | null): RawBuilder<unknown> {
  const created = sql.ref(`${alias}.created_generation`);
  const deleted = sql.ref(`${alias}.deleted_generation`);
  return generation === null
    ? sql`${deleted} is null`
    : sql`(${created} <= ${generation} and (${deleted} is null or ${deleted} > ${generation}))`;
}

/**
 * The condition that a row's prefix overlaps the region. Region first, so that each part is an index look-up; an
 * array, because the planner would reverse "in" and compare every row with every part.
 */
function touches(
  alias: string,
  table: string,
  column: string,
  region: Region,
): RawBuilder<unknown> {
  return sql`${sql.ref(`${alias}.id`)} = any (array(
    select near.id from unnest(${region}::cidr[]) as part
      join ${sql.table(table)} as near on ${sql.ref(`near.${column}`)} && part))`;
}

/** The same for addresses, whose index is a B-tree: a prefix is a range of addresses. */
export function addressInside(
  alias: string,
  region: Region,
  table: 'addresses' | 'server_openings' = 'addresses',
): RawBuilder<unknown> {
  return sql`${sql.ref(`${alias}.id`)} = any (array(
    select near.id from unnest(${region}::cidr[]) as part
      join ${sql.table(table)} as near on near.ip >= part::inet
       and near.ip <= set_masklen(broadcast(part)::inet, case family(part) when 4 then 32 else 128 end)))`;
}

const ruleTuple = sql`json_build_array(r.id, r.action, r.protocol, r.source, r.port)`;

/**
 * A server on an address of its service is reachable there. A server on another address of its node (behind NAT) may
 * be reachable at any address of its service, so all of them have the port. A server on loopback is not reachable.
 */
function gamePorts(asOf: string): RawBuilder<unknown> {
  return sql`coalesce((
    select array_agg(distinct p.port order by p.port) from game_servers g join server_ports p on p.uuid = g.uuid
     where g.service_id = h.service_id
       and (p.ip = host(h.cidr)::inet or not p.ip <<= any ('{127.0.0.0/8,::1}'::inet[]) and not exists (
         select from holdings of where of.service_id = g.service_id and of.during @> ${asOf}::timestamptz
            and host(of.cidr)::inet = p.ip))), '{}')`;
}

const namedPorts = sql`
  case when s.managed_filters @? '$[*] ? (@.ports like_regex ":")' then (
    select json_object_agg(n.uuid || ':' || n.name, n.port) from named_ports n
     where n.service_id = s.id and reaches(host(h.cidr)::inet, n.ip, s.id)) end`;

async function loadHoldings(tx: Tx, { region, asOf }: RowsRequest): Promise<HoldingRow[]> {
  const { rows } = await sql<HoldingRow>`
    select h.id, h.cidr, h.service_id as "serviceId", s.managed_filters as "managedFilters",
           ${gamePorts(asOf)} as "gamePorts", ${namedPorts} as "namedPorts"
      from holdings h left join services s on s.id = h.service_id
     where h.during @> ${asOf}::timestamptz and ${touches('h', 'holdings', 'cidr', region)}
  `.execute(tx);
  return rows;
}

async function loadOwn(tx: Tx, { region, asOf, generation }: RowsRequest): Promise<OwnRow[]> {
  const { rows } = await sql<OwnRow>`
    with present as (
      select a.id, a.ip, a.holding_id
        from addresses a join holdings h on h.id = a.holding_id
       where h.during @> ${asOf}::timestamptz and ${addressInside('a', region)}
    ), own_rules as (
      select r.address_id, json_agg(${ruleTuple}) as tuples
        from present p join rules r on r.address_id = p.id
       where ${exists('r', generation)} group by r.address_id
    ), own_filters as (
      select f.address_id, json_agg(json_build_array(f.id, f.type, f.port, f.settings)) as tuples
        from present p join filters f on f.address_id = p.id
       where ${exists('f', generation)} group by f.address_id
    )
    select p.ip::cidr as target, p.holding_id as "holdingId",
           coalesce(r.tuples, '[]') as rules, coalesce(f.tuples, '[]') as filters
      from present p
      left join own_rules r on r.address_id = p.id
      left join own_filters f on f.address_id = p.id
     where r.address_id is not null or f.address_id is not null
  `.execute(tx);
  return rows;
}

async function loadGroups(
  tx: Tx,
  { generation }: RowsRequest,
  ids: readonly number[],
): Promise<GroupRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<GroupRow>`
    select g.id,
           coalesce((select json_agg(${ruleTuple}) from group_rules r
                      where r.group_id = g.id and ${exists('r', generation)}), '[]') as rules,
           coalesce((select json_agg(json_build_array(f.id, f.type, f.port)) from group_filters f
                      where f.group_id = g.id and ${exists('f', generation)}), '[]') as filters
      from unnest(${ids}::bigint[]) as g (id)
  `.execute(tx);
  return rows;
}

async function loadBlocked(
  tx: Tx,
  { region, asOf, generation }: RowsRequest,
): Promise<BlockedRow[]> {
  const { rows } = await sql<BlockedRow>`
    select distinct b.target, b.holding_id as "holdingId",
           blocked_set(b.organisation_id, b.holding_id, b.target) as name
      from blocked_sources b
     where ${exists('b', generation)} and ${touches('b', 'blocked_sources', 'target', region)}
    union
    select h.cidr, h.id, blocked_set(h.organisation_id, null, null) from holdings h
     where h.during @> ${asOf}::timestamptz and ${touches('h', 'holdings', 'cidr', region)}
       and exists (select from blocked_sources b
                    where b.organisation_id = h.organisation_id and b.holding_id is null
                      and ${exists('b', generation)})
  `.execute(tx);
  return rows;
}

async function loadOpenings(tx: Tx, { region, generation }: RowsRequest): Promise<OpeningRow[]> {
  const { rows } = await sql<OpeningRow>`
    select o.ip::cidr as target, o.holding_id as "holdingId", o.id, o.protocol, o.port from server_openings o
     where ${exists('o', generation)} and ${addressInside('o', region, 'server_openings')}
  `.execute(tx);
  return rows;
}

/**
 * Every target that overlaps the region and may ever have had a policy, so that edges can be instructed to remove it.
 * Deleted objects and past holdings are kept far longer than the changes that edges sync.
 */
export async function loadFormerTargets(tx: Tx, region: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ target: string }>`
    with part as (select unnest(${region}::cidr[]) as part)
    select a.ip::cidr as target from addresses a where ${addressInside('a', region)}
    union select t.target from part join group_assignments t on t.target && part
    union select t.target from part join geo_assignments t on t.target && part
    union select t.target from part join default_actions t on t.target && part
    union select t.target from part join blocked_sources t on t.target && part
    union select o.ip::cidr from server_openings o where ${addressInside('o', region, 'server_openings')}
    union select t.target from part join mitigations t on t.target && part
    union select t.prefix from part join baseline_rules t on t.prefix && part
    union select t.cidr from part join holdings t on t.cidr && part
  `.execute(tx);
  return rows.map((row) => row.target);
}
