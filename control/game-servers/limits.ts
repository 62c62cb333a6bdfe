import type { ServerLimits } from '@portcullis/core/game-servers/power.ts';
import { sql } from 'kysely';

/** The column of each limit of a server that its node enforces. */
const NODE_LIMITS = {
  memory: ['memory_mib', 'integer'],
  cpu: ['cpu_percent', 'integer'],
  disk: ['disk_mib', 'integer'],
  swap: ['swap_mib', 'integer'],
  io: ['io_weight', 'integer'],
  cores: ['cores', 'text'],
  oom: ['oom_killer', 'boolean'],
  entries: ['entry_limit', 'integer'],
} as const satisfies Record<keyof ServerLimits, LimitColumn>;

type LimitColumn = readonly [column: string, type: 'integer' | 'text' | 'boolean'];

/** The column of each limit that is declared: those of the node, and those that control itself holds. */
export const LIMIT_COLUMNS = { ...NODE_LIMITS, ports: ['port_limit', 'integer'] } as const;

/** The limits of a row of `game_servers s` as an object, as nodes are sent them. */
export const LIMITS = sql<ServerLimits>`jsonb_build_object(${sql.join(
  Object.entries(NODE_LIMITS).flatMap(([limit, [column]]) => [
    sql.lit(limit),
    sql.ref(`s.${column}`),
  ]),
)})`;
