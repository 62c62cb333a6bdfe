import { sql } from 'kysely';
import type { Batch } from '../../fleet/batch.ts';

/** Managed filters of service `s` that name ports of its servers. */
const NAMES_PORTS = sql`s.managed_filters @? '$[*] ? (@.ports like_regex ":")'`;

/** Managed filters apply to the ports of a service's game servers, so a server that moves changes its policies. */
export async function touchManaged(batch: Batch, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return;
  const { rows } = await sql<{ cidr: string }>`
    select distinct h.cidr from game_servers g
      join services s on s.id = g.service_id
      join holdings h on h.service_id = s.id
     where g.uuid = any(${uuids}::uuid[])
       and (s.managed_filters @> '[{"ports": null}]' or ${NAMES_PORTS})`.execute(batch.tx);
  if (rows.length > 0) batch.touch(...rows.map(({ cidr }) => cidr));
}
