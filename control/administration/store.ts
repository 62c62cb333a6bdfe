import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';

/** An organisation as the operator sees it, in the names of the interface. */
export interface OrganisationRow {
  readonly slug: string;
  readonly name: string;
  readonly owner: Owner;
  readonly [member: string]: unknown;
}

/** Every organisation with what it has, by slug; one of them with a slug. */
export async function loadOrganisations(
  db: Db | Tx,
  slug: string | null = null,
): Promise<OrganisationRow[]> {
  const time = (column: string) =>
    sql`to_char(${sql.raw(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')`;
  const { rows } = await sql<OrganisationRow>`
    select o.slug, o.name, o.owner, o.flags, o.detection as thresholds,
           jsonb_build_object('rules_per_ip', o.rules_per_ip, 'filters_per_ip', o.filters_per_ip,
             'max_ports_per_request', o.max_ports_per_request, 'attack_history_days', o.attack_history_days,
             'configured_addresses', o.configured_addresses, 'requests_per_minute', o.requests_per_minute) as limits,
           array(select asn from asns where organisation_id = o.id order by asn) as asns,
           coalesce((select jsonb_agg(jsonb_build_object('prefix', h.cidr::text, 'asn', h.asn,
                              'service_id', h.service_id, 'since', ${time('lower(h.during)')},
                              'until', ${time('upper(h.during)')}, 'owner', h.owner) order by h.cidr)
                       from holdings h where h.organisation_id = o.id
                        and (upper_inf(h.during) or upper(h.during) > now())), '[]') as holdings,
           coalesce((select jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'active', s.active,
                              'owner', s.owner) order by s.id)
                       from services s where s.organisation_id = o.id), '[]') as services
      from organisations o
     where ${slug}::text is null or o.slug = ${slug}::text
     order by o.slug`.execute(db);
  return rows;
}

export interface WantedOrganisation {
  readonly slug: string;
  readonly name: string;
  readonly flags: readonly string[];
  /** By column. */
  readonly limits: Readonly<Record<string, number>>;
}

/** Creates an organisation of the portal or changes it; returns its id. */
export async function storeOrganisation(tx: Tx, wanted: WantedOrganisation): Promise<number> {
  const { slug, name, flags, limits } = wanted;
  const values = { name, flags: [...flags], ...limits };
  const { id } = await tx
    .insertInto('organisations')
    .values({ slug, owner: 'portal', ...values })
    .onConflict((conflict) => conflict.column('slug').doUpdateSet(values))
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

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
