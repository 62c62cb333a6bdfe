import { SERVER, type ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import { checkVariables, isReserved } from '@portcullis/core/game-servers/eggs/variables.ts';
import { sql } from 'kysely';
import type { Batch } from '../../fleet/batch.ts';
import { LIMIT_COLUMNS } from '../../game-servers/limits.ts';
import { type Context, type Current, defineKind, type Refuse, type Wanted } from '../kind.ts';
import { kindTable, named } from '../table.ts';

/** The first port of every server, whatever else it is called. */
export const PRIMARY = 'primary';

export interface ServerFacts {
  /** What a billing system calls it. */
  readonly externalId: string | null;
  /** Of its ports, where none are listed. */
  readonly eggProtocols: readonly ('tcp' | 'udp')[];
  /** Its node has installed it, so it has files. */
  readonly provisioned: boolean;
  readonly build: { readonly state: string; readonly reason: string | null };
}

type Allocation = ServerObject['allocations'][number];

const table = kindTable<ServerObject, ServerFacts>({
  table: 'game_servers',
  key: 'uuid',
  id: sql`0`,
  columns: {
    uuid: 'uuid',
    organisation: named('organisation_id', 'organisations', 'slug'),
    service: ['service_id', 'bigint'],
    name: 'text',
    node: named('node_id', 'nodes', 'name'),
    egg: ['egg_name', 'text'],
    egg_digest: 'text',
    image: 'text',
    variables: 'jsonb',
    limits: {
      memory: [LIMIT_COLUMNS.memory, 'integer'],
    },
    allocations: {
      column: 'ports',
    },
  },
});
