import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';

/** The content of a holding: a prefix, under an ASN or none, or what a service holds, for a time. */
export interface HoldingContent {
  readonly cidr: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly asn: number | null;
  readonly serviceId: number | null;
}

export interface CurrentHolding extends HoldingContent {
  readonly id: number;
  readonly organisationId: number;
  readonly owner: Owner;
  /** Live rules and filters of callers, and assignments of the portal. */
  readonly liveObjects: number;
  /** Other rows refer to it, even if only for the history. */
  readonly referenced: boolean;
}

/** Reads the database clock, which decides whether a holding is in effect. In whole milliseconds, as in a Date. */
export async function loadNow(db: Db | Tx): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    select date_trunc('milliseconds', now()) as now`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no time');
  return row.now;
}

/** Every holding, also past ones; one of them with an id. */
export async function loadHoldings(
  db: Db | Tx,
  id: number | null = null,
): Promise<CurrentHolding[]> {
  const { rows } = await sql<CurrentHolding>`
    with own as (
      select a.holding_id, sum(
               (select count(*) from rules r where r.address_id = a.id and r.deleted_generation is null)
             + (select count(*) from filters f where f.address_id = a.id and f.deleted_generation is null)
             ) as live
        from addresses a where ${isOne(id)} group by a.holding_id
    ), assigned as (
      select a.holding_id, count(*) filter (where a.deleted_generation is null and g.owner = 'portal') as live
        from group_assignments a join groups g on g.id = a.group_id where ${isOne(id)} group by a.holding_id
    ), located as (
      select a.holding_id, count(*) filter (where a.deleted_generation is null and g.owner = 'portal') as live
        from geo_assignments a join geo_rules g on g.id = a.geo_rule_id where ${isOne(id)} group by a.holding_id
    ), defaulted as (
      select a.holding_id, count(*) filter (where a.deleted_generation is null and a.owner = 'portal') as live
        from default_actions a where ${isOne(id)} group by a.holding_id
    ), blocked as (
      select a.holding_id, count(*) filter (where a.deleted_generation is null and a.owner = 'portal') as live
        from blocked_sources a where ${isOne(id)} group by a.holding_id
    )
    select h.id, h.organisation_id as "organisationId", h.cidr, h.asn, h.service_id as "serviceId",
           h.owner, lower(h.during) as since, upper(h.during) as until,
           (coalesce(own.live, 0) + coalesce(assigned.live, 0) + coalesce(located.live, 0)
             + coalesce(defaulted.live, 0) + coalesce(blocked.live, 0))::integer
             as "liveObjects",
           (own.holding_id is not null or assigned.holding_id is not null
             or located.holding_id is not null or defaulted.holding_id is not null
             or blocked.holding_id is not null) as referenced
      from holdings h
      left join own on own.holding_id = h.id
      left join assigned on assigned.holding_id = h.id
      left join located on located.holding_id = h.id
      left join defaulted on defaulted.holding_id = h.id
      left join blocked on blocked.holding_id = h.id
     where ${id}::bigint is null or h.id = ${id}::bigint
     order by h.id`.execute(db);
  return rows;
}

function isOne(id: number | null) {
  return sql`(${id}::bigint is null or a.holding_id = ${id}::bigint)`;
}

/** Live objects of an organisation on addresses that a network would take out of a wider holding. */
export interface ObjectsInside {
  readonly organisation: string;
  readonly liveObjects: number;
}

/**
 * Counts live objects on addresses that belong to a wider holding now, and would not once the network is a holding.
 * `offset 0` makes PostgreSQL look the wider holdings up by the index, not compare all networks with all holdings.
 */
export async function loadInside(
  db: Db | Tx,
  networks: readonly string[],
): Promise<ReadonlyMap<string, ObjectsInside>> {
  const { rows } = await sql<ObjectsInside & { network: string }>`
    select w.network, min(o.slug) as organisation, sum(
             (select count(*) from rules r where r.address_id = a.id and r.deleted_generation is null)
           + (select count(*) from filters f where f.address_id = a.id and f.deleted_generation is null)
           )::integer as "liveObjects"
      from unnest(${networks}::cidr[]) as w (network)
     cross join lateral (select id, cidr, organisation_id from holdings
                         where cidr >> w.network and during @> now() offset 0) as h
      join organisations o on o.id = h.organisation_id
      join addresses a on a.holding_id = h.id and a.ip <<= w.network
     where not exists (select from holdings n
                        where n.cidr >>= a.ip and n.cidr << h.cidr and n.during @> now())
     group by w.network`.execute(db);
  return new Map(
    rows
      .filter(({ liveObjects }) => liveObjects > 0)
      .map(({ network, ...found }) => [network, found]),
  );
}

export interface CreatedHolding {
  readonly id: number;
  readonly cidr: string;
  readonly since: Date;
  readonly organisationId: number;
}

/** Holdings of the side that writes. One that another holder has at that time breaks `holdings_one_holder`. */
export async function createHoldings(
  batch: Batch,
  wanted: readonly (HoldingContent & { readonly organisationId: number })[],
): Promise<CreatedHolding[]> {
  batch.touch(...wanted.map(({ cidr }) => cidr));
  const { rows } = await sql<CreatedHolding>`
    insert into holdings (organisation_id, cidr, during, asn, service_id, owner)
    select "organisationId", cidr, tstzrange(since, until), asn, "serviceId", ${batch.owner}
      from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as w
        ("organisationId" bigint, cidr cidr, since timestamptz, until timestamptz, asn bigint, "serviceId" bigint)
    returning id, cidr, lower(during) as since, organisation_id as "organisationId"`.execute(
    batch.tx,
  );
  return rows;
}

export async function changeHolding(
  batch: Batch,
  id: number,
  { cidr, since, until, asn, serviceId }: HoldingContent,
): Promise<void> {
  batch.touch(cidr);
  await sql`
    update holdings set during = tstzrange(${since}::timestamptz, ${until}::timestamptz),
           asn = ${asn}, service_id = ${serviceId}
     where id = ${id}`.execute(batch.tx);
}

const OF_HOLDING = [
  'addresses',
  'group_assignments',
  'geo_assignments',
  'default_actions',
  'blocked_sources',
  'server_openings',
];

/** Only for holdings that nothing refers to, or that never started, so that no history is lost. */
export async function deleteHolding(
  batch: Batch,
  { id, cidr }: Pick<CurrentHolding, 'id' | 'cidr'>,
): Promise<void> {
  batch.touch(cidr);
  for (const table of ['rules', 'filters']) {
    await sql`
      delete from ${sql.table(table)}
       where address_id in (select id from addresses where holding_id = ${id})`.execute(batch.tx);
  }
  for (const table of OF_HOLDING) {
    await sql`delete from ${sql.table(table)} where holding_id = ${id}`.execute(batch.tx);
  }
  await sql`delete from holdings where id = ${id}`.execute(batch.tx);
}

/** Whether a holding is in effect at a moment. */
export function inEffect(
  { since, until }: Pick<HoldingContent, 'since' | 'until'>,
  at: Date,
): boolean {
  return since <= at && (until === null || until > at);
}
