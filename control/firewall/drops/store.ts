import { type RawBuilder, sql } from 'kysely';
import { BITS, parseAddress } from '@portcullis/core/net/address.ts';
import { formatCidr, networkOf } from '@portcullis/core/net/cidr.ts';
import type { Db, Tx } from '../../db/database.ts';
import { OBSERVED_REASON, PASSED_REASONS } from '@portcullis/core/firewall/drops.ts';

export interface DropWindow {
  /** Both on whole minutes; `to` is not part of it. */
  readonly from: Date;
  readonly to: Date;
  readonly fromClamped: boolean;
}

export interface DropCause {
  readonly stage: string;
  readonly reason: string;
  readonly by: 'xdp' | 'nftables';
}
export interface DropTotal extends DropCause {
  readonly packets: number;
  readonly bytes: number;
}
/** Packets that the policy of a containing prefix dropped, for any address in it. */
export interface PrefixTotal extends DropTotal {
  readonly prefix: string;
}
export interface DropMinute {
  readonly at: Date;
  readonly packets: number;
  readonly bytes: number;
}
export interface DroppedPacket extends DropCause {
  readonly at: Date;
  readonly edge: string;
  readonly source: string;
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  readonly protocol: number;
  readonly length: number;
  readonly device: string | null;
}

export interface DropsQuery extends DropWindow {
  readonly holdingId: number;
  readonly ip: string;
  /** Null: every edge. */
  readonly edge: string | null;
  /** Prefixes that the key is bound to; null means everything that the caller holds. */
  readonly bounds: readonly string[] | null;
}
export interface Drops {
  /** Passed: mitigations that only observe would have dropped it. Part of nothing else here. */
  readonly observed: { readonly packets: number; readonly bytes: number };
  /** Packets that filters let through. */
  readonly filters: {
    /** Packets of new sources. */
    readonly greeted: number;
    /** Sources that a reply or a handshake validated. */
    readonly validated: number;
  };
  readonly totals: readonly DropTotal[];
  readonly prefixes: readonly PrefixTotal[];
  readonly series: readonly DropMinute[];
  readonly samples: readonly DroppedPacket[];
  readonly edges: readonly string[];
}

const MAX_SAMPLES = 100;
const IS_DROPPED = sql`c.reason <> all (${[...PASSED_REASONS]})`;

/** Since when the caller's holding has its address; null: there is no such holding. */
export async function loadHeldSince(db: Db | Tx, holdingId: number): Promise<Date | null> {
  const { rows } = await sql<{ since: Date }>`
    select lower(during) as since from holdings where id = ${holdingId}`.execute(db);
  return rows[0]?.since ?? null;
}

const HOUR_MS = 3_600_000;
const MAX_TOTALS = 20;

/** Packets that were dropped of all packets to exactly this address in the last hour, largest first. */
export async function loadLastHour(
  tx: Tx,
  { holdingId, ip }: Pick<DropsQuery, 'holdingId' | 'ip'>,
): Promise<DropTotal[]> {
  const totals = await loadTotals(
    tx,
    sql`from drop_counts c
       where c.holding_id = ${holdingId} and c.target = ${ip}::cidr and ${IS_DROPPED}
         and c.minute >= ${new Date(Date.now() - HOUR_MS)}`,
  );
  return totals.slice(0, MAX_TOTALS);
}

/** Totals by what dropped and why, largest first. */
async function loadTotals(tx: Tx, counted: RawBuilder<unknown>): Promise<DropTotal[]> {
  const { rows } = await sql<DropTotal>`
    select c.stage, c.reason, c.dropped_by as by, sum(c.packets)::bigint as packets,
           sum(c.bytes)::bigint as bytes ${counted}
     group by 1, 2, 3 order by packets desc, 1, 2, 3`.execute(tx);
  return rows;
}

/**
 * The drops that were counted for exactly this address. Give it a snapshot, or else its parts are of different
 * moments.
 */
export async function loadDrops(tx: Tx, query: DropsQuery): Promise<Drops> {
  // An edge that left the fleet is in the counts, without a name.
  const countedFor = (target: RawBuilder<unknown>) => sql`
    from drop_counts c left join edges e on e.id = c.edge_id
   where c.holding_id = ${query.holdingId} and ${target}
     and c.minute >= ${query.from} and c.minute < ${query.to}
     and (${query.edge}::text is null or e.name = ${query.edge})`;
  const own = sql`c.target = ${query.ip}::cidr`;
  const counted = countedFor(sql`${own} and ${IS_DROPPED}`);
  const passed = await sql<{ reason: string; packets: number; bytes: number }>`
    select c.reason, sum(c.packets)::bigint as packets, sum(c.bytes)::bigint as bytes
      ${countedFor(sql`${own} and not ${IS_DROPPED}`)} group by 1`.execute(tx);
  const passedBy = (reason: (typeof PASSED_REASONS)[number]) => {
    const { packets = 0, bytes = 0 } = passed.rows.find((one) => one.reason === reason) ?? {};
    return { packets, bytes };
  };
  const totals = await loadTotals(tx, counted);
  const series = await sql<DropMinute>`
    select c.minute as at, sum(c.packets)::bigint as packets, sum(c.bytes)::bigint as bytes ${counted}
     group by 1 order by 1`.execute(tx);
  const edges = await sql<{ name: string }>`
    select distinct e.name ${counted} and e.name is not null order by 1`.execute(tx);
  const ofPrefixes = countedFor(sql`c.target = any (${containingPrefixes(query.ip)}::cidr[])
     and ${IS_DROPPED}
     and (${query.bounds}::cidr[] is null or c.target <<= any (${query.bounds}::cidr[]))`);
  const prefixes = await sql<PrefixTotal>`
    select c.target::text as prefix, c.stage, c.reason, c.dropped_by as by,
           sum(c.packets)::bigint as packets, sum(c.bytes)::bigint as bytes ${ofPrefixes}
     group by c.target, 2, 3, 4 order by masklen(c.target) desc, packets desc, 2, 3, 4`.execute(tx);
  const samples = await loadSamples(tx, query);
  return {
    observed: passedBy(OBSERVED_REASON),
    filters: { greeted: passedBy('greeted').packets, validated: passedBy('validated').packets },
    totals,
    prefixes: prefixes.rows,
    series: series.rows,
    samples,
    edges: edges.rows.map(({ name }) => name),
  };
}

/** Prefixes found by name rather than by containment, which no index of the counts knows. */
function containingPrefixes(ip: string): string[] {
  const address = parseAddress(ip);
  if (!address.ok) throw new Error(`not a canonical address: ${ip}`);
  const { value } = address;
  return Array.from({ length: BITS[value.family] }, (_, length) =>
    formatCidr(networkOf(value, length)),
  );
}

async function loadSamples(tx: Tx, query: DropsQuery): Promise<readonly DroppedPacket[]> {
  const { rows } = await sql<DroppedPacket>`
    select s.at, coalesce(e.name, '') as edge, s.stage, s.reason, s.dropped_by as by,
           host(s.source) as source, s.source_port as "sourcePort",
           s.destination_port as "destinationPort", s.protocol, s.length, s.device
      from drop_samples s left join edges e on e.id = s.edge_id
     where s.holding_id = ${query.holdingId} and s.destination = ${query.ip}::inet
       and s.at >= ${query.from} and s.at < ${query.to}
       and (${query.edge}::text is null or e.name = ${query.edge})
     order by s.at desc, s.id desc limit ${MAX_SAMPLES}`.execute(tx);
  return rows;
}
