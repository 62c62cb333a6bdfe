import { sql } from 'kysely';
import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import type { Tx } from '../../db/database.ts';
import { heldThroughout, type Span } from './span.ts';

/** The most sources that are kept for a port in an hour, so that a flood on one port leaves room for others. */
export const SOURCES_PER_PORT = 20;
/** The most rows of an address in an hour. */
export const ROWS_PER_HOUR = 200;

/** Adds samples to their hours. Beyond the limits only sources that are known there already are counted. */
export async function keepPassed(
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
