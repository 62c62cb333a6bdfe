import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';

export interface AuditRow {
  readonly id: number;
  readonly at: Date;
  readonly [member: string]: unknown;
}

/** Entries in the names of the interface, newest first. */
export async function searchAudit(
  db: Db,
  search: {
    readonly text: string | null;
    readonly organisation: string | null;
    readonly before: number | null;
    readonly limit: number;
  },
): Promise<AuditRow[]> {
  // The text is matched as it is, not as a pattern.
  const has = (column: string) =>
    sql`position(lower(${search.text}) in lower(${sql.raw(column)})) > 0`;
  const columns = [
    'a.actor',
    'a.action',
    'a.target',
    "coalesce(host(a.source), '')",
    "coalesce(a.request_id, '')",
  ];
  const { rows } = await sql<AuditRow>`
    select a.id, a.at, o.slug as organisation, a.actor_kind, a.actor, host(a.source) as source, a.request_id,
           a.action, a.target, a.detail, a.generation
      from audit a left join organisations o on o.id = a.organisation_id
     where (${search.before}::bigint is null or a.id < ${search.before}::bigint)
       and (${search.organisation}::text is null or o.slug = ${search.organisation}::text)
       and (${search.text}::text is null or ${sql.join(columns.map(has), sql` or `)})
     order by a.id desc limit ${search.limit}`.execute(db);
  return rows;
}
