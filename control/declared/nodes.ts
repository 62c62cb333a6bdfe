import { sql } from 'kysely';
import type { Batch } from '../fleet/batch.ts';

export interface NodeContent {
  readonly name: string;
  /** MiB that it offers to servers that are placed; null: without limit. */
  readonly memory: number | null;
  readonly disk: number | null;
  /** Its addresses from which servers are given a port; canonical. */
  readonly addresses: readonly string[];
  /** A port expression. */
  readonly ports: string;
}

export const DEFAULT_NODE_PORTS = '25565-25664';

/** Creates a node of the side that writes, or changes it. */
export async function saveNode({ tx, owner }: Batch, node: NodeContent): Promise<void> {
  const { name, memory, disk, addresses, ports } = node;
  await sql`
    insert into nodes (name, memory_mib, disk_mib, addresses, given_ports, owner)
    values (${name}, ${memory}, ${disk}, ${addresses}::inet[], ${ports}, ${owner})
    on conflict (name) do update set memory_mib = excluded.memory_mib, disk_mib = excluded.disk_mib,
      addresses = excluded.addresses, given_ports = excluded.given_ports`.execute(tx);
}
