import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import type { NodeContent } from '../../declared/nodes.ts';

export interface CurrentNode extends Readonly<Record<string, unknown>>, NodeContent {
  readonly id: number;
  readonly owner: Owner;
}

export async function loadNodes(db: Db | Tx): Promise<CurrentNode[]> {
  const { rows } = await sql<CurrentNode>`
    select id, name, memory_mib as memory, disk_mib as disk, array(select host(unnest(addresses))) as addresses,
           given_ports as ports, owner
      from nodes order by name`.execute(db);
  return rows;
}
