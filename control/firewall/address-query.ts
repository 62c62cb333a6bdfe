/**
 * The statement that reads an address: its holder, its live (or accepted) objects, and its enforcement.
 * $1 is the address, $2 the organisation, $3 the prefixes that the key is bound to, or null. It returns no row when the
 * caller does not hold the address. It uses the time of the statement, because the transaction may have waited for a
 * lock while a holding ended.
 *
 * Lists are returned as text of JSON arrays, which is parsed ten times faster than rows, and not at all when it equals
 * the previous text.
 * https://www.postgresql.org/docs/current/functions-net.html: abbrev() drops a full length, and nothing else.
 */
export function addressQuery(asOf: 'live' | 'accepted'): string {
  const generation = asOf === 'live' ? 'at.live' : 'at.accepted';
  return `
with held as materialized (
  select h.id, h.organisation_id
    from holdings h
   where h.cidr >>= $1::inet and h.during @> statement_timestamp()
   order by masklen(h.cidr) desc
   limit 1
), at as materialized (
  select live_generation($1::inet) as live, (select generation from fleet) as accepted
)
select held.id as "holdingId", at.live as "liveGeneration", at.accepted as "acceptedGeneration",
       ${ENFORCEMENT} as enforcement,
       ${asOf === 'live' ? 'false' : HAS_GEO_RULES} as "hasGeoRules",
       coalesce((select s.action from default_actions s
                  where s.holding_id = held.id and s.target >>= $1::inet and ${existsAt('s', generation)}
                  order by masklen(s.target) desc limit 1), 'accept') as "default",
       (select coalesce(json_agg(json_build_array(r.id, r.action, r.protocol, abbrev(r.source::inet), r.port,
                                                  r.group_id, r.group_name, ${NAMED_PORT}) order by r.action, r.id)::text, '[]')
          from (select r.id, r.action, r.protocol, r.source, r.port, null::bigint as group_id, null::text as group_name,
                       r.port_server, r.port_name
                  from rules r join addresses a on a.id = r.address_id
                 where a.holding_id = held.id and a.ip = $1::inet and ${existsAt('r', generation)}
                union all
                select r.id, r.action, r.protocol, r.source, r.port, g.id, g.name, r.port_server, r.port_name
                  from groups g join group_rules r on r.group_id = g.id
                 where g.id in (${assignedGroups(generation)}) and ${existsAt('r', generation)}
                   and (r.source is null or family(r.source) = family($1::inet))) r) as "rulesJson",
       (select coalesce(json_agg(json_build_array(f.id, f.type, f.port, f.group_id, f.group_name)
                                 order by f.type, f.port, f.id)::text, '[]')
          from (select f.id, f.type, f.port, null::bigint as group_id, null::text as group_name
                  from filters f join addresses a on a.id = f.address_id
                 where a.holding_id = held.id and a.ip = $1::inet and ${existsAt('f', generation)}
                union all
                select f.id, f.type, f.port, g.id, g.name
                  from groups g join group_filters f on f.group_id = g.id
                 where g.id in (${assignedGroups(generation)}) and ${existsAt('f', generation)}) f) as "filtersJson"
  from held, at
 where held.organisation_id = $2
   and ($3::cidr[] is null or $1::inet <<= any ($3::cidr[]))`;
}

const NAMED_PORT = `case when r.port_server is not null
         then json_build_array(r.port_server, r.port_name, shown_port(r.port_server, r.port_name)) end`;

/** Only writes need it, and they read the accepted objects. */
const HAS_GEO_RULES = `exists (
         select from geo_assignments s
          where s.holding_id = held.id and s.target >>= $1::inet and s.deleted_generation is null)`;

/** The condition that an object exists as of a generation, in the form of the index on rules and filters. */
function existsAt(table: string, generation: string): string {
  return `${table}.created_generation <= ${generation}
     and coalesce(${table}.deleted_generation, 9223372036854775807) > ${generation}`;
}

/** Groups that the same holding has on the address or on a containing prefix. */
function assignedGroups(generation: string): string {
  return `select s.group_id from group_assignments s
           where s.holding_id = held.id and s.target >>= $1::inet and ${existsAt('s', generation)}`;
}

/**
 * `none`: no edge that serves the address enforces. `partial`: an enforcing edge is out of service, lacks a device, or
 * refused the address. An edge without any device counts as out of service.
 */
const ENFORCEMENT = `
       (select case when not coalesce(bool_or(e.mode = 'enforce'), false) then 'none'
                    when bool_and(e.in_service and not e.lacks_device and not exists (
                           select from refusals_of(e.id, $1::inet))) then 'full'
                    else 'partial' end
          from edges e
         where e.enforcing_since is not null
           and exists (select from unnest(e.serves) s where s >>= $1::inet))`;
