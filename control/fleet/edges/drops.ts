import { sql } from 'kysely';
import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import type { Db, Tx } from '../../db/database.ts';
import {
  type DropEntry,
  type DropSample,
  OBSERVED_REASON,
} from '@portcullis/core/firewall/drops.ts';
import type { EdgeDrops } from '@portcullis/link/messages/edge-report.ts';
import type { EdgeDropReport } from '@portcullis/link/messages/edge.ts';
import type { EdgeState } from './store.ts';

/** A span of control's own clock. */
interface Span {
  readonly since: Date;
  readonly until: Date;
}

/** The most specific holding that contains `target` and overlaps the span, if it covers the whole span. */
const heldThroughout = (target: 'target' | 'destination', { since, until }: Span) => sql`
  cross join lateral (
    select h.id, h.during from holdings h
     where h.cidr >>= r.${sql.raw(target)} and h.during && tstzrange(${since}::timestamptz, ${until}::timestamptz, '[]')
     order by masklen(h.cidr) desc, lower(h.during) desc limit 1) held
  where held.during @> tstzrange(${since}::timestamptz, ${until}::timestamptz, '[]')`;

/** The most sources that are kept for a port in an hour, so that a flood on one port leaves room for others. */
export const SOURCES_PER_PORT = 20;
/** The most rows of an address in an hour. */
const ROWS_PER_HOUR = 200;

/** Adds samples to their hours. Beyond the limits only sources that are known there already are counted. */
async function keepPassed(
  tx: Tx,
  edgeId: number,
  samples: readonly PassedSample[],
  span: Span,
): Promise<void> {
  if (samples.length === 0) return;
  await sql`
    with sent as (
      select held.id as holding_id, r.destination, date_trunc('hour', ${span.until}::timestamptz) as hour, r.protocol,
             r.port, r.source, sum(r.packets)::bigint as packets
        from unnest(${samples.map((one) => one.destination)}::inet[], ${samples.map((one) => one.protocol)}::smallint[],
                    ${samples.map((one) => one.destinationPort ?? -1)}::integer[],
                    ${samples.map((one) => one.source)}::inet[], ${samples.map((one) => one.packets)}::bigint[])
               as r (destination, protocol, port, source, packets)
      ${heldThroughout('destination', span)}
      group by 1, 2, 3, 4, 5, 6
    ), by_port as (
      select s.*, known.port_rows, known.all_rows,
             row_number() over (partition by s.holding_id, s.destination, s.protocol, s.port
                                order by s.packets desc) as port_place
        from sent s cross join lateral (
          select count(*) as all_rows,
                 count(*) filter (where p.protocol = s.protocol and p.destination_port = s.port) as port_rows
            from passed_samples p
           where p.holding_id = s.holding_id and p.destination = s.destination and p.hour = s.hour) known
    ), numbered as (
      select b.*, row_number() over (partition by b.holding_id, b.destination
                                     order by b.port_place, b.packets desc) as place
        from by_port b
    )
    insert into passed_samples as known
           (holding_id, destination, hour, protocol, destination_port, source, edge_id, packets, last_at)
    select n.holding_id, n.destination, n.hour, n.protocol, n.port, n.source, ${edgeId}, n.packets,
           ${span.until}::timestamptz
      from numbered n
     where (n.port_rows + n.port_place <= ${SOURCES_PER_PORT} and n.all_rows + n.place <= ${ROWS_PER_HOUR})
        or exists (select from passed_samples p
                    where p.holding_id = n.holding_id and p.destination = n.destination and p.hour = n.hour
                      and p.protocol = n.protocol and p.destination_port = n.port and p.source = n.source
                      and p.edge_id = ${edgeId})
    on conflict (holding_id, destination, hour, protocol, destination_port, source, edge_id)
    do update set packets = known.packets + excluded.packets, last_at = excluded.last_at`.execute(
    tx,
  );
}

/** The number of newest samples kept per address. */
export const SAMPLES_KEPT = 100;
/** How long drop counts and samples are kept. */
export const DROPS_KEPT_HOURS = 24;

const HOUR_MS = 3_600_000;
/** `until_revision` of the current version of an attack. */
const CURRENT = sql.raw('9223372036854775807');
/** Upper bound of a report's transit time, by which its moments appear too late. */
const MAX_TRANSIT_MS = 2_000;

/**
 * Pure: converts the span of a report to control's clock. The edge's clock may be wrong; its time of sending shows by
 * how much. The span starts a little early, so that drops from before a change of holder never count for the new one.
 */
export function spanOf(drops: EdgeDrops, atMs: number, nowMs: number): Span {
  const shift = nowMs - atMs;
  const oldest = nowMs - DROPS_KEPT_HOURS * HOUR_MS;
  const clamp = (ms: number): number => Math.min(nowMs, Math.max(oldest, ms));
  const until = clamp(drops.untilMs + shift);
  const since = Math.min(until, clamp(drops.sinceMs + shift - MAX_TRANSIT_MS));
  return { since: new Date(since), until: new Date(until) };
}

/**
 * Counts a report once. Returns 'repeated' when it was counted before; the edge gets an acknowledgement either way.
 * Takes no lock that a heartbeat, a confirmation or a write waits for.
 */
export async function recordDrops(
  db: Db,
  edge: Pick<EdgeState, 'id'>,
  report: EdgeDropReport,
  nowMs: number,
): Promise<'counted' | 'repeated'> {
  const { instance, sequence, atMs, drops } = report;
  return db.transaction().execute(async (tx) => {
    // Two replicas may process the same report: the second waits here.
    const { numAffectedRows } = await sql`
      insert into drop_reports as known (edge_id, instance, sequence)
      values (${edge.id}, ${instance}, ${sequence})
      on conflict (edge_id) do update set instance = excluded.instance, sequence = excluded.sequence
       where known.instance <> excluded.instance or known.sequence < excluded.sequence`.execute(tx);
    if (Number(numAffectedRows ?? 0) === 0) return 'repeated';
    const span = spanOf(drops, atMs, nowMs);
    await countDrops(tx, edge.id, drops.entries, span);
    await countForAttacks(tx, drops.entries, span);
    await keepSamples(tx, edge.id, drops.samples, nowMs - atMs, span);
    await keepPassed(tx, edge.id, drops.passed ?? [], span);
    return 'counted';
  });
}

async function countDrops(
  tx: Tx,
  edgeId: number,
  entries: readonly DropEntry[],
  span: Span,
): Promise<void> {
  if (entries.length === 0) return;
  await sql`
    insert into drop_counts as known
           (holding_id, target, minute, edge_id, stage, reason, dropped_by, packets, bytes)
    select held.id, r.target, date_trunc('minute', ${span.until}::timestamptz), ${edgeId},
           r.stage, r.reason, r.dropped_by, sum(r.packets)::bigint, sum(r.bytes)::bigint
      from unnest(${entries.map((one) => one.target)}::cidr[], ${entries.map((one) => one.stage)}::text[],
                  ${entries.map((one) => one.reason)}::text[], ${entries.map((one) => one.by)}::text[],
                  ${entries.map((one) => one.packets)}::bigint[], ${entries.map((one) => one.bytes)}::bigint[])
             as r (target, stage, reason, dropped_by, packets, bytes)
    ${heldThroughout('target', span)}
    group by 1, 2, 5, 6, 7
    on conflict (holding_id, target, minute, edge_id, stage, reason, dropped_by)
    do update set packets = known.packets + excluded.packets, bytes = known.bytes + excluded.bytes`.execute(
    tx,
  );
}

/** How long mitigations may continue after an attack ended. */
const MITIGATED_AFTER_SECONDS = 300;

/**
 * Adds drops of mitigations to the attack on the address, or on its containing held prefix. Ordered by id, as
 * every statement that locks several rows.
 */
async function countForAttacks(tx: Tx, all: readonly DropEntry[], span: Span): Promise<void> {
  const entries = all.filter(({ stage }) => stage === 'mitigations');
  if (entries.length === 0) return;
  await sql`
    insert into attack_drops as known (attack_id, what, packets, bytes)
    select attack.id, case when r.reason = ${OBSERVED_REASON} then 'observed' else 'dropped' end,
           sum(r.packets)::bigint, sum(r.bytes)::bigint
      from unnest(${entries.map((one) => one.target)}::cidr[], ${entries.map((one) => one.reason)}::text[],
                  ${entries.map((one) => one.packets)}::bigint[], ${entries.map((one) => one.bytes)}::bigint[])
             as r (target, reason, packets, bytes)
     cross join lateral (
       select h.id, h.cidr from holdings h
        where h.cidr >>= r.target and h.during @> ${span.until}::timestamptz
        order by masklen(h.cidr) desc limit 1) held
     cross join lateral (
       select a.id from attacks a
        where a.subject in (r.target, held.cidr) and a.holding_id = held.id
          and a.until_revision = ${CURRENT} and a.started_at <= ${span.until}
          and (a.ended_at is null or a.ended_at >= ${span.since}::timestamptz - ${MITIGATED_AFTER_SECONDS} * interval '1 second')
        order by masklen(a.subject) desc, a.started_at desc limit 1) attack
     group by 1, 2 order by 1, 2
    on conflict (attack_id, what)
    do update set packets = known.packets + excluded.packets, bytes = known.bytes + excluded.bytes`.execute(
    tx,
  );
}

/** Keeps the newest samples of each address. */
async function keepSamples(
  tx: Tx,
  edgeId: number,
  samples: readonly DropSample[],
  shiftMs: number,
  span: Span,
): Promise<void> {
  if (samples.length === 0) return;
  const momentOf = ({ atMs }: DropSample): Date =>
    new Date(Math.min(span.until.getTime(), Math.max(span.since.getTime(), atMs + shiftMs)));
  const { rows } = await sql<Touched>`
    insert into drop_samples (holding_id, destination, at, edge_id, target, stage, reason, dropped_by,
                              source, protocol, source_port, destination_port, length, device)
    select held.id, r.destination, r.at, ${edgeId}, r.target, r.stage, r.reason, r.dropped_by,
           r.source, r.protocol, r.source_port, r.destination_port, r.length, r.device
      from unnest(${samples.map((one) => one.destination)}::inet[], ${samples.map(momentOf)}::timestamptz[],
                  ${samples.map((one) => one.target)}::cidr[], ${samples.map((one) => one.stage)}::text[],
                  ${samples.map((one) => one.reason)}::text[], ${samples.map((one) => one.by)}::text[],
                  ${samples.map((one) => one.source)}::inet[], ${samples.map((one) => one.protocol)}::smallint[],
                  ${samples.map((one) => one.sourcePort)}::integer[],
                  ${samples.map((one) => one.destinationPort)}::integer[],
                  ${samples.map((one) => one.length)}::bigint[], ${samples.map((one) => one.device)}::text[])
             as r (destination, at, target, stage, reason, dropped_by, source, protocol, source_port,
                   destination_port, length, device)
    ${heldThroughout('destination', span)}
    returning holding_id as "holdingId", destination`.execute(tx);
  // A separate statement, because a statement does not see what it inserts.
  await sql`
    delete from drop_samples s
     using (select distinct * from unnest(${rows.map((row) => row.holdingId)}::bigint[],
                                          ${rows.map((row) => row.destination)}::inet[]) t (holding_id, destination)) touched
     where s.id in (
       select older.id from drop_samples older
        where older.holding_id = touched.holding_id and older.destination = touched.destination
        order by older.at desc, older.id desc offset ${SAMPLES_KEPT})`.execute(tx);
}

interface Touched {
  readonly holdingId: number;
  readonly destination: string;
}
