import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';

/** A prefix or an address that an organisation has, at this moment. */
export interface Holding {
  readonly id: number;
  readonly organisationId: number;
  /** Always with its length. */
  readonly cidr: string;
  /** Announced under this ASN; null for an assigned address. */
  readonly asn: number | null;
  /** Assigned to this service; null for an announced prefix. */
  readonly serviceId: number | null;
  readonly since: Date;
  /** Null: still. */
  readonly until: Date | null;
}

const COLUMNS = sql`
  id, organisation_id as "organisationId", cidr::text as cidr, asn, service_id as "serviceId",
  lower(during) as since, upper(during) as until`;

/**
 * The holding that has this address now: the most specific one, whoever holds it. The time is that of the
 * statement, not of the transaction, which may have waited for a lock while the holding ended.
 */
export async function loadHolder(db: Db | Tx, ip: string): Promise<Holding | null> {
  const { rows } = await sql<Holding>`
    select ${COLUMNS} from holdings
     where cidr >>= ${ip}::inet and during @> statement_timestamp()
     order by masklen(cidr) desc limit 1`.execute(db);
  return rows[0] ?? null;
}

/** What an organisation holds now; IPv4 first, then by address. */
export async function loadHoldings(db: Db | Tx, organisationId: number): Promise<Holding[]> {
  const { rows } = await sql<Holding>`
    select ${COLUMNS} from holdings
     where organisation_id = ${organisationId} and during @> statement_timestamp()
     order by holdings.cidr`.execute(db);
  return rows;
}
