import { sql } from 'kysely';
import { formatNetwork, parseCidr, type Cidr } from '@portcullis/core/net/cidr.ts';
import type { Tx } from '../../db/database.ts';
import type { ManagedFilter, Owner } from '../../db/schema.ts';
import { type Batch, BEGINS } from '../../fleet/batch.ts';
import {
  type Conflict,
  type GroupContent,
  type HoldingContent,
  LISTED_CONFLICTS,
} from './conflicts.ts';
import { describeRule, type FilterContent, filterKey, type RuleContent } from './content.ts';

export interface GroupRecord {
  readonly id: number;
  readonly organisationId: number;
  readonly name: string;
  readonly owner: Owner;
}

/** Locks a group that still is; its edits and assignments wait for each other. */
export async function lockGroup(tx: Tx, groupId: number): Promise<GroupRecord | null> {
  const { rows } = await sql<GroupRecord>`
    select id, organisation_id as "organisationId", name, owner from groups
     where id = ${groupId} and deleted_at is null for update
  `.execute(tx);
  return rows[0] ?? null;
}

export async function insertGroup(
  batch: Batch,
  organisationId: number,
  name: string,
): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    insert into groups (organisation_id, name, owner) values (${organisationId}, ${name}, ${batch.owner})
    on conflict (organisation_id, name) where deleted_at is null do nothing returning id
  `.execute(batch.tx);
  return rows[0]?.id ?? null;
}

/** False: another group has the name. */
export async function renameGroup(tx: Tx, group: GroupRecord, name: string): Promise<boolean> {
  const { rows } = await sql`
    update groups set name = ${name} where id = ${group.id} and not exists (
      select from groups g where g.organisation_id = ${group.organisationId}
         and g.name = ${name} and g.deleted_at is null and g.id <> ${group.id}) returning id
  `.execute(tx);
  return rows.length === 1;
}

/** Inserts what is not there yet, and returns what was. */
export async function insertGroupRules(
  batch: Batch,
  groupId: number,
  rules: readonly RuleContent[],
): Promise<number> {
  if (rules.length === 0) return 0;
  const { rows } = await sql<{ id: number }>`
    insert into group_rules (group_id, action, protocol, source, port, created_generation)
    select ${groupId}, r.action, r.protocol, r.source::cidr, r.port, ${BEGINS.created_generation}
      from jsonb_to_recordset(${JSON.stringify(rules)}::jsonb)
        as r (action text, protocol text, source text, port integer)
    on conflict do nothing returning id
  `.execute(batch.tx);
  batch.begin(
    'group_rules',
    rows.map((row) => row.id),
  );
  return rows.length;
}

export async function insertGroupFilters(
  batch: Batch,
  groupId: number,
  filters: readonly FilterContent[],
): Promise<number> {
  if (filters.length === 0) return 0;
  const { rows } = await sql<{ id: number }>`
    insert into group_filters (group_id, type, port, created_generation)
    select ${groupId}, f.type, f.port, ${BEGINS.created_generation}
      from jsonb_to_recordset(${JSON.stringify(filters)}::jsonb) as f (type text, port integer)
    on conflict do nothing returning id
  `.execute(batch.tx);
  batch.begin(
    'group_filters',
    rows.map((row) => row.id),
  );
  return rows.length;
}

export interface AssignmentRecord {
  readonly id: number;
  readonly holdingId: number;
  readonly target: string;
}

export async function loadAssignments(tx: Tx, groupId: number): Promise<AssignmentRecord[]> {
  const { rows } = await sql<AssignmentRecord>`
    select id, holding_id as "holdingId", target from group_assignments
     where group_id = ${groupId} and deleted_generation is null order by id
  `.execute(tx);
  return rows;
}

/** Null: the group is on that target already. */
export async function insertAssignment(
  batch: Batch,
  assignment: { readonly groupId: number; readonly holdingId: number; readonly target: string },
): Promise<number | null> {
  const { groupId, holdingId, target } = assignment;
  const { rows } = await sql<{ id: number }>`
    insert into group_assignments (group_id, holding_id, target, created_generation)
    values (${groupId}, ${holdingId}, ${target}, ${BEGINS.created_generation})
    on conflict do nothing returning id
  `.execute(batch.tx);
  batch.begin(
    'group_assignments',
    rows.map((row) => row.id),
  );
  return rows[0]?.id ?? null;
}

/** What has to be stateAnswer at before a group lies on `targets` of a holding. Needs the holding's lock. */
export async function loadHoldingContent(
  tx: Tx,
  holdingId: number,
  targets: readonly string[],
): Promise<HoldingContent> {
  const assigned = await sql<{ target: string; groupId: number }>`
    select target, group_id as "groupId" from group_assignments a
     where holding_id = ${holdingId} and deleted_generation is null
       and exists (select from unnest(${targets}::cidr[]) t where t && a.target)
  `.execute(tx);
  const assignments = assigned.rows.map(({ target, groupId }) => ({
    target: storedCidr(target),
    groupId,
  }));
  const groups = await loadGroupContents(tx, [...new Set(assignments.map((a) => a.groupId))]);
  const own = await sql<{ ip: string; rules: number; filters: number }>`
    select a.ip::cidr as ip,
           (select count(*) from rules r
             where r.address_id = a.id and r.deleted_generation is null) as rules,
           (select count(*) from filters f
             where f.address_id = a.id and f.deleted_generation is null) as filters
      from addresses a
     where a.holding_id = ${holdingId}
       and exists (select from unnest(${targets}::cidr[]) t where t >>= a.ip)
     order by a.ip
  `.execute(tx);
  const addresses = own.rows.map(({ ip, rules, filters }) => ({
    address: storedCidr(ip),
    rules,
    filters,
  }));
  return { ...(await loadHoldingTerms(tx, holdingId)), addresses, assignments, groups };
}

async function loadHoldingTerms(
  tx: Tx,
  holdingId: number,
): Promise<Pick<HoldingContent, 'limits' | 'managedTypes'>> {
  const { rows } = await sql<{
    rulesPerIp: number;
    filtersPerIp: number;
    managed: ManagedFilter[] | null;
  }>`
    select o.rules_per_ip as "rulesPerIp", o.filters_per_ip as "filtersPerIp",
           s.managed_filters as managed
      from holdings h join organisations o on o.id = h.organisation_id
      left join services s on s.id = h.service_id
     where h.id = ${holdingId}
  `.execute(tx);
  const row = rows[0];
  if (row === undefined) throw new Error(`holding ${holdingId} is gone under its lock`);
  return {
    limits: { rulesPerIp: row.rulesPerIp, filtersPerIp: row.filtersPerIp },
    managedTypes: (row.managed ?? []).map(({ type }) => type),
  };
}

export async function loadGroupContents(
  tx: Tx,
  ids: readonly number[],
): Promise<Map<number, GroupContent>> {
  const { rows } = await sql<GroupContent>`
    select g.id, g.name,
           coalesce((select json_agg(json_build_object('action', r.action, 'protocol', r.protocol,
                                     'source', r.source, 'port', r.port) order by r.id)
                       from group_rules r
                      where r.group_id = g.id and r.deleted_generation is null), '[]') as rules,
           coalesce((select json_agg(json_build_object('type', f.type, 'port', f.port) order by f.id)
                       from group_filters f
                      where f.group_id = g.id and f.deleted_generation is null), '[]') as filters
      from groups g where g.id = any(${ids}::bigint[])
  `.execute(tx);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Own rules and filters under `targets` that equal one of the group's. A source of the other family equals none. */
export async function findOwnDuplicates(
  tx: Tx,
  groupId: number,
  holdingId: number,
  targets: readonly string[],
): Promise<Conflict[]> {
  const touched = sql`
    select a.id, a.ip from addresses a
     where a.holding_id = ${holdingId}
       and exists (select from unnest(${targets}::cidr[]) t where t >>= a.ip)`;
  const rules = await sql<RuleContent & { ip: string }>`
    select a.ip::cidr as ip, r.action, r.protocol, r.source, r.port
      from (${touched}) a
      join rules r on r.address_id = a.id and r.deleted_generation is null
      join group_rules g on g.group_id = ${groupId} and g.deleted_generation is null
       and (g.action, g.protocol) = (r.action, r.protocol)
       and g.source is not distinct from r.source and g.port is not distinct from r.port
     order by a.ip, r.id limit ${LISTED_CONFLICTS + 1}
  `.execute(tx);
  const filters = await sql<FilterContent & { ip: string }>`
    select a.ip::cidr as ip, f.type, f.port
      from (${touched}) a
      join filters f on f.address_id = a.id and f.deleted_generation is null
      join group_filters g on g.group_id = ${groupId} and g.deleted_generation is null
       and (g.type, g.port) = (f.type, f.port)
     order by a.ip, f.id limit ${LISTED_CONFLICTS + 1}
  `.execute(tx);
  return [
    ...rules.rows.map((rule): Conflict => {
      const reason = `it has the rule "${describeRule(rule)}" of its own`;
      return { code: 'rule_exists', target: formatNetwork(storedCidr(rule.ip)), reason };
    }),
    ...filters.rows.map((filter): Conflict => {
      const reason = `it has the filter ${filterKey(filter)} of its own`;
      return { code: 'filter_exists', target: formatNetwork(storedCidr(filter.ip)), reason };
    }),
  ];
}

/** PostgreSQL's text of a cidr. */
function storedCidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok)
    throw new Error(`the database holds ${text}, which is no network: ${parsed.reason}`);
  return parsed.value;
}
