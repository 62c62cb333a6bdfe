import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';

interface Saved {
  /** Servers that are on another node now, which has none of the ports. */
  readonly moved: readonly string[];
  /** Servers whose declared ports may have changed. */
  readonly declared: readonly string[];
}

/** Brings ports that people added in line with what was declared: what is declared comes before them. */
export async function dropAddedPorts(tx: Tx, { moved, declared }: Saved): Promise<void> {
  await sql`
    delete from added_ports a
     where a.server = any(${moved}::uuid[])
        or (a.server = any(${declared}::uuid[])
            and exists (select from all_server_ports p
                         where p.server = a.server and p.added_id is null and (p.ip, p.port) = (a.ip, a.port)))`.execute(
    tx,
  );
  await sql`
    update added_ports a set name = null
     where a.server = any(${declared}::uuid[])
       and exists (select from all_server_ports p
                    where p.server = a.server and p.added_id is null and p.name = a.name)`.execute(
    tx,
  );
}
