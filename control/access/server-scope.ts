import { type RawBuilder, sql } from 'kysely';
import type { Ability } from '@portcullis/core/access/abilities.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Caller } from './caller.ts';

/** The servers within reach of a caller: a key may be bound to a part of them. */
export type ServerHolder = Pick<Caller, 'organisationId' | 'servers' | 'managedServers'>;

/**
 * The SQL condition for servers that the caller may see, or with `game-servers.manage` may instruct. All access of
 * callers to servers uses it.
 */
export function withinReach(caller: ServerHolder, ability: Ability): RawBuilder<unknown> {
  const { organisationId, servers, managedServers } = caller;
  const managed = ability === 'game-servers.manage' ? managedServers : null;
  return sql`(game_servers.organisation_id = ${organisationId}
    and (${servers}::uuid[] is null or game_servers.uuid = any(${servers}::uuid[]))
    and (${managed}::uuid[] is null or game_servers.uuid = any(${managed}::uuid[])))`;
}

/**
 * Whether the server is within reach; false is 404 to the caller, so that nothing of other organisations is revealed.
 */
export async function seesServer(
  db: Db | Tx,
  caller: ServerHolder,
  ability: Ability,
  uuid: string,
): Promise<boolean> {
  const { rows } = await sql`
    select from game_servers where uuid = ${uuid} and ${withinReach(caller, ability)}`.execute(db);
  return rows.length > 0;
}
