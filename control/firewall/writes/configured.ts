import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { lockRows } from '../../db/locks.ts';
import { Problem } from '../../problem.ts';

/**
 * Throws when an organisation configures more addresses than its limit. Call it after the change, which the error
 * rolls back. The organisations' rows stay locked until the commit, so that concurrent writes cannot exceed the limit.
 */
export async function requireConfiguredLimit(tx: Tx, ...organisationIds: number[]): Promise<void> {
  // "no key update" does not block foreign keys to the organisation, so its other writes continue.
  await lockRows(tx, 'organisations', organisationIds, 'no key update');
  const { rows } = await sql<{ id: number; limit: number }>`
    select id, configured_addresses as "limit" from organisations
     where id = any(${organisationIds}::bigint[]) order by id`.execute(tx);
  const counts = await loadCounts(tx, organisationIds);
  for (const { id, limit } of rows) refuseAbove(limit, counts.get(id) ?? 0);
}

/** Targets that a change in memory would configure; of a group all that it would have. */
interface PlannedTargets {
  readonly targets: readonly string[];
  readonly groupId?: number;
}

/** The same for a change in memory. Locks nothing. */
export async function requireConfiguredWith(
  tx: Tx,
  organisationId: number,
  planned: PlannedTargets,
): Promise<void> {
  const { rows } = await sql<{ limit: number }>`
    select configured_addresses as "limit" from organisations where id = ${organisationId}`.execute(
    tx,
  );
  const counts = await loadCounts(tx, [organisationId], planned);
  for (const { limit } of rows) refuseAbove(limit, counts.get(organisationId) ?? 0);
}

function refuseAbove(limit: number, configured: number): void {
  if (configured <= limit) return;
  throw new Problem(
    'limit_exceeded',
    `This would make ${configured} configured addresses and prefixes, and the organisation may have ${limit} (configured_addresses). Delete the rules and filters of an address that no longer needs them.`,
  );
}

/**
 * Counts what needs a policy on edges: addresses with own objects, and every target of a group, geo rule, default or list of blocked
 * sources, each once,
 * in the organisation's current holdings.
 */
export async function countConfigured(db: Db | Tx, organisationId: number): Promise<number> {
  return (await loadCounts(db, [organisationId])).get(organisationId) ?? 0;
}

async function loadCounts(
  db: Db | Tx,
  organisationIds: readonly number[],
  { targets, groupId }: PlannedTargets = { targets: [] },
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await sql<{ id: number; configured: number }>`
    with held as (
      select id, organisation_id from holdings
       where organisation_id = any(${organisationIds}::bigint[]) and during @> statement_timestamp()
    )
    select organisation_id as id, count(*) as configured from (
      select organisation_id, ip::cidr from addresses
        join held on held.id = holding_id where configured
      union select organisation_id, target from group_assignments
        join held on held.id = holding_id
       where deleted_generation is null and group_id is distinct from ${groupId ?? null}::bigint
      union select organisation_id, target from geo_assignments
        join held on held.id = holding_id where deleted_generation is null
      union select organisation_id, target from default_actions
        join held on held.id = holding_id where deleted_generation is null
      union select held.organisation_id, target from blocked_sources
        join held on held.id = holding_id where deleted_generation is null
      union select organisation, target
        from unnest(${organisationIds}::bigint[]) as organisation, unnest(${targets}::text[]::cidr[]) as target
    ) as targets group by organisation_id`.execute(db);
  return new Map(rows.map(({ id, configured }) => [id, configured]));
}
