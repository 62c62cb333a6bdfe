import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';

/** A present holding of an organisation. */
export interface Holding {
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

const COLUMNS = sql`
  id, organisation_id as "organisationId", cidr::text as cidr, asn, service_id as "serviceId",
  lower(during) as since, upper(during) as until`;

/**
 * The holding of this address now: the most specific one of any organisation. The time is that of the statement,
 * because the transaction may have waited for a lock while the holding ended.
 */
export async function loadHolder(db: Db | Tx, ip: string): Promise<Holding | null> {
  const { rows } = await sql<Holding>`
    select ${COLUMNS} from holdings
     where cidr >>= ${ip}::inet and during @> statement_timestamp()
     order by masklen(cidr) desc limit 1`.execute(db);
  return rows[0] ?? null;
}

/** The present holdings of an organisation; IPv4 first, then by address. */
export async function loadHoldings(db: Db | Tx, organisationId: number): Promise<Holding[]> {
  const { rows } = await sql<Holding>`
    select ${COLUMNS} from holdings
     where organisation_id = ${organisationId} and during @> statement_timestamp()
     order by holdings.cidr`.execute(db);
  return rows;
}
