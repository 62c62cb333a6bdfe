import { sql } from 'kysely';
import type { ServerPort } from '@portcullis/core/game-servers/power.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';

export interface CurrentNode {
  readonly id: number;
  readonly name: string;
  readonly owner: Owner;
}

export interface CurrentGameServer {
  readonly uuid: string;
  readonly organisationId: number;
  readonly serviceId: number;
  readonly name: string;
  readonly node: string;
  readonly eggName: string;
  readonly eggDigest: string;
  readonly image: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly memory: number;
  readonly cpu: number;
  readonly disk: number;
  readonly ip: string;
  readonly port: number;
  readonly ports: readonly ServerPort[];
  readonly openWhileRunning: boolean;
  readonly openPorts: readonly string[] | null;
  readonly suspended: boolean;
  readonly crashRestart: boolean;
  readonly crashWithinMs: number;
  /** Its node has installed it, so it has files. */
  readonly provisioned: boolean;
  readonly owner: Owner;
}

export async function loadNodes(db: Db | Tx): Promise<CurrentNode[]> {
  const { rows } = await sql<CurrentNode>`select id, name, owner from nodes order by name`.execute(
    db,
  );
  return rows;
}

export async function loadGameServers(db: Db | Tx): Promise<CurrentGameServer[]> {
  const { rows } = await sql<CurrentGameServer>`
    select s.uuid, s.organisation_id as "organisationId", s.service_id as "serviceId", s.name,
           n.name as node, s.egg_name as "eggName", s.egg_digest as "eggDigest", s.image, s.variables,
           s.memory_mib as memory, s.cpu_percent as cpu, s.disk_mib as disk, host(s.ip) as ip, s.port, s.ports,
           s.open_while_running as "openWhileRunning", s.open_ports as "openPorts",
           s.suspended, s.crash_restart as "crashRestart", s.crash_within_ms as "crashWithinMs",
           s.provisioned, s.owner
      from game_servers s join nodes n on n.id = s.node_id order by s.uuid`.execute(db);
  return rows;
}
