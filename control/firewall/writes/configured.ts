import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { Problem } from '../../problem.ts';

/**
 * Refuses a transaction that has made the organisation configure more than it may: call it after the change,
 * which the refusal takes back.
 *
 * The organisation's row stays locked until the commit, so nobody else of it adds one meanwhile.
 */
export async function refuseTooManyConfigured(tx: Tx, organisationId: number): Promise<void> {
  // "no key update" leaves foreign keys to the organisation alone: its other writes go on.
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
 * What counts is what makes edges remember a policy: addresses with objects of their own, and every address or
 * prefix that a group or a geo rule is assigned to, each once, in the organisation's present holdings.
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
    ) as targets`.execute(db);
  return rows[0]?.configured ?? 0;
}
