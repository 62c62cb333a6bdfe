import { type RawBuilder, sql } from 'kysely';
import type { Ability } from '@portcullis/core/access/abilities.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Caller } from './caller.ts';

/** Whose servers, and which of them; a key may be bound to fewer than its organisation has. */
export type ServerHolder = Pick<Caller, 'organisationId' | 'servers' | 'managedServers'>;

/**
 * The condition that a row of game_servers is one that the caller may see, or with `game-servers.manage` one
 * that it may instruct. The one place that decides this: everything that a caller reaches is loaded through it.
 */
export function withinReach(caller: ServerHolder, ability: Ability): RawBuilder<unknown> {
  const { organisationId, servers, managedServers } = caller;
  const managed = ability === 'game-servers.manage' ? managedServers : null;
  return sql`(game_servers.organisation_id = ${organisationId}
    and (${servers}::uuid[] is null or game_servers.uuid = any(${servers}::uuid[]))
    and (${managed}::uuid[] is null or game_servers.uuid = any(${managed}::uuid[])))`;
}

/** Whether there is such a server within reach; false is 404 to the caller, who learns nothing of others. */
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
