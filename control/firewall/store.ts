import { CompiledQuery, sql } from 'kysely';
import type { FilterSettings } from '@portcullis/core/filters/settings.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Holder } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import { lockRows, noteLock } from '../db/locks.ts';
import type { AddressState, StoredFilter, StoredRule } from './objects.ts';

/**
 * The statement that reads an address: its holder, its live (or accepted) objects, and its enforcement.
 * $1 is the address, $2 the organisation, $3 the prefixes that the key is bound to, or null. It returns no row when the
 * caller does not hold the address. It uses the time of the statement, because the transaction may have waited for a
 * lock while a holding ended.
 *
 * Lists are returned as text of JSON arrays, which is parsed ten times faster than rows.
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
                                                  r.group_id, r.group_name, ${NAMED_PORT}, r.ref, r.expires_at) order by r.action, r.id)::text, '[]')
          from (select r.id, r.action, r.protocol, r.source, r.port, null::bigint as group_id, null::text as group_name,
                       r.port_server, r.port_name, r.ref, r.expires_at
                  from rules r join addresses a on a.id = r.address_id
                 where a.holding_id = held.id and a.ip = $1::inet and ${existsAt('r', generation)}
                union all
                select r.id, r.action, r.protocol, r.source, r.port, g.id, g.name, r.port_server, r.port_name, r.ref, r.expires_at
                  from groups g join group_rules r on r.group_id = g.id
                 where g.id in (${assignedGroups(generation)}) and ${existsAt('r', generation)}
                   and (r.source is null or family(r.source) = family($1::inet))) r) as "rulesJson",
       (select coalesce(json_agg(json_build_array(f.id, f.type, f.port, f.group_id, f.group_name, f.settings)
                                 order by f.type, f.port, f.id)::text, '[]')
          from (select f.id, f.type, f.port, null::bigint as group_id, null::text as group_name, f.settings
                  from filters f join addresses a on a.id = f.address_id
                 where a.holding_id = held.id and a.ip = $1::inet and ${existsAt('f', generation)}
                union all
                select f.id, f.type, f.port, g.id, g.name, '{}'
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

const LIVE = addressQuery('live');
const ACCEPTED = addressQuery('accepted');

type RuleRow = [
  number,
  StoredRule['action'],
  StoredRule['protocol'],
  string | null,
  number | null,
  number | null,
  string | null,
  [server: string, name: string, shown: string] | null,
  string | null,
  string | null,
];
type FilterRow = [number, string, number, number | null, string | null, FilterSettings];

/** An address with its objects as unparsed JSON. */
type AddressRow = Omit<AddressState, 'rules' | 'filters'> & {
  readonly rulesJson: string;
  readonly filtersJson: string;
};

/**
 * Loads the state that every edge serving the address has (`live`), or the written one (`accepted`), in one round
 * trip. Returns null when the caller does not hold it.
 */
export async function loadAddress(
  db: Db | Tx,
  asOf: 'live' | 'accepted',
  holder: Holder,
  ip: string,
): Promise<AddressState | null> {
  const text = asOf === 'live' ? LIVE : ACCEPTED;
  const { rows } = await db.executeQuery<AddressRow>(
    CompiledQuery.raw(text, [ip, holder.organisationId, holder.prefixes]),
  );
  if (rows[0] === undefined) return null;
  const { rulesJson, filtersJson, ...row } = rows[0];
  const rules = JSON.parse(rulesJson) as RuleRow[];
  const filters = JSON.parse(filtersJson) as FilterRow[];
  return { ...row, rules: rules.map(toRule), filters: filters.map(toFilter) };
}

function toRule(row: RuleRow): StoredRule {
  const [id, action, protocol, source, port, groupId, groupName, named, ref, expiresAt] = row;
  const [server, name, shown] = named ?? ['', '', ''];
  return {
    id,
    action,
    protocol,
    source: canonicalSource(source),
    port,
    group: toGroup(groupId, groupName),
    namedPort: named && { server, name, shown },
    ref,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
  };
}

/** Removes the dotted decimals with which PostgreSQL ends some IPv6 addresses, and RFC 5952 does not. */
export function canonicalSource(source: string | null): string | null {
  if (source === null || !(source.includes(':') && source.includes('.'))) return source;
  const cidr = parseCidr(source);
  return cidr.ok ? formatNetwork(cidr.value) : source;
}

function toFilter([id, type, port, groupId, groupName, settings]: FilterRow): StoredFilter {
  return { id, type, port, settings, group: toGroup(groupId, groupName) };
}

function toGroup(id: number | null, name: string | null) {
  return id === null || name === null ? null : { id, name };
}

/** The row that every write to own objects of an address locks first, which serialises them. */
export interface LockedAddress {
  readonly id: number;
  readonly holdingId: number;
  readonly configured: boolean;
  /** This transaction inserted the row. */
  readonly inserted: boolean;
}

/**
 * Locks the row of an address that the caller holds, and takes a share lock on the holding. Returns null without a
 * holding or a row. Assigning a group locks the holding exclusively, so that two writes never exceed a limit together
 * (see groups/holdings.ts).
 */
export async function lockAddress(
  tx: Tx,
  { organisationId, prefixes }: Holder,
  ip: string,
): Promise<LockedAddress | null> {
  const { rows } = await sql<LockedAddress>`
    with held as materialized (
      select h.id from holdings h
       where h.cidr >>= ${ip}::inet and h.during @> statement_timestamp()
       order by masklen(h.cidr) desc limit 1
    )
    select a.id, h.id as "holdingId", a.configured, false as inserted
      from held join holdings h on h.id = held.id join addresses a on a.holding_id = h.id
     where a.ip = ${ip}::inet and h.organisation_id = ${organisationId}
       and (${prefixes}::cidr[] is null or ${ip}::inet <<= any (${prefixes}::cidr[]))
       for share of h for update of a
  `.execute(tx);
  const [locked] = rows;
  if (locked === undefined) return null;
  noteLock(tx, 'holdings', 'share', [locked.holdingId]);
  noteLock(tx, 'addresses', 'update', [locked.id]);
  return locked;
}

/** Inserts and locks the row of an address of this holding, unless another write has done so. */
export async function insertAddress(
  tx: Tx,
  caller: Holder,
  { holdingId, ip }: { readonly holdingId: number; readonly ip: string },
): Promise<LockedAddress | null> {
  await lockRows(tx, 'holdings', [holdingId], 'share');
  await tx
    .insertInto('addresses')
    .values({ holding_id: holdingId, ip })
    .onConflict((conflict) => conflict.columns(['holding_id', 'ip']).doNothing())
    .execute();
  const locked = await lockAddress(tx, caller, ip);
  return locked && { ...locked, inserted: true };
}

/** Deletes a row that was inserted for a write without effect, so that such writes do not fill the table. */
export async function discardAddress(tx: Tx, address: LockedAddress): Promise<void> {
  if (address.inserted) await tx.deleteFrom('addresses').where('id', '=', address.id).execute();
}

export async function setConfigured(tx: Tx, addressId: number, configured: boolean): Promise<void> {
  await tx.updateTable('addresses').set({ configured }).where('id', '=', addressId).execute();
}

/** A filter that a service applies itself. */
export interface OwnManagedFilter {
  readonly type: string;
  /** A port expression; that of its game servers, '' without any, unless the service names one. */
  readonly ports: string;
}

/** The filters that the service of this holding manages; empty for a prefix. */
export async function loadManagedFilters(
  db: Db | Tx,
  holdingId: number,
): Promise<readonly OwnManagedFilter[]> {
  const { rows } = await sql<OwnManagedFilter>`
    select f.type, coalesce((
             select string_agg(case when item like '%:%'
                      then shown_port(split_part(item, ':', 1)::uuid, split_part(item, ':', 2)) else item end, ',')
               from string_to_table(f.ports, ',') item), (
             select coalesce(string_agg(distinct p.port::text, ','), '')
               from game_servers g join server_ports p on p.uuid = g.uuid
              where g.service_id = s.id)) as ports
      from holdings h join services s on s.id = h.service_id,
           jsonb_to_recordset(s.managed_filters) as f (type text, ports text)
     where h.id = ${holdingId}`.execute(db);
  return rows;
}
