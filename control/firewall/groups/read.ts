import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import type { FilterContent, RuleContent } from '@portcullis/core/firewall/rules/content.ts';
import { datedMarks, type Marks } from '@portcullis/core/firewall/rules/marks.ts';
import { marksAsJson } from '../mark-columns.ts';

export interface GroupView {
  readonly id: number;
  readonly name: string;
  readonly owner: Owner;
  readonly rules: readonly (RuleContent & StoredMarks)[];
  readonly filters: readonly (FilterContent & StoredMarks)[];
  /** Addresses without their length. */
  readonly targets: readonly string[];
}

export interface StoredMarks extends Required<Marks> {
  readonly id: number;
}

/** The rules and filters of a group as JSON has them, with their ends as dates. */
export function withDates<
  Row extends { readonly rules: readonly Marks[]; readonly filters: readonly Marks[] },
>(row: Row): Row {
  return { ...row, rules: row.rules.map(datedMarks), filters: row.filters.map(datedMarks) };
}

/** The groups of an organisation with what they contain now, by name; one of them with an id. */
export async function listGroups(
  db: Db | Tx,
  organisationId: number,
  id: number | null = null,
): Promise<GroupView[]> {
  const { rows } = await sql<GroupView>`
    select g.id, g.name, g.owner,
           coalesce((select json_agg(json_build_object('id', r.id, 'action', r.action, 'protocol', r.protocol,
                              'source', abbrev(r.source::inet), 'port', r.port, ${marksAsJson('r')}) order by r.action, r.id)
                       from group_rules r where r.group_id = g.id and r.deleted_generation is null), '[]') as rules,
           coalesce((select json_agg(json_build_object('id', f.id, 'type', f.type, 'port', f.port, ${marksAsJson('f')})
                              order by f.type, f.port)
                       from group_filters f
                      where f.group_id = g.id and f.deleted_generation is null), '[]') as filters,
           array(select abbrev(a.target::inet) from group_assignments a join holdings h on h.id = a.holding_id
                  where a.group_id = g.id and a.deleted_generation is null and h.during @> now()
                  order by a.target) as targets
      from groups g
     where g.organisation_id = ${organisationId} and g.deleted_at is null
       and (${id}::bigint is null or g.id = ${id}::bigint)
     order by g.name`.execute(db);
  return rows.map(withDates);
}

/** How many addresses in each network (with its length) have own rules or filters, in present holdings. */
export async function countConfiguredIn(
  tx: Tx,
  organisationId: number,
  networks: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await sql<{ network: string; count: number }>`
    select n.network::text as network, count(h.id) as count
      from unnest(${networks}::cidr[]) as n (network)
      left join addresses a on a.ip <<= n.network and a.configured
      left join holdings h on h.id = a.holding_id and h.organisation_id = ${organisationId} and h.during @> now()
     group by n.network`.execute(tx);
  return new Map(rows.map(({ network, count }) => [network, count]));
}
