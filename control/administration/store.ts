import type { Flag } from '@portcullis/core/access/abilities.ts';
import type { BodyOf } from '@portcullis/contract/operation-types.ts';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { ManagedFilter, Owner } from '../db/schema.ts';
import type { HoldingContent } from '../organisations/index.ts';

type WireLimits = NonNullable<BodyOf<'saveOrganisation'>['limits']>;

/** An organisation as the operator sees it, in the names of the interface but for detection. */
export interface OrganisationRow {
  readonly id: number;
  readonly slug: string;
  readonly owner: Owner;
  readonly flags: readonly Flag[];
  readonly limits: WireLimits;
  readonly detection: Partial<ScopeSettings>;
  readonly services: readonly DetectedRow[];
  readonly holdings: readonly DetectedRow[];
  readonly [member: string]: unknown;
}

interface DetectedRow {
  readonly detection: Partial<ScopeSettings>;
  readonly [member: string]: unknown;
}

/** Organisations with what they have, by slug; what is searched for must be equal. */
export async function loadOrganisations(
  db: Db | Tx,
  search: { readonly slug?: string; readonly externalId?: string | undefined } = {},
): Promise<OrganisationRow[]> {
  const { slug = null, externalId = null } = search;
  const time = (column: string) =>
    sql`to_char(${sql.raw(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')`;
  const { rows } = await sql<OrganisationRow>`
    select o.id, o.slug, o.external_id, o.name, o.owner, o.flags, o.detection,
           jsonb_build_object('rules_per_ip', o.rules_per_ip, 'filters_per_ip', o.filters_per_ip,
             'max_ports_per_request', o.max_ports_per_request, 'attack_history_days', o.attack_history_days,
             'configured_addresses', o.configured_addresses, 'requests_per_minute', o.requests_per_minute) as limits,
           array(select asn from asns where organisation_id = o.id order by asn) as asns,
           array(select asn from asns where organisation_id = o.id and owner = 'fleet' order by asn) as fleet_asns,
           coalesce((select jsonb_agg(jsonb_build_object('id', h.id, 'prefix', h.cidr::text, 'asn', h.asn,
                              'service_id', h.service_id, 'since', ${time('lower(h.during)')},
                              'until', ${time('upper(h.during)')}, 'detection', h.detection,
                              'owner', h.owner) order by h.cidr, h.id)
                       from holdings h where h.organisation_id = o.id
                        and (upper_inf(h.during) or upper(h.during) > now())), '[]') as holdings,
           coalesce((select jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'active', s.active,
                              'managed_filters', s.managed_filters, 'detection', s.detection,
                              'owner', s.owner) order by s.id)
                       from services s where s.organisation_id = o.id), '[]') as services
      from organisations o
     where (${slug}::text is null or o.slug = ${slug}::text)
       and (${externalId}::text is null or o.external_id = ${externalId}::text)
     order by o.slug`.execute(db);
  return rows;
}

/** Whose an ASN is, and how often holdings, also past ones, name it; null for an unknown number. */
export async function findAsn(
  tx: Tx,
  asn: number,
): Promise<{
  /** Null: the operator's, as is the slug. */
  readonly organisationId: number | null;
  readonly slug: string | null;
  readonly owner: Owner;
  readonly holdings: number;
} | null> {
  const { rows } = await sql<{
    organisationId: number | null;
    slug: string | null;
    owner: Owner;
    holdings: number;
  }>`
    select organisation_id as "organisationId", o.slug, a.owner,
           (select count(*) from holdings h where h.asn = a.asn) as holdings
      from asns a left join organisations o on o.id = a.organisation_id where a.asn = ${asn}`.execute(
    tx,
  );
  return rows[0] ?? null;
}

export interface FoundService {
  readonly organisationId: number;
  readonly owner: Owner;
  readonly managedFilters: readonly ManagedFilter[];
  /** Also past ones. */
  readonly holdings: number;
  readonly presentHoldings: number;
  readonly servers: number;
}

export async function findService(tx: Tx, id: number): Promise<FoundService | null> {
  const { rows } = await sql<FoundService>`
    select organisation_id as "organisationId", owner, managed_filters as "managedFilters",
           (select count(*) from holdings h where h.service_id = s.id) as holdings,
           (select count(*) from holdings h where h.service_id = s.id
               and (upper_inf(h.during) or upper(h.during) > now())) as "presentHoldings",
           (select count(*) from game_servers g where g.service_id = s.id) as servers
      from services s where id = ${id}`.execute(tx);
  return rows[0] ?? null;
}

/** The organisation that holds a network at some moment of a span, except by the holding `except`. */
export async function findHolder(
  tx: Tx,
  { cidr, since, until }: Pick<HoldingContent, 'cidr' | 'since' | 'until'>,
  except: number | null,
): Promise<{ readonly slug: string; readonly since: Date; readonly until: Date | null } | null> {
  const { rows } = await sql<{ slug: string; since: Date; until: Date | null }>`
    select o.slug, lower(h.during) as since, upper(h.during) as until
      from holdings h join organisations o on o.id = h.organisation_id
     where h.cidr = ${cidr}::cidr and h.during && tstzrange(${since}::timestamptz, ${until}::timestamptz)
       and h.id is distinct from ${except}::bigint
     order by 2 limit 1`.execute(tx);
  return rows[0] ?? null;
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
