import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { describeRule } from '@portcullis/core/firewall/rules/describe.ts';
import type { RuleNote } from '../notes/service.ts';
import {
  type FilterContent,
  filterIdentity,
  type RuleContent,
} from '@portcullis/core/firewall/rules/content.ts';
import type { Marks } from '@portcullis/core/firewall/rules/marks.ts';
import { selectedMarks } from '../mark-columns.ts';
import { canonicalSource } from '../store.ts';

/** An own object of an address, deleted or not. */
interface Lifetime {
  readonly id: number;
  readonly created: number;
  /** The generation that deleted it; null: it is there. */
  readonly deleted: number | null;
}
export type PastRule = RuleContent & RuleNote & Marks & Lifetime;
export type PastFilter = FilterContent & Lifetime;

/** Own rules and filters of an address that existed as of a generation, or were created or deleted by it. */
export async function loadPast(
  tx: Tx,
  addressId: number,
  generation: number,
): Promise<{ readonly rules: readonly PastRule[]; readonly filters: readonly PastFilter[] }> {
  const there = sql`t.address_id = ${addressId} and t.created_generation <= ${generation}
    and coalesce(t.deleted_generation, 9223372036854775807) >= ${generation}`;
  const lifetime = sql`t.id, t.created_generation as created, t.deleted_generation as deleted`;
  const rules = await sql<PastRule>`
    select ${lifetime}, t.action, t.protocol, abbrev(t.source::inet) as source, t.port, t.tags, ${selectedMarks('t')},
           case when t.port_server is not null
             then json_build_object('server', t.port_server, 'name', t.port_name) end as "namedPort"
      from rules t where ${there} order by t.id`.execute(tx);
  const filters = await sql<PastFilter>`
    select ${lifetime}, t.type, t.port, t.settings from filters t where ${there} order by t.id`.execute(
    tx,
  );
  const canonical = rules.rows.map((rule) => ({ ...rule, source: canonicalSource(rule.source) }));
  return { rules: canonical, filters: filters.rows };
}

/** The time of the first audited change at or after a generation; null if there is none. */
export async function timeOf(tx: Tx, generation: number): Promise<Date | null> {
  const { rows } = await sql<{ at: Date }>`
    select at from audit where generation >= ${generation} order by generation limit 1`.execute(tx);
  return rows[0]?.at ?? null;
}

export interface HistoryObject {
  readonly kind: string;
  readonly change: 'added' | 'removed';
  readonly id: number;
  readonly name: string;
}

export interface HistoryEntry {
  readonly generation: number;
  readonly at: Date;
  readonly actorKind: string;
  readonly actor: string;
  readonly action: string;
  readonly objects: readonly HistoryObject[];
}

interface HistoryRow extends Omit<HistoryEntry, 'objects'> {
  readonly kind: string;
  readonly change: 'added' | 'removed';
  readonly id: number;
  /** The content of a rule or a filter; of others, their name. */
  readonly content: RuleContent & FilterContent & { readonly name: string };
}

/** A target as people write it: an address without its length. */
const shown = sql`abbrev(t.target::inet)`;

/** The newest changes of an address before a generation, each with its objects and its first audit entry. */
export async function loadHistory(
  db: Db,
  of: { readonly organisationId: number; readonly holdingId: number; readonly ip: string },
  page: { readonly before: number | null; readonly limit: number },
): Promise<HistoryEntry[]> {
  const { rows } = await sql<HistoryRow>`
    with ${lifetimes(of)}, objects as (
      select created_generation as generation, created_at as at, 'added' as change, kind, id, content from lifetimes
      union all
      select deleted_generation, deleted_at, 'removed', kind, id, content from lifetimes
       where deleted_generation is not null
    ), page as (
      select distinct generation from objects
       where ${page.before}::bigint is null or generation < ${page.before}::bigint
       order by generation desc limit ${page.limit}
    )
    select o.generation, coalesce(a.at, o.at) as at, coalesce(a.actor_kind, 'system') as "actorKind",
           coalesce(a.actor, '') as actor, coalesce(a.action, '') as action, o.kind, o.change, o.id, o.content
      from objects o join page using (generation)
      left join lateral (
        select at, actor_kind, actor, action from audit
         where generation = o.generation
           and (organisation_id = ${of.organisationId} or organisation_id is null)
         order by target = ${of.ip} desc, id limit 1) a on true
     order by o.generation desc, o.change, o.kind, o.id`.execute(db);
  return [...Map.groupBy(rows, ({ generation }) => generation).values()].flatMap((objects) => {
    const [first] = objects;
    if (first === undefined) return [];
    const { generation, at, actorKind, actor, action } = first;
    return [{ generation, at, actorKind, actor, action, objects: objects.map(toObject) }];
  });
}

function toObject({ kind, change, id, content }: HistoryRow): HistoryObject {
  if (kind === 'rule' || kind === 'group_rule') {
    return { kind, change, id, name: describeRule(content) };
  }
  const isFilter = kind === 'filter' || kind === 'group_filter';
  return { kind, change, id, name: isFilter ? filterIdentity(content) : content.name };
}

/** Everything that ever applied to the address in this holding. */
function lifetimes({ holdingId, ip }: { readonly holdingId: number; readonly ip: string }) {
  const columns = sql`t.created_generation, t.created_at, t.deleted_generation, t.deleted_at`;
  const rule = sql`jsonb_build_object('action', t.action, 'protocol', t.protocol,
                                      'source', abbrev(t.source::inet), 'port', t.port)`;
  const filter = sql`jsonb_build_object('type', t.type, 'port', t.port)`;
  const own = sql`(select id from addresses where holding_id = ${holdingId} and ip = ${ip}::inet)`;
  const containing = sql`t.holding_id = ${holdingId} and t.target >>= ${ip}::inet`;
  // Only while the group was on the address: what it had before is not the history of the address.
  const ofGroup = sql`exists (
    select from group_assignments s
     where s.group_id = t.group_id and s.holding_id = ${holdingId} and s.target >>= ${ip}::inet
       and s.created_generation < coalesce(t.deleted_generation, 9223372036854775807)
       and coalesce(s.deleted_generation, 9223372036854775807) > t.created_generation)`;
  return sql`lifetimes as (
    select 'rule' as kind, t.id, ${rule} as content, ${columns} from rules t where t.address_id in ${own}
    union all
    select 'filter', t.id, ${filter} || jsonb_build_object('settings', t.settings), ${columns} from filters t where t.address_id in ${own}
    union all
    select 'default', t.id, jsonb_build_object('name', t.action || ' on ' || ${shown}), ${columns}
      from default_actions t where ${containing}
    union all
    select 'blocked', t.id, jsonb_build_object('name', abbrev(t.source::inet) || ' on ' || ${shown}), ${columns}
      from blocked_sources t where ${containing}
    union all
    select 'group', g.id, jsonb_build_object('name', g.name || ' on ' || ${shown}), ${columns}
      from group_assignments t join groups g on g.id = t.group_id where ${containing}
    union all
    select 'geo_rule', g.id, jsonb_build_object('name', g.action || ' '
             || array_to_string(g.countries || g.asns::text[], ', ') || ' on ' || ${shown}), ${columns}
      from geo_assignments t join geo_rules g on g.id = t.geo_rule_id where ${containing}
    union all
    select 'group_rule', t.id, ${rule}, ${columns} from group_rules t where ${ofGroup}
    union all
    select 'group_filter', t.id, ${filter}, ${columns} from group_filters t where ${ofGroup})`;
}
