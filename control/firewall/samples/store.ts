import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import type { DropWindow } from '../drops/store.ts';

/** Sampled packets of one source to one port. */
export interface PassedRow {
  readonly protocol: number;
  /** Null if the protocol has none. */
  readonly port: number | null;
  readonly source: string;
  readonly packets: number;
  readonly lastAt: Date;
}

/** The most rows of an address that are looked at. */
export const MAX_ROWS = 5_000;

/** Which samples. */
export interface SamplesOf {
  readonly holdingId: number;
  readonly ip: string;
  readonly window: DropWindow;
}

const matching = ({ holdingId, ip, window }: SamplesOf) => sql`
  s.holding_id = ${holdingId} and s.destination = ${ip}::inet
  and s.hour >= date_trunc('hour', ${window.from}::timestamptz) and s.last_at >= ${window.from}`;

/** Most packets first. */
export async function loadPassed(tx: Tx, of: SamplesOf): Promise<PassedRow[]> {
  const { rows } = await sql<PassedRow>`
    select s.protocol, nullif(s.destination_port, -1) as port, host(s.source) as source,
           sum(s.packets)::bigint as packets, max(s.last_at) as "lastAt"
      from passed_samples s where ${matching(of)}
     group by s.protocol, s.destination_port, s.source
     order by packets desc, 1, 2, 3 limit ${MAX_ROWS}`.execute(tx);
  // PostgreSQL ends some IPv6 addresses in dotted decimals.
  return rows.map((row) => ({ ...row, source: canonicalAddress(row.source) ?? row.source }));
}

/** The edges that sampled. */
export async function loadEdges(tx: Tx, of: SamplesOf): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct e.name from passed_samples s join edges e on e.id = s.edge_id
     where ${matching(of)} order by 1`.execute(tx);
  return rows.map(({ name }) => name);
}

const NAMES: Readonly<Record<number, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  47: 'gre',
  50: 'esp',
  58: 'icmpv6',
};
export function protocolName(number: number): string {
  return NAMES[number] ?? `protocol ${number}`;
}
