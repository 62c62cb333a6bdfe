import type { ServerLimits } from '@portcullis/core/game-servers/power.ts';
import { sql } from 'kysely';

/** The column of each limit of a server: what is declared is written to it, and nodes are sent it. */
export const LIMIT_COLUMNS = {
  memory: 'memory_mib',
  cpu: 'cpu_percent',
  disk: 'disk_mib',
  swap: 'swap_mib',
} as const satisfies Record<keyof ServerLimits, string>;

/** The limits of a row of `game_servers s` as an object. */
export const LIMITS = sql<ServerLimits>`jsonb_build_object(${sql.join(
  Object.entries(LIMIT_COLUMNS).flatMap(([limit, column]) => [
    sql.lit(limit),
    sql.ref(`s.${column}`),
  ]),
)})`;
