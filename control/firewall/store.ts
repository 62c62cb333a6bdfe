import { CompiledQuery, sql } from 'kysely';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Holder } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import { addressQuery } from './address-query.ts';
import type { AddressState, StoredFilter, StoredRule } from './objects.ts';

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
];
type FilterRow = [number, string, number, number | null, string | null];

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
  const [id, action, protocol, source, port, groupId, groupName, named] = row;
  const [server, name, shown] = named ?? ['', '', ''];
  return {
    id,
    action,
    protocol,
    source: canonicalSource(source),
    port,
    group: toGroup(groupId, groupName),
    namedPort: named && { server, name, shown },
  };
}

/** Removes the dotted decimals with which PostgreSQL ends some IPv6 addresses, and RFC 5952 does not. */
export function canonicalSource(source: string | null): string | null {
  if (source === null || !(source.includes(':') && source.includes('.'))) return source;
  const cidr = parseCidr(source);
  return cidr.ok ? formatNetwork(cidr.value) : source;
}

function toFilter([id, type, port, groupId, groupName]: FilterRow): StoredFilter {
  return { id, type, port, group: toGroup(groupId, groupName) };
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
  return rows[0] ?? null;
}

/** Inserts and locks the row of an address of this holding, unless another write has done so. */
export async function insertAddress(
  tx: Tx,
  caller: Holder,
  { holdingId, ip }: { readonly holdingId: number; readonly ip: string },
): Promise<LockedAddress | null> {
  await sql`select from holdings where id = ${holdingId} for share`.execute(tx);
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
