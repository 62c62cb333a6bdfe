import { PASSED_REASONS } from '@portcullis/core/firewall/drops.ts';
import { sql } from 'kysely';
import type { Holder } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Enforcement } from './objects.ts';
import { notEnforced } from './writes/messages.ts';

/** A listed address with its accepted counts. */
export interface HeldAddress {
  readonly ip: string;
  readonly serviceId: number | null;
  readonly serviceName: string | null;
  readonly since: Date;
  readonly until: Date | null;
  readonly rulesCount: number;
  readonly filtersCount: number;
  /** In the last hour. */
  readonly droppedPackets: number;
}

/**
 * Loads at most `limit` addresses after `after`, in order: those assigned to a service, those with an object or an
 * assignment of their own, those that packets were dropped to in the last hour, and those attacked in the last day.
 * Counts group objects; omits addresses of other holders.
 */
export async function loadHeldAddresses(
  db: Db | Tx,
  holder: Holder,
  page: { readonly after: string | null; readonly limit: number },
): Promise<HeldAddress[]> {
  const { rows } = await sql<HeldAddress>`
    with mine as materialized (
      select id, cidr, service_id, lower(during) as since, upper(during) as until
        from holdings
       where organisation_id = ${holder.organisationId} and during @> statement_timestamp()
    ), listed as (
      ${listedAddresses(holder)}
    )
    select host(l.ip) as ip, m.service_id as "serviceId",
           (select name from services where id = m.service_id) as "serviceName", m.since, m.until,
           (select count(*) from rules r join addresses a on a.id = r.address_id
             where a.holding_id = m.id and a.ip = l.ip and r.deleted_generation is null)
         + (select count(*) from group_rules r
             where r.group_id in (${assignedGroups}) and r.deleted_generation is null
               and (r.source is null or family(r.source) = family(l.ip))) as "rulesCount",
           (select count(*) from filters f join addresses a on a.id = f.address_id
             where a.holding_id = m.id and a.ip = l.ip and f.deleted_generation is null)
         + (select count(*) from group_filters f
             where f.group_id in (${assignedGroups}) and f.deleted_generation is null) as "filtersCount",
           (select coalesce(sum(d.packets), 0)::bigint from drop_counts d
             where d.holding_id = m.id and d.target = l.ip::cidr
               and d.minute >= statement_timestamp() - interval '1 hour'
               and d.reason <> all (${[...PASSED_REASONS]})) as "droppedPackets"
      from listed l join mine m on m.id = l.holding_id
     where (${page.after}::inet is null or l.ip > ${page.after}::inet)
       and (${holder.prefixes}::cidr[] is null or l.ip <<= any (${holder.prefixes}::cidr[]))
       and l.holding_id = (select h.id from holdings h
                            where h.cidr >>= l.ip and h.during @> statement_timestamp()
                            order by masklen(h.cidr) desc limit 1)
     order by l.ip
     limit ${page.limit}
  `.execute(db);
  return rows;
}

/** Addresses of the holdings in `mine`. */
function listedAddresses({ organisationId }: Holder) {
  return sql`
      select host(cidr)::inet as ip, id as holding_id from mine
       where service_id is not null and masklen(cidr) = case family(cidr) when 4 then 32 else 128 end
       union
      select a.ip, a.holding_id from addresses a join mine on mine.id = a.holding_id where a.configured
       union
      select host(t.target)::inet, t.holding_id
        from (select target, holding_id from group_assignments where deleted_generation is null
               union all
              select target, holding_id from geo_assignments where deleted_generation is null
               union all
              select target, holding_id from default_actions where deleted_generation is null
               union all
              select target, holding_id from blocked_sources
               where deleted_generation is null and (expires_at is null or expires_at > statement_timestamp())
               union all
              select target, holding_id from drop_counts
               where minute >= statement_timestamp() - interval '1 hour' and reason <> all (${[...PASSED_REASONS]})
               union all
              select subject, holding_id from attacks
               where organisation_id = ${organisationId} and until_revision = 9223372036854775807
                 and coalesce(ended_at, 'infinity') > statement_timestamp() - interval '1 day') t
        join mine on mine.id = t.holding_id
       where masklen(t.target) = case family(t.target) when 4 then 32 else 128 end`;
}

const assignedGroups = sql`
  select s.group_id from group_assignments s
   where s.holding_id = m.id and s.target >>= l.ip and s.deleted_generation is null`;

/** The state of the edges that serve a holder, for reads that concern no single address. */
export interface FleetState {
  readonly liveGeneration: number;
  readonly acceptedGeneration: number;
  readonly enforcement: Enforcement;
}

/**
 * Like `live_generation` and the enforcement of an address, over every edge that serves a network of the holder. It is
 * `none` too when an edge enforces for others only, and `partial` when none enforces for some network.
 */
export async function loadFleetState(db: Db | Tx, holder: Holder): Promise<FleetState> {
  const { rows } = await sql<FleetState>`
    with mine as materialized (
      select cidr from holdings
       where organisation_id = ${holder.organisationId} and during @> statement_timestamp()
         and (${holder.prefixes}::cidr[] is null or cidr && any (${holder.prefixes}::cidr[]))
    ), enforcing as materialized (
      select * from edges e
       where enforcing_since is not null and exists (select from mine, unnest(e.serves) s where s && mine.cidr)
    )
    select fleet.generation as "acceptedGeneration",
           coalesce((select min(confirmed_generation) from enforcing where in_service),
                    (select min(confirmed_generation) from enforcing
                      where left_service_at is not distinct from (select max(left_service_at) from enforcing)),
                    fleet.generation) as "liveGeneration",
           (select case when not coalesce(bool_or(mode = 'enforce'), false) then 'none'
                        when bool_and(in_service and not lacks_device)
                         and not exists (select from edge_refusals x join enforcing e on e.id = x.edge_id)
                         and not exists (
                               select from mine where not exists (
                                 select from enforcing e, unnest(e.serves) s
                                  where e.mode = 'enforce' and s && mine.cidr)) then 'full'
                        else 'partial' end from enforcing) as enforcement
      from fleet
  `.execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('the fleet has lost its row');
  return row;
}

/**
 * The end of a message about a write to `target`, with a leading space. Empty while an edge enforces for the holder.
 */
export async function enforcementNote(tx: Tx, holder: Holder, target: string): Promise<string> {
  const { enforcement } = await loadFleetState(tx, holder);
  return enforcement === 'none' ? ` ${notEnforced(target)}` : '';
}

/** An edge that serves an address and has ever connected, and its generation of it. */
export interface ServingEdge {
  readonly name: string;
  readonly generation: number;
  readonly inService: boolean;
  /** It counts for what is live while it is in service; others only observe. */
  readonly isEnforcing: boolean;
  /** It was seen within its lease, so it may answer. */
  readonly seenRecently: boolean;
  /** Why it could not apply the address; null when it did. */
  readonly refused: string | null;
}

const LEASE_SECONDS = 60;
/** In our words: callers read it, and an edge's own words are for the operator. */
const REFUSED = 'The edge could not apply the policy of this address. The operator sees why.';

export async function loadServingEdges(db: Db | Tx, ip: string): Promise<ServingEdge[]> {
  const { rows } = await sql<ServingEdge>`
    select e.name, e.in_service as "inService", e.enforcing_since is not null as "isEnforcing",
           coalesce(e.last_seen_at > statement_timestamp() - ${LEASE_SECONDS} * interval '1 second', false)
             as "seenRecently",
           case when x.reason is not null then ${REFUSED} end as refused, least(e.confirmed_generation, x.good_generation) as generation
      from edges e
      left join lateral (
        select reason, good_generation from refusals_of(e.id, ${ip}::inet)
         order by good_generation, masklen(target) desc limit 1) x on true
     where (e.enforcing_since is not null or e.mode is not null)
       and exists (select from unnest(e.serves) s where s >>= ${ip}::inet)
     order by e.name
  `.execute(db);
  return rows;
}
