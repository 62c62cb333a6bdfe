import { parseAddress } from '@portcullis/core/net/address.ts';
import {
  type Cidr,
  containsAddress,
  containsCidr,
  formatCidr,
  parseCidr,
} from '@portcullis/core/net/cidr.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import {
  rightsOfAbilities,
  rightsOfRole,
  type ServerRight,
} from '@portcullis/core/access/server-rights.ts';
import type { Caller, Guest, Key, Member } from './caller.ts';

/** A present holding of an organisation. */
interface Holding {
  readonly id: number;
  readonly organisationId: number;
  /** A CIDR, always with its length. */
  readonly cidr: string;
  /** The announcing ASN; null for an assigned address. */
  readonly asn: number | null;
  /** The service of an assigned address; null for an announced prefix. */
  readonly serviceId: number | null;
  readonly since: Date;
  /** Null while it lasts. */
  readonly until: Date | null;
}

/** The holdings within reach of a caller: a key may be bound to a part of them. */
export type Holder = Pick<Caller, 'organisationId' | 'prefixes'>;

/**
 * The caller's holding of this address now, or null if another organisation holds it, nobody does, or the key is not
 * bound to it. All are 404 to the caller, so that nothing of other organisations is revealed.
 */
export async function findHolding(
  db: Db | Tx,
  caller: Holder,
  ip: string,
): Promise<Holding | null> {
  const address = parseAddress(ip);
  if (!address.ok) return null;
  const prefixes = boundPrefixes(caller);
  const allowed = prefixes?.some((prefix) => containsAddress(prefix, address.value)) ?? true;
  if (!allowed) return null;
  const holding = await loadHolder(db, ip);
  return holding?.organisationId === caller.organisationId ? holding : null;
}

/** The part of a holding within reach of a key. */
export interface HeldPrefix {
  readonly holding: Holding;
  /** The holding's CIDR, or the narrower ones that the key is bound to. */
  readonly cidr: string;
}

/** The caller's holdings within reach of its key; IPv4 first, then by address. */
export async function listHeldPrefixes(db: Db | Tx, caller: Holder): Promise<HeldPrefix[]> {
  const holdings = await loadHoldings(db, caller.organisationId);
  const prefixes = boundPrefixes(caller);
  return holdings.flatMap((holding) => {
    if (prefixes === null) return [{ holding, cidr: holding.cidr }];
    return storedCidrs(holding.cidr).flatMap((held) =>
      narrow(held, prefixes).map((cidr) => ({ holding, cidr: formatCidr(cidr) })),
    );
  });
}

/** The parts of `held` inside any of the prefixes, none of them inside another. */
function narrow(held: Cidr, prefixes: readonly Cidr[]): Cidr[] {
  if (prefixes.some((prefix) => containsCidr(prefix, held))) return [held];
  const inside = prefixes.filter((prefix) => containsCidr(held, prefix));
  return inside.filter(
    (cidr, index) => !inside.some((other, at) => at !== index && containsCidr(other, cidr)),
  );
}

/** Whether a key that is bound to these prefixes reaches all of a network; null: it is bound to none. */
export function reachesNetwork(prefixes: readonly string[] | null, network: Cidr): boolean {
  return prefixes?.flatMap(storedCidrs).some((prefix) => containsCidr(prefix, network)) ?? true;
}

function boundPrefixes(caller: Holder): Cidr[] | null {
  return caller.prefixes?.flatMap(storedCidrs) ?? null;
}

/** The database holds valid CIDRs; an invalid one would allow nothing. */
export function storedCidrs(text: string): Cidr[] {
  const parsed = parseCidr(text);
  return parsed.ok ? [parsed.value] : [];
}

const COLUMNS = sql`
  id, organisation_id as "organisationId", cidr::text as cidr, asn, service_id as "serviceId",
  lower(during) as since, upper(during) as until`;

/**
 * The holding of this address or network now: the most specific one of any organisation. The time is that of the statement,
 * because the transaction may have waited for a lock while the holding ended.
 */
export async function loadHolder(db: Db | Tx, network: string): Promise<Holding | null> {
  const { rows } = await sql<Holding>`
    select ${COLUMNS} from holdings
     where cidr >>= ${network}::inet and during @> statement_timestamp()
     order by masklen(cidr) desc limit 1`.execute(db);
  return rows[0] ?? null;
}

/** The present holdings of an organisation; IPv4 first, then by address. */
async function loadHoldings(db: Db | Tx, organisationId: number): Promise<Holding[]> {
  const { rows } = await sql<Holding>`
    select ${COLUMNS} from holdings
     where organisation_id = ${organisationId} and during @> statement_timestamp()
     order by holdings.cidr`.execute(db);
  return rows;
}

/** The servers within reach of a caller: a key or a person may be bound to a part of them. */
export type ServerHolder = Pick<Caller, 'organisationId' | 'servers'>;

/** The SQL condition for servers that the caller may see. All access of callers to servers uses it. */
export function withinReach({ organisationId, servers }: ServerHolder): RawBuilder<unknown> {
  return sql`(game_servers.organisation_id = ${organisationId}
    and (${servers}::uuid[] is null or game_servers.uuid = any(${servers}::uuid[])))`;
}

/** The part of a caller that decides its rights to a server. */
type Standing =
  | Pick<Key, 'kind' | 'abilities' | 'servers' | 'managedServers'>
  | Pick<Member, 'kind' | 'role' | 'serverRights'>
  | Pick<Guest, 'kind' | 'serverRights'>;

/** The rights of a caller to a server of its organisation. All doors to a server ask this function. */
export function rightsOn(caller: Standing, uuid: string): ReadonlySet<ServerRight> {
  if (caller.kind !== 'key') {
    const own = caller.serverRights.get(uuid) ?? new Set<ServerRight>();
    return caller.kind === 'member' ? new Set([...rightsOfRole(caller.role), ...own]) : own;
  }
  const { abilities, servers, managedServers } = caller;
  if (servers?.includes(uuid) === false) return new Set();
  const isManaged = managedServers?.includes(uuid) ?? true;
  return rightsOfAbilities(
    [...abilities].filter((ability) => isManaged || ability === 'game-servers.read'),
  );
}

/**
 * Whether the server is within reach; false is 404 to the caller, so that nothing of other organisations is revealed.
 */
export async function seesServer(
  db: Db | Tx,
  caller: ServerHolder,
  uuid: string,
): Promise<boolean> {
  const { rows } = await sql`
    select from game_servers where uuid = ${uuid} and ${withinReach(caller)}`.execute(db);
  return rows.length > 0;
}
