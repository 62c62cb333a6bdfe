import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { DROPS_KEPT_HOURS } from '../edges/drops.ts';

/** How long deleted objects are kept, for the history of an address. */
export const KEPT_OBJECT_DAYS = 400;

/** Generations whose changes any edge may sync; older ones are kept only for edges in service. */
const KEPT_GENERATIONS = 10_000;
/** An edge that is further behind syncs whole, which is cheaper than storing more. */
const MOST_GENERATIONS = 100_000;

/** Tables whose rows are kept for a time, by the column that dates them. */
const DATED = [
  { what: 'idempotency keys', table: 'idempotency_keys', column: 'created_at', hours: 24 },
  { what: 'drop counts', table: 'drop_counts', column: 'minute', hours: DROPS_KEPT_HOURS },
  { what: 'drop samples', table: 'drop_samples', column: 'at', hours: DROPS_KEPT_HOURS },
  { what: 'passed samples', table: 'passed_samples', column: 'hour', hours: DROPS_KEPT_HOURS },
  { what: 'server samples', table: 'server_samples', column: 'minute', hours: 24 },
  // Control planes read them within seconds, or load everything.
  { what: 'scope changes', table: 'detection_changes', column: 'at', hours: 1 },
  { what: 'audit trail', table: 'audit', column: 'at', hours: 400 * 24 },
  // It names sources; the records of attacks are kept as long as their organisation may see them.
  { what: 'evidence', table: 'attack_evidence', column: 'opened_at', hours: 30 * 24 },
] as const;

/** Tables whose rows are kept for `KEPT_OBJECT_DAYS` once they are deleted. */
const OBJECT_TABLES = [
  'rules',
  'filters',
  'group_rules',
  'group_filters',
  'group_assignments',
  'geo_assignments',
  'geo_rules',
  'default_actions',
  'blocked_sources',
  'server_openings',
  'baseline_rules',
] as const;

/** The largest number of rows per statement, which limits how long locks are held. */
const BATCH = 5_000;
const MAX_BATCHES = 200;

/** Sweeps of other areas by the name of their rows: each deletes a batch, and returns the number of deleted rows. */
export type OtherSweeps = Readonly<Record<string, (db: Db) => Promise<number>>>;

/** One bounded sweep of all tables with a retention time. Replicas may sweep at the same time. */
export async function sweepOldRows(
  db: Db,
  otherSweeps: OtherSweeps,
  onSwept: (what: string, rows: number) => void,
): Promise<void> {
  for (const dated of DATED) onSwept(dated.what, await inBatches(() => sweepDated(db, dated)));
  onSwept('generations', await inBatches(() => sweepGenerations(db)));
  let deleted = 0;
  for (const table of OBJECT_TABLES) deleted += await inBatches(() => sweepDeleted(db, table));
  onSwept('deleted objects', deleted);
  for (const [what, sweep] of Object.entries(otherSweeps)) {
    onSwept(what, await inBatches(() => sweep(db)));
  }
}

async function inBatches(sweep: () => Promise<number>): Promise<number> {
  let all = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const rows = await sweep();
    all += rows;
    if (rows < BATCH) break;
  }
  return all;
}

/** A place in a partitioned table may name a row of each part, so the time is compared with it. */
async function sweepDated(
  db: Db,
  { table, column, hours }: (typeof DATED)[number],
): Promise<number> {
  const isOld = sql`${sql.ref(column)} < now() - ${hours} * interval '1 hour'`;
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where ${isOld} and ctid = any (array(
      select ctid from ${sql.table(table)} where ${isOld}
       limit ${BATCH} for update skip locked))`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Deletes the oldest first, without gaps, so that the oldest row tells how far the list reaches back. */
async function sweepGenerations(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    with bar as (
      select greatest(
        fleet.generation - ${MOST_GENERATIONS}::bigint,
        least(fleet.generation - ${KEPT_GENERATIONS}::bigint,
              (select min(confirmed_generation) from edges where in_service))) as generation
        from fleet
    ), oldest as (
      select g.generation from generations g, bar
       where g.generation < bar.generation order by g.generation limit ${BATCH}
    )
    delete from generations where generation in (select generation from oldest)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function sweepDeleted(db: Db, table: (typeof OBJECT_TABLES)[number]): Promise<number> {
  // A geo rule is deleted after its assignments.
  const unused =
    table === 'geo_rules'
      ? sql`and not exists (select from geo_assignments a where a.geo_rule_id = t.id)`
      : sql``;
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where id in (
      select t.id from ${sql.table(table)} t
       where t.deleted_at < now() - ${KEPT_OBJECT_DAYS} * interval '1 day' ${unused}
       limit ${BATCH} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
