import { type RawBuilder, sql } from 'kysely';
import { formatNetwork } from '@portcullis/core/net/cidr.ts';
import type { Tx } from '../../db/database.ts';
import {
  MARK_COLUMNS,
  MARKS_RECORD,
  marksOfRecord,
  SET_MARKS,
  wakeExpiry,
} from '../mark-columns.ts';
import { lockRows } from '../../db/locks.ts';
import type { ManagedFilter, Owner } from '../../db/schema.ts';
import { type Batch, type GenerationalTable, UNSTAMPED } from '../../fleet/batch.ts';
import { storedCidr } from '../../fleet/index.ts';
import {
  type Conflict,
  type GroupContent,
  type HoldingContent,
  LISTED_CONFLICTS,
} from './conflicts.ts';
import {
  type FilterContent,
  filterKey,
  type RuleContent,
  type WantedFilter,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import type { Marks } from '@portcullis/core/firewall/rules/marks.ts';
import { describeRule } from '@portcullis/core/firewall/rules/describe.ts';

export interface GroupRecord {
  readonly id: number;
  readonly organisationId: number;
  readonly name: string;
  readonly owner: Owner;
}

/** Groups that are not deleted. Locked, their edits and assignments wait for each other. */
export async function loadGroups(
  tx: Tx,
  ids: readonly number[],
  { locked }: { readonly locked: boolean },
): Promise<Map<number, GroupRecord>> {
  if (locked) await lockRows(tx, 'groups', ids, 'update');
  const { rows } = await sql<GroupRecord>`
    select id, organisation_id as "organisationId", name, owner from groups
     where id = any(${ids}::bigint[]) and deleted_at is null order by id`.execute(tx);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Inserts groups without content. Returns their ids in order; null where another group has the name. */
export async function insertGroups(
  batch: Batch,
  groups: readonly { readonly organisationId: number; readonly name: string }[],
): Promise<(number | null)[]> {
  const { rows } = await sql<{ id: number; organisationId: number; name: string }>`
    insert into groups (organisation_id, name, owner)
    select organisation_id, name, ${batch.owner}
      from unnest(${groups.map((group) => group.organisationId)}::bigint[],
                  ${groups.map((group) => group.name)}::text[]) as wanted (organisation_id, name)
    on conflict (organisation_id, name) where deleted_at is null do nothing
    returning id, organisation_id as "organisationId", name
  `.execute(batch.tx);
  const ids = new Map(rows.map((row) => [`${row.organisationId} ${row.name}`, row.id]));
  return groups.map(({ organisationId, name }) => ids.get(`${organisationId} ${name}`) ?? null);
}

/** False: another group has the name. */
export async function renameGroup(tx: Tx, group: GroupRecord, name: string): Promise<boolean> {
  const { id: groupId, organisationId } = group;
  const { rows } = await sql`
    update groups set name = ${name} where id = ${groupId} and not ${taken({ groupId, organisationId }, name)}
    returning id`.execute(tx);
  return rows.length === 1;
}

interface Named {
  readonly organisationId: number;
  readonly groupId: number;
}

function taken({ organisationId, groupId }: Named, name: string): RawBuilder<unknown> {
  return sql`exists (
    select from groups g where g.organisation_id = ${organisationId}
       and g.name = ${name} and g.deleted_at is null and g.id <> ${groupId})`;
}

/** Whether another group has the name. */
export async function isNameTaken(tx: Tx, of: Named, name: string): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>`select ${taken(of, name)} as taken`.execute(tx);
  return rows[0]?.taken === true;
}

type Table = Extract<GenerationalTable, 'group_rules' | 'group_filters'>;

/** The columns of a rule in a JSON record, without its marks. */
const RULE_RECORD = sql`"groupId" bigint, action text, protocol text, source text, port integer, "namedPort" jsonb`;

/** Inserts rules that do not exist yet, and returns how many those were. */
export async function insertGroupRules(
  batch: Batch,
  rules: readonly (WantedRule & { readonly groupId: number })[],
): Promise<number> {
  if (rules.length === 0) return 0;
  const { rows } = await sql<{ id: number }>`
    insert into group_rules (group_id, action, protocol, source, port, port_server, port_name, ${MARK_COLUMNS},
                             created_generation)
    select r."groupId", r.action, r.protocol, r.source::cidr, r.port, (r."namedPort" ->> 'server')::uuid,
           r."namedPort" ->> 'name', ${marksOfRecord('r')}, ${UNSTAMPED.created_generation}
      from jsonb_to_recordset(${JSON.stringify(rules)}::jsonb) as r (${RULE_RECORD}, ${MARKS_RECORD})
    on conflict do nothing returning id
  `.execute(batch.tx);
  return begun(batch, 'group_rules', rows, rules);
}

export async function insertGroupFilters(
  batch: Batch,
  filters: readonly (WantedFilter & { readonly groupId: number })[],
): Promise<number> {
  if (filters.length === 0) return 0;
  const { rows } = await sql<{ id: number }>`
    insert into group_filters (group_id, type, port, ${MARK_COLUMNS}, created_generation)
    select f."groupId", f.type, f.port, ${marksOfRecord('f')}, ${UNSTAMPED.created_generation}
      from jsonb_to_recordset(${JSON.stringify(filters)}::jsonb)
        as f ("groupId" bigint, type text, port integer, ${MARKS_RECORD})
    on conflict do nothing returning id
  `.execute(batch.tx);
  return begun(batch, 'group_filters', rows, filters);
}

async function begun(
  batch: Batch,
  table: Table,
  rows: readonly { readonly id: number }[],
  wanted: readonly Partial<Marks>[],
): Promise<number> {
  batch.begin(
    table,
    rows.map((row) => row.id),
  );
  await wakeExpiry(batch.tx, wanted);
  return rows.length;
}

export interface GroupMarks extends Marks {
  readonly id: number;
}

/** Writes the marks of rules or filters that stay. Edges get nothing else. */
export async function writeGroupMarks(
  batch: Batch,
  table: Table,
  marks: readonly GroupMarks[],
): Promise<void> {
  if (marks.length === 0) return;
  const { tx } = batch;
  // Refs may change places, and are unique after every row.
  await sql`
    update ${sql.table(table)} set ref = null
     where id = any(${marks.map(({ id }) => id)}::bigint[]) and ref is not null`.execute(tx);
  await sql`
    update ${sql.table(table)} t set ${SET_MARKS}
      from jsonb_to_recordset(${JSON.stringify(marks)}::jsonb) as n (id bigint, ${MARKS_RECORD})
     where t.id = n.id`.execute(tx);
  await wakeExpiry(tx, marks);
  batch.mark();
}

export async function loadAssignments(
  tx: Tx,
  groupIds: readonly number[],
): Promise<AssignmentRecord[]> {
  const { rows } = await sql<AssignmentRecord>`
    select id, group_id as "groupId", holding_id as "holdingId", target from group_assignments
     where group_id = any(${groupIds}::bigint[]) and deleted_generation is null order by id
  `.execute(tx);
  return rows;
}

/** A group on an address or a prefix (`target`, with its length) inside a holding. */
export interface Assignment {
  readonly groupId: number;
  readonly holdingId: number;
  readonly target: string;
}

export interface AssignmentRecord extends Assignment {
  readonly id: number;
}

/** Inserts assignments. Returns those that exist already. */
export async function insertAssignments(
  batch: Batch,
  assignments: readonly Assignment[],
): Promise<readonly Assignment[]> {
  const { rows } = await sql<Assignment & { id: number }>`
    insert into group_assignments (group_id, holding_id, target, created_generation)
    select group_id, holding_id, target, ${UNSTAMPED.created_generation}
      from ${columnsOf(assignments)}
    on conflict do nothing
    returning id, group_id as "groupId", holding_id as "holdingId", target
  `.execute(batch.tx);
  batch.begin(
    'group_assignments',
    rows.map((row) => row.id),
  );
  if (rows.length === assignments.length) return [];
  const inserted = new Set(rows.map(assignmentKey));
  return assignments.filter((assignment) => !inserted.has(assignmentKey(assignment)));
}

function assignmentKey({ groupId, holdingId, target }: Assignment): string {
  return `${groupId} ${holdingId} ${target}`;
}

function columnsOf(assignments: readonly Assignment[]): RawBuilder<unknown> {
  return sql`unnest(${assignments.map((one) => one.groupId)}::bigint[],
                    ${assignments.map((one) => one.holdingId)}::bigint[],
                    ${assignments.map((one) => one.target)}::cidr[])
               as wanted (group_id, holding_id, target)`;
}

/** With more targets than this, everything of their holdings is read instead of comparing each row with each target. */
const FEW_TARGETS = 100;

/** A group as it shall be, which is stored nowhere yet. */
export interface PlannedGroup extends GroupContent {
  readonly assignments: readonly Assignment[];
}

/** Loads what the targets' holdings contain around them. Needs the holdings' locks, unless for a plan. */
export async function loadHoldingContents(
  tx: Tx,
  assignments: readonly Assignment[],
  planned: PlannedGroup | null,
): Promise<Map<number, HoldingContent>> {
  const holdingIds = [...new Set(assignments.map(({ holdingId }) => holdingId))];
  const targets = assignments.map(({ target }) => target);
  const near = (condition: RawBuilder<unknown>): RawBuilder<unknown> =>
    targets.length > FEW_TARGETS
      ? sql`true`
      : sql`exists (select from unnest(${targets}::cidr[]) t where ${condition})`;
  const assigned = await sql<Assignment>`
    select holding_id as "holdingId", target, group_id as "groupId" from group_assignments a
     where holding_id = any(${holdingIds}::bigint[]) and deleted_generation is null
       and group_id is distinct from ${planned?.id ?? null}::bigint and ${near(sql`t && a.target`)}
  `.execute(tx);
  const own = await sql<{ holdingId: number; ip: string; rules: number; filters: number }>`
    select a.holding_id as "holdingId", a.ip::cidr as ip,
           (select count(*) from rules r
             where r.address_id = a.id and r.deleted_generation is null) as rules,
           (select count(*) from filters f
             where f.address_id = a.id and f.deleted_generation is null) as filters
      from addresses a
     where a.holding_id = any(${holdingIds}::bigint[]) and ${near(sql`t >>= a.ip`)}
     order by a.ip
  `.execute(tx);
  const groups = await loadGroupContents(tx, [...new Set(assigned.rows.map((a) => a.groupId))]);
  if (planned !== null) groups.set(planned.id, planned);
  // In one order, whether they are stored yet or not.
  const allAssigned = [...assigned.rows, ...(planned?.assignments ?? [])].toSorted((a, b) =>
    a.target === b.target ? a.groupId - b.groupId : a.target < b.target ? -1 : 1,
  );
  const assignedTo = Map.groupBy(allAssigned, ({ holdingId }) => holdingId);
  const addressesOf = Map.groupBy(own.rows, ({ holdingId }) => holdingId);
  const contents = new Map<number, HoldingContent>();
  for (const { holdingId, ...terms } of await loadHoldingTerms(tx, holdingIds)) {
    contents.set(holdingId, {
      ...terms,
      groups,
      addresses: (addressesOf.get(holdingId) ?? []).map(({ ip, rules, filters }) => {
        return { address: storedCidr(ip), rules, filters };
      }),
      assignments: (assignedTo.get(holdingId) ?? []).map(({ target, groupId }) => {
        return { target: storedCidr(target), groupId };
      }),
    });
  }
  return contents;
}

async function loadHoldingTerms(
  tx: Tx,
  holdingIds: readonly number[],
): Promise<(Pick<HoldingContent, 'limits' | 'managedTypes'> & { readonly holdingId: number })[]> {
  const { rows } = await sql<{
    holdingId: number;
    rulesPerIp: number;
    filtersPerIp: number;
    managed: ManagedFilter[] | null;
  }>`
    select h.id as "holdingId", o.rules_per_ip as "rulesPerIp", o.filters_per_ip as "filtersPerIp",
           s.managed_filters as managed
      from holdings h join organisations o on o.id = h.organisation_id
      left join services s on s.id = h.service_id
     where h.id = any(${holdingIds}::bigint[])
  `.execute(tx);
  return rows.map(({ holdingId, rulesPerIp, filtersPerIp, managed }) => ({
    holdingId,
    limits: { rulesPerIp, filtersPerIp },
    managedTypes: (managed ?? []).map(({ type }) => type),
  }));
}

export async function loadGroupContents(
  tx: Tx,
  ids: readonly number[],
): Promise<Map<number, GroupContent>> {
  const { rows } = await sql<GroupContent>`
    select g.id, g.name,
           coalesce((select json_agg(json_build_object('action', r.action, 'protocol', r.protocol,
                                     'source', abbrev(r.source::inet), 'port', r.port) order by r.id)
                       from group_rules r
                      where r.group_id = g.id and r.deleted_generation is null), '[]') as rules,
           coalesce((select json_agg(json_build_object('type', f.type, 'port', f.port) order by f.id)
                       from group_filters f
                      where f.group_id = g.id and f.deleted_generation is null), '[]') as filters
      from groups g where g.id = any(${ids}::bigint[])
  `.execute(tx);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Own rules and filters at the targets that equal one of the group's. A source of the other family equals none. */
export async function findOwnDuplicates(
  tx: Tx,
  assignments: readonly Assignment[],
  planned: PlannedGroup | null,
): Promise<Conflict[]> {
  const content = contentOf(planned);
  const touched = sql`
    select wanted.group_id, a.id, a.ip from ${columnsOf(assignments)}
      join addresses a on a.holding_id = wanted.holding_id and a.ip >= wanted.target::inet
       and a.ip <= set_masklen(broadcast(wanted.target)::inet, case family(wanted.target) when 4 then 32 else 128 end)`;
  const rules = await sql<RuleContent & { groupId: number; ip: string }>`
    select a.group_id as "groupId", a.ip::cidr as ip, r.action, r.protocol, abbrev(r.source::inet) as source, r.port
      from (${touched}) a
      join rules r on r.address_id = a.id and r.deleted_generation is null
      join (${content.rules}) g on g.group_id = a.group_id
       and (g.action, g.protocol) = (r.action, r.protocol)
       and g.source is not distinct from r.source and g.port is not distinct from r.port
     order by a.ip, r.id limit ${LISTED_CONFLICTS + 1}
  `.execute(tx);
  const filters = await sql<FilterContent & { groupId: number; ip: string }>`
    select a.group_id as "groupId", a.ip::cidr as ip, f.type, f.port
      from (${touched}) a
      join filters f on f.address_id = a.id and f.deleted_generation is null
      join (${content.filters}) g on g.group_id = a.group_id
       and (g.type, g.port) = (f.type, f.port)
     order by a.ip, f.id limit ${LISTED_CONFLICTS + 1}
  `.execute(tx);
  const shown = (ip: string): string => formatNetwork(storedCidr(ip));
  return [
    ...rules.rows.map(({ groupId, ip, ...rule }): Conflict => {
      const reason = `it has the rule "${describeRule(rule)}" of its own`;
      return { groupId, code: 'rule_exists', target: shown(ip), reason };
    }),
    ...filters.rows.map(({ groupId, ip, ...filter }): Conflict => {
      const reason = `it has the filter ${filterKey(filter)} of its own`;
      return { groupId, code: 'filter_exists', target: shown(ip), reason };
    }),
  ];
}

/** The content of groups that are checked: as stored, or of the one that is planned. */
function contentOf(planned: PlannedGroup | null): Record<'rules' | 'filters', RawBuilder<unknown>> {
  if (planned === null) {
    return {
      rules: sql`select * from group_rules where deleted_generation is null`,
      filters: sql`select * from group_filters where deleted_generation is null`,
    };
  }
  return {
    rules: sql`
      select ${planned.id}::bigint as group_id, * from jsonb_to_recordset(${JSON.stringify(planned.rules)}::jsonb)
        as r (action text, protocol text, source cidr, port integer)`,
    filters: sql`
      select ${planned.id}::bigint as group_id, * from jsonb_to_recordset(${JSON.stringify(planned.filters)}::jsonb)
        as f (type text, port integer)`,
  };
}
