import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Holder } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import {
  announced,
  type GenerationRequest,
  lostFleet,
  takenGeneration,
} from '../fleet/generations.ts';
import { addressQuery } from './address-query.ts';
import type {
  AddressState,
  FilterContent,
  RuleContent,
  StoredFilter,
  StoredRule,
} from './objects.ts';

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
];
type FilterRow = [number, string, number, number | null, string | null];

/** An address with its objects as unparsed JSON, which `readAddress` parses. */
export type AddressRow = Omit<AddressState, 'rules' | 'filters'> & {
  readonly rulesJson: string;
  readonly filtersJson: string;
};

/**
 * Loads the state that every edge serving the address has (`live`), or the written one (`accepted`), in one round
 * trip. Returns null when the caller does not hold it.
 */
export async function loadAddressRow(
  db: Db | Tx,
  asOf: 'live' | 'accepted',
  holder: Holder,
  ip: string,
): Promise<AddressRow | null> {
  const text = asOf === 'live' ? LIVE : ACCEPTED;
  const { rows } = await db.executeQuery<AddressRow>(
    CompiledQuery.raw(text, [ip, holder.organisationId, holder.prefixes]),
  );
  return rows[0] ?? null;
}

/** Like `loadAddressRow`, parsed. */
export async function loadAddress(
  db: Db | Tx,
  asOf: 'live' | 'accepted',
  holder: Holder,
  ip: string,
): Promise<AddressState | null> {
  const row = await loadAddressRow(db, asOf, holder, ip);
  return row && readAddress(row);
}

export function readAddress({ rulesJson, filtersJson, ...row }: AddressRow): AddressState {
  const rules = JSON.parse(rulesJson) as RuleRow[];
  const filters = JSON.parse(filtersJson) as FilterRow[];
  return { ...row, rules: rules.map(toRule), filters: filters.map(toFilter) };
}

function toRule([id, action, protocol, source, port, groupId, groupName]: RuleRow): StoredRule {
  return {
    id,
    action,
    protocol,
    source: canonicalSource(source),
    port,
    group: toGroup(groupId, groupName),
  };
}

/** Removes the dotted decimals with which PostgreSQL ends some IPv6 addresses, and RFC 5952 does not. */
function canonicalSource(source: string | null): string | null {
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
  readonly configured: boolean;
  /** This transaction inserted the row. */
  readonly inserted: boolean;
}

/**
 * Locks the address's row, inserting it when needed, and takes a share lock on the holding. Assigning a group locks the
 * holding exclusively, so that two writes never exceed a limit together (see groups/holdings.ts).
 */
export async function lockAddress(tx: Tx, holdingId: number, ip: string): Promise<LockedAddress> {
  const there = await lockExistingAddress(tx, holdingId, ip);
  if (there !== null) return there;
  await sql`select from holdings where id = ${holdingId} for share`.execute(tx);
  await tx
    .insertInto('addresses')
    .values({ holding_id: holdingId, ip })
    .onConflict((conflict) => conflict.columns(['holding_id', 'ip']).doNothing())
    .execute();
  const locked = await lockExistingAddress(tx, holdingId, ip);
  if (locked === null) throw new Error(`the row of ${ip} disappeared while it was inserted`);
  return { ...locked, inserted: true };
}

/** Deletes a row that was inserted for a write without effect, so that such writes do not fill the table. */
export async function discardAddress(tx: Tx, address: LockedAddress): Promise<void> {
  if (address.inserted) await tx.deleteFrom('addresses').where('id', '=', address.id).execute();
}

async function lockExistingAddress(
  tx: Tx,
  holdingId: number,
  ip: string,
): Promise<LockedAddress | null> {
  const { rows } = await sql<LockedAddress>`
    select a.id, a.configured, false as inserted from holdings h join addresses a on a.holding_id = h.id
     where h.id = ${holdingId} and a.ip = ${ip}::inet
       for share of h for update of a
  `.execute(tx);
  return rows[0] ?? null;
}

export async function setConfigured(tx: Tx, addressId: number, configured: boolean): Promise<void> {
  await tx.updateTable('addresses').set({ configured }).where('id', '=', addressId).execute();
}

/** Takes a generation and inserts rules with it, in one statement. Returns their ids in the given order. */
export async function insertRulesWithGeneration(
  tx: Tx,
  request: GenerationRequest,
  addressId: number,
  rules: readonly RuleContent[],
): Promise<{ generation: number; ids: number[] }> {
  const { rows } = await sql<{ generation: number; ids: number[] }>`
    with ${takenGeneration(request)}, landed as (
      insert into rules (address_id, action, protocol, source, port, created_generation)
      select ${addressId}::bigint, action, protocol, source, port, generation
        from taken, ${ruleColumns(rules)}
       order by place
      returning id
    )
    select generation, (select array_agg(id order by id) from landed) as ids, ${announced()}
      from taken`.execute(tx);
  const landed = rows[0];
  if (landed === undefined) throw lostFleet();
  return landed;
}

/** Inserts rules and returns their ids in the given order. */
export async function insertRules(
  tx: Tx,
  addressId: number,
  generation: number,
  rules: readonly RuleContent[],
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into rules (address_id, action, protocol, source, port, created_generation)
    select ${addressId}::bigint, action, protocol, source, port, ${generation}::bigint
      from ${ruleColumns(rules)}
     order by place
    returning id
  `.execute(tx);
  return rows.map((row) => row.id);
}

function ruleColumns(rules: readonly RuleContent[]): RawBuilder<unknown> {
  return sql`
    unnest(${rules.map((rule) => rule.action)}::text[], ${rules.map((rule) => rule.protocol)}::text[],
           ${rules.map((rule) => rule.source)}::cidr[], ${rules.map((rule) => rule.port)}::integer[])
      with ordinality as wanted (action, protocol, source, port, place)`;
}

export async function insertFilters(
  tx: Tx,
  addressId: number,
  generation: number,
  filters: readonly FilterContent[],
): Promise<void> {
  await sql`
    insert into filters (address_id, type, port, created_generation)
    select ${addressId}::bigint, type, port, ${generation}::bigint
      from unnest(${filters.map((f) => f.type)}::text[], ${filters.map((f) => f.port)}::integer[]) as wanted (type, port)
  `.execute(tx);
}

export async function deleteRules(
  tx: Tx,
  addressId: number,
  generation: number,
  ids: readonly number[],
): Promise<void> {
  await sql`
    update rules set deleted_generation = ${generation}, deleted_at = now()
     where address_id = ${addressId} and id = any(${ids}::bigint[]) and deleted_generation is null
  `.execute(tx);
}

export async function deleteFilters(
  tx: Tx,
  addressId: number,
  generation: number,
  ids: readonly number[],
): Promise<void> {
  await sql`
    update filters set deleted_generation = ${generation}, deleted_at = now()
     where address_id = ${addressId} and id = any(${ids}::bigint[]) and deleted_generation is null
  `.execute(tx);
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
    select f.type, coalesce(f.ports, (
             select coalesce(string_agg(distinct g.port::text, ','), '') from game_servers g
              where g.service_id = s.id)) as ports
      from holdings h join services s on s.id = h.service_id,
           jsonb_to_recordset(s.managed_filters) as f (type text, ports text)
     where h.id = ${holdingId}`.execute(db);
  return rows;
}
