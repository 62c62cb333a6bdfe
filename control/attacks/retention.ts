import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { forgetBefore, ensurePartitions } from './partitions.ts';

/** This month's partition and those of as many months after it, so that none is missing when control was away. */
const MONTHS_AHEAD = 2;
/** Whoever follows the links of a list has so long to come to its end. */
const VERSIONS_KEPT_HOURS = 24;

const DAY_MS = 86_400_000;

/** Makes the partitions that will be needed, and forgets what nobody may see any longer. How many rows and partitions went. */
export async function sweepAttacks(db: Db, now: Date = new Date()): Promise<number> {
  await ensurePartitions(db, now, MONTHS_AHEAD);
  const since = new Date(now.getTime() - (await keptDays(db)) * DAY_MS);
  const { dropped, deleted } = await forgetBefore(db, since);
  // With them goes what was done against them.
  const { numAffectedRows } = await sql`
    delete from attack_responses where closed_at < ${since}`.execute(db);
  await sql`
    delete from attack_drops d
     where not exists (select from attacks a where a.id = d.attack_id)`.execute(db);
  await sql`delete from late_budgets where at < now() - interval '1 day'`.execute(db);
  await sql`delete from responder_turns where served_at < now() - interval '1 day'`.execute(db);
  const responses = Number(numAffectedRows ?? 0);
  return dropped + deleted + responses + (await forgetVersions(db));
}

/** Who may look furthest back decides: rows of others that are as old are beyond their own entitlement. */
export async function keptDays(db: Db): Promise<number> {
  const { rows } = await sql<{ days: number }>`
    select coalesce(max(attack_history_days), 36500)::int as days from organisations`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate gave no row');
  return row.days;
}

/** Versions that no list shows any longer. First that they will be missing is said, then they go. */
async function forgetVersions(db: Db): Promise<number> {
  const old = sql`superseded_at < now() - ${VERSIONS_KEPT_HOURS} * interval '1 hour'`;
  await sql`
    update attack_clock set forgotten = gone.revision
      from (select max(until_revision) as revision from attacks where ${old}) gone
     where gone.revision > forgotten`.execute(db);
  const { numAffectedRows } = await sql`
    delete from attacks where ${old}
       and until_revision <= (select forgotten from attack_clock)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
