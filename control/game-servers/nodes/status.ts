import { sql } from 'kysely';
import type { Reader, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import type { HostEngines } from '@portcullis/core/game-servers/host-engines.ts';
import { AWAY_AFTER_SECONDS } from '../store.ts';

/** A node: its configuration and its last report. */
export interface NodeStatus {
  readonly id: number;
  readonly name: string;
  readonly owner: Owner;
  /** Null if it has no credential and cannot connect. */
  readonly enrolledAt: Date | null;
  readonly lastSeenAt: Date | null;
  readonly connected: boolean;
  readonly engine: EngineStatus | null;
  /** MiB that it offers; null: without limit. */
  readonly memory: number | null;
  readonly disk: number | null;
  readonly memoryUsed: number;
  readonly diskUsed: number;
  readonly addresses: readonly string[];
  /** A port expression. */
  readonly ports: string;
  readonly servers: number;
  readonly built: number;
  /** The servers with a failed build, with reasons. */
  readonly failed: readonly FailedBuild[];
}
export interface EngineStatus {
  readonly kind: string;
  /** Null if it does not answer; `problem` says why. */
  readonly version: string | null;
  readonly problem: string | null;
  /** Missing or null: an agent of an older version does not say it. */
  readonly host?: HostEngines | null;
}
/** Disk of deleted servers whose files node `n` keeps: deleting and making servers again must not fill it. */
const LEFT_MIB = sql`(
  select coalesce(sum((d.declared #>> '{limits,disk}')::integer), 0) from deleted_servers d where d.node_id = n.id)`;

export interface FailedBuild {
  readonly uuid: string;
  readonly name: string;
  readonly reason: string | null;
}

/** Every node of the fleet by name. */
export async function loadNodeStatuses(db: Reader | Tx): Promise<NodeStatus[]> {
  const { rows } = await sql<NodeStatus>`
    select n.id, n.name, n.owner, n.enrolled_at as "enrolledAt", n.last_seen_at as "lastSeenAt", n.engine,
           coalesce(n.last_seen_at > now() - make_interval(secs => ${AWAY_AFTER_SECONDS}), false) as connected,
           n.memory_mib as memory, n.disk_mib as disk, coalesce(sum(s.memory_mib), 0) as "memoryUsed",
           coalesce(sum(s.disk_mib), 0) + ${LEFT_MIB} as "diskUsed", array(select host(unnest(n.addresses))) as addresses,
           n.given_ports as ports,
           count(s.uuid)::integer as servers,
           (count(*) filter (where s.provisioned))::integer as built,
           coalesce(json_agg(json_build_object('uuid', s.uuid, 'name', s.name, 'reason', s.build_reason)
             order by s.name) filter (where s.build_state = 'failed'), '[]') as failed
      from nodes n left join game_servers s on s.node_id = n.id
     group by n.id order by n.name`.execute(db);
  return rows;
}
