import type { ServerPort } from '@portcullis/core/game-servers/power.ts';
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** The tables of nodes and game servers; what schema.ts says of types holds here too. */
export interface GameServerSchema {
  nodes: NodeTable;
  eggs: EggTable;
  game_servers: GameServerTable;
}

type Json<T> = ColumnType<T, string, string>;
type JsonWithDefault<T> = ColumnType<T, string | undefined, string>;
type Owner = 'fleet' | 'portal';

interface NodeTable {
  id: GeneratedAlways<number>;
  name: string;
  owner: Owner;
  credential_hash: Buffer | null;
  enrolled_at: Date | null;
  instance: string | null;
  last_seen_at: Date | null;
  engine: Json<object> | null;
  lost_at: Date | null;
}

interface EggTable {
  digest: string;
  /** The egg from `parseEgg`; see link/messages/egg.ts. */
  egg: Json<object>;
}

export type BuildState = 'waiting' | 'building' | 'built' | 'failed';

interface GameServerTable {
  uuid: string;
  organisation_id: number;
  service_id: number;
  node_id: number;
  name: string;
  egg_digest: string;
  egg_name: string;
  image: string | null;
  variables: JsonWithDefault<Record<string, string>>;
  memory_mib: number;
  cpu_percent: number;
  disk_mib: number;
  ip: string;
  port: number;
  ports: JsonWithDefault<readonly ServerPort[]>;
  open_while_running: Generated<boolean>;
  open_ports: string[] | null;
  suspended: Generated<boolean>;
  crash_restart: Generated<boolean>;
  crash_within_ms: Generated<number>;
  build_epoch: Generated<number>;
  build_state: Generated<BuildState>;
  build_reason: string | null;
  build_log: string | null;
  /** As its node last reported it; null: not yet. */
  power_state: string | null;
  crashed_at_ms: number | null;
  provisioned: GeneratedAlways<boolean>;
  identifier: string | null;
  owner: Owner;
  created_at: Generated<Date>;
}
