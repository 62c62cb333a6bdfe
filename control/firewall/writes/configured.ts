import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { Problem } from '../../problem.ts';

/**
 * Throws when the organisation configures more addresses than its limit. Call it after the change, which the error
 * rolls back. The organisation's row stays locked until the commit, so that concurrent writes cannot exceed the limit.
 */
export async function requireConfiguredLimit(tx: Tx, organisationId: number): Promise<void> {
  // "no key update" does not block foreign keys to the organisation, so its other writes continue.
  const locked = await sql<{ limit: number }>`
    select configured_addresses as "limit" from organisations where id = ${organisationId}
       for no key update`.execute(tx);
  const configured = await countConfigured(tx, organisationId);
  const limit = locked.rows[0]?.limit ?? 0;
  if (configured <= limit) return;
  throw new Problem(
    'limit_exceeded',
    `This would make ${configured} configured addresses and prefixes, and the organisation may have ${limit} (configured_addresses). Delete the rules and filters of an address that no longer needs them.`,
  );
}

/**
 * Counts what needs a policy on edges: addresses with own objects, and every target of a group, geo rule or default, each once,
 * in the organisation's current holdings.
 */
export async function countConfigured(db: Db | Tx, organisationId: number): Promise<number> {
  const { rows } = await sql<{ configured: number }>`
    with held as (
      select id from holdings
       where organisation_id = ${organisationId} and during @> statement_timestamp()
    )
    select count(*) as configured from (
      select ip::cidr from addresses where holding_id in (select id from held) and configured
      union select target from group_assignments
       where holding_id in (select id from held) and deleted_generation is null
      union select target from geo_assignments
       where holding_id in (select id from held) and deleted_generation is null
      union select target from default_actions
       where holding_id in (select id from held) and deleted_generation is null
    ) as targets`.execute(db);
  return rows[0]?.configured ?? 0;
}
