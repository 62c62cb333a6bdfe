import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { ensurePartitions, forgetBefore, keptDays } from './record/partitions.ts';
import { forgetPeaks } from './suggestions.ts';

/** The number of months with partitions ahead, so that none is missing after an outage. */
const MONTHS_AHEAD = 2;
/** How long the snapshots of lists stay valid. */
const VERSIONS_KEPT_HOURS = 24;

const DAY_MS = 86_400_000;

/** Creates upcoming partitions and deletes what no caller may see any more. Returns the deleted rows and partitions. */
export async function sweepAttacks(db: Db, now: Date = new Date()): Promise<number> {
  await ensurePartitions(db, now, MONTHS_AHEAD);
  const since = new Date(now.getTime() - (await keptDays(db)) * DAY_MS);
  const { dropped, deleted } = await forgetBefore(db, since);
  // Their mitigations are deleted with them.
  const { numAffectedRows } = await sql`
    delete from attack_responses where closed_at < ${since}`.execute(db);
  await sql`
    delete from attack_drops d
     where not exists (select from attacks a where a.id = d.attack_id)`.execute(db);
  await forgetPeaks(db);
  await sql`delete from responder_turns where served_at < now() - interval '1 day'`.execute(db);
  const responses = Number(numAffectedRows ?? 0);
  return dropped + deleted + responses + (await forgetVersions(db));
}

/** Deletes row versions that no list needs: first the oldest valid revision is raised, then they are deleted. */
async function forgetVersions(db: Db): Promise<number> {
  const old = sql`superseded_at < now() - ${VERSIONS_KEPT_HOURS} * interval '1 hour'`;
  await sql`
    update attack_revision set pruned_revision = gone.revision
      from (select max(until_revision) as revision from attacks where ${old}) gone
     where gone.revision > pruned_revision`.execute(db);
  const { numAffectedRows } = await sql`
    delete from attacks where ${old}
       and until_revision <= (select pruned_revision from attack_revision)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
