import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { type RawBuilder, sql } from 'kysely';
import type { ServerPort, ServerState } from '@portcullis/core/game-servers/power.ts';
import { type ServerHolder, withinReach } from '../access/index.ts';
import type { Db, Reader } from '../db/database.ts';
import type { BuildState } from '../db/schema.ts';
import { firstPortOf, portsOf } from './ports/columns.ts';

/** A server of the list. */
export interface ListedServer {
  readonly uuid: string;
  readonly identifier: string | null;
  readonly name: string;
  readonly serviceId: number;
  readonly provisioned: boolean;
  readonly memoryMib: number;
  readonly cpuPercent: number;
  readonly diskMib: number;
}

/** A server with its node. */
export interface ServerRow extends ListedServer {
  readonly node: string;
  readonly buildState: BuildState;
  readonly suspended: boolean;
  /** Whether its node serves links to files. */
  readonly fileLinks: boolean;
}

const LISTED = sql.raw(
  `game_servers.uuid, game_servers.identifier, game_servers.name, game_servers.service_id as "serviceId",
   game_servers.provisioned, game_servers.memory_mib as "memoryMib",
   game_servers.cpu_percent as "cpuPercent", game_servers.disk_mib as "diskMib"`,
);

/** The servers that the caller sees, by name, then uuid. In byte order, so that every database sorts equally. */
export async function listServers(db: Db, caller: ServerHolder): Promise<ListedServer[]> {
  const { rows } = await sql<ListedServer>`
    select ${LISTED} from game_servers where ${withinReach(caller)}
     order by game_servers.name collate "C", game_servers.uuid`.execute(db);
  return rows;
}

/** Null if no such server is within reach. */
export async function loadServer(
  db: Reader,
  caller: ServerHolder,
  uuid: string,
): Promise<ServerRow | null> {
  const { rows } = await sql<ServerRow>`
    select ${LISTED}, nodes.name as node, game_servers.build_state as "buildState", game_servers.suspended,
           coalesce((nodes.engine ->> 'fileLinks')::boolean, false) as "fileLinks"
      from game_servers join nodes on nodes.id = game_servers.node_id
     where ${one(caller, uuid)}`.execute(db);
  return rows[0] ?? null;
}

/** A node without a heartbeat for this time is away. */
export const AWAY_AFTER_SECONDS = 45;
const FIRST = firstPortOf('game_servers');
const IS_CONNECTED = sql`
  coalesce(nodes.last_seen_at > now() - make_interval(secs => ${AWAY_AFTER_SECONDS}), false)`;

/** A server with what its node last reported. */
export interface ServerStatusRow {
  readonly uuid: string;
  readonly name: string;
  readonly serviceId: number;
  readonly serviceName: string;
  /** Null: unknown. */
  readonly state: ServerState | null;
  readonly buildState: BuildState;
  readonly suspended: boolean;
  readonly crashedAt: Date | null;
  readonly node: string;
  readonly nodeConnected: boolean;
  readonly egg: string;
  readonly ip: string;
  readonly port: number;
}

/** The servers that the caller sees in the order of `listServers`, with what their nodes last reported. */
export async function listStatuses(db: Db, caller: ServerHolder): Promise<ServerStatusRow[]> {
  const { rows } = await sql<ServerStatusRow>`
    select uuid, game_servers.name, service_id as "serviceId", services.name as "serviceName",
           case when provisioned and is_connected and engine ->> 'version' is not null
                then power_state end as state,
           build_state as "buildState", suspended, to_timestamp(crashed_at_ms / 1000) as "crashedAt",
           nodes.name as node, is_connected as "nodeConnected", egg_name as egg, ${FIRST.ip} as ip, ${FIRST.port} as port
      from game_servers
      join services on services.id = service_id
      join nodes on nodes.id = node_id,
           lateral (select ${IS_CONNECTED} as is_connected) as node_state
     where ${withinReach(caller)}
     order by game_servers.name collate "C", uuid`.execute(db);
  return rows;
}

export interface ServerBuildRow {
  readonly uuid: string;
  readonly provisioned: boolean;
  readonly state: BuildState;
  readonly reason: string | null;
  readonly log: string | null;
  readonly epoch: number;
  readonly node: string;
  readonly nodeConnected: boolean;
  readonly egg: string;
  readonly suspended: boolean;
  /** Owners of the organisation made it, so they may delete it. */
  readonly own: boolean;
  readonly ip: string;
  readonly port: number;
  readonly ports: readonly ServerPort[];
  readonly openWhileRunning: boolean;
  /** Open ports: those of these names; null: all. */
  readonly openPorts: readonly string[] | null;
  /** They are allowed at present. */
  readonly portsOpen: boolean;
  readonly parsedEgg: Pick<Egg, 'name' | 'protocols' | 'filters'>;
}

export async function loadBuild(
  db: Db,
  caller: ServerHolder,
  uuid: string,
): Promise<ServerBuildRow | null> {
  const { rows } = await sql<ServerBuildRow>`
    select game_servers.uuid, provisioned, build_state as state, build_reason as reason, build_log as log,
           build_epoch as epoch, nodes.name as node, egg_name as egg, suspended, ${FIRST.ip} as ip, ${FIRST.port} as port,
           ${portsOf('game_servers')} as ports,
           made_by is not distinct from game_servers.organisation_id as own,
           open_while_running as "openWhileRunning", open_ports as "openPorts",
           exists (select from server_openings o where o.server = game_servers.uuid and o.deleted_generation is null)
             as "portsOpen", ${IS_CONNECTED} as "nodeConnected", eggs.egg as "parsedEgg"
      from game_servers join nodes on nodes.id = game_servers.node_id
                        join eggs on eggs.digest = game_servers.egg_digest
     where ${one(caller, uuid)}`.execute(db);
  return rows[0] ?? null;
}

function one(caller: ServerHolder, uuid: string): RawBuilder<unknown> {
  return sql`game_servers.uuid = ${uuid} and ${withinReach(caller)}`;
}
