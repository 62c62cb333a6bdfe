import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { sweepEvents } from '../../events/index.ts';
import { DROPS_KEPT_HOURS } from '../edges/drops.ts';

/** How long deleted objects are kept, for the history of an address. */
export const KEPT_OBJECT_DAYS = 400;

/** Retention times. */
export const KEPT = {
  auditDays: 400,
  /** Evidence of attacks names sources; the records of attacks are kept as long as their organisation may see them. */
  evidenceDays: 30,
  idempotencyHours: 24,
  serverSampleHours: 24,
  /** Control planes read them within seconds, or load everything. */
  scopeChangeHours: 1,
  deletedObjectDays: KEPT_OBJECT_DAYS,
  /** Generations whose changes any edge may sync; older ones are kept only for edges in service. */
  generations: 10_000,
  /** An edge that is further behind syncs whole, which is cheaper than storing more. */
  mostGenerations: 100_000,
} as const;

/** The largest number of rows per statement, which limits how long locks are held. */
const BATCH = 5_000;
const MAX_BATCHES = 200;

export type SweepName =
  | 'idempotency keys'
  | 'generations'
  | 'deleted objects'
  | 'drop counts'
  | 'drop samples'
  | 'passed samples'
  | 'attacks'
  | 'audit trail'
  | 'evidence'
  | 'events'
  | 'server samples'
  | 'scope changes';

/** Deletes old rows of another area; returns the number deleted. */
export type Sweep = (db: Db) => Promise<number>;

/** One bounded sweep of all tables with a retention time. Replicas may sweep at the same time. */
export async function sweepOldRows(
  db: Db,
  sweepAttacks: Sweep,
  onSwept: (what: SweepName, rows: number) => void,
): Promise<void> {
  onSwept('idempotency keys', await inBatches(() => sweepIdempotencyKeys(db)));
  onSwept('generations', await inBatches(() => sweepGenerations(db)));
  onSwept('deleted objects', await sweepDeletedObjects(db));
  const drops = DROPS_KEPT_HOURS;
  onSwept('drop counts', await inBatches(() => sweepHourly(db, 'drop_counts', 'minute', drops)));
  onSwept('drop samples', await inBatches(() => sweepHourly(db, 'drop_samples', 'at', drops)));
  onSwept(
    'passed samples',
    await inBatches(() => sweepHourly(db, 'passed_samples', 'hour', drops)),
  );
  onSwept('attacks', await sweepAttacks(db));
  onSwept('audit trail', await inBatches(() => sweepOlder(db, 'audit', 'at', KEPT.auditDays)));
  const { evidenceDays } = KEPT;
  const evidence = () => sweepOlder(db, 'attack_evidence', 'opened_at', evidenceDays);
  onSwept('evidence', await inBatches(evidence));
  onSwept('events', await inBatches(() => sweepEvents(db)));
  onSwept(
    'server samples',
    await inBatches(() => sweepHourly(db, 'server_samples', 'minute', KEPT.serverSampleHours)),
  );
  onSwept('scope changes', await inBatches(() => sweepScopeChanges(db)));
}

async function sweepOlder(
  db: Db,
  table: 'audit' | 'attack_evidence',
  column: 'at' | 'opened_at',
  days: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (tableoid, ctid) in (
      select tableoid, ctid from ${sql.table(table)}
       where ${sql.ref(column)} < now() - ${days} * interval '1 day' limit ${BATCH})`.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function sweepScopeChanges(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from detection_changes where ctid = any (array(
      select ctid from detection_changes
       where at < now() - ${KEPT.scopeChangeHours} * interval '1 hour'
       limit ${BATCH} for update skip locked))`.execute(db);
  return Number(numAffectedRows ?? 0);
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

async function sweepIdempotencyKeys(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from idempotency_keys where ctid = any (array(
      select ctid from idempotency_keys
       where created_at < now() - ${KEPT.idempotencyHours} * interval '1 hour'
       limit ${BATCH} for update skip locked))`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Deletes the oldest first, without gaps, so that the oldest row tells how far the list reaches back. */
async function sweepGenerations(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    with bar as (
      select greatest(
        fleet.generation - ${KEPT.mostGenerations}::bigint,
        least(fleet.generation - ${KEPT.generations}::bigint,
              (select min(confirmed_generation) from edges where in_service))) as generation
        from fleet
    ), oldest as (
      select g.generation from generations g, bar
       where g.generation < bar.generation order by g.generation limit ${BATCH}
    )
    delete from generations where generation in (select generation from oldest)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function sweepHourly(
  db: Db,
  table: 'drop_counts' | 'drop_samples' | 'passed_samples' | 'server_samples',
  column: 'minute' | 'at' | 'hour',
  hours: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where ctid = any (array(
      select ctid from ${sql.table(table)}
       where ${sql.ref(column)} < now() - ${hours} * interval '1 hour'
       limit ${BATCH} for update skip locked))`.execute(db);
  return Number(numAffectedRows ?? 0);
}

const OBJECT_TABLES = [
  'rules',
  'filters',
  'group_rules',
  'group_filters',
  'group_assignments',
  'geo_assignments',
  'geo_rules',
  'default_actions',
  'server_openings',
  'baseline_rules',
] as const;

async function sweepDeletedObjects(db: Db): Promise<number> {
  let all = 0;
  for (const table of OBJECT_TABLES) all += await inBatches(() => sweepDeleted(db, table));
  return all;
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
       where t.deleted_at < now() - ${KEPT.deletedObjectDays} * interval '1 day' ${unused}
       limit ${BATCH} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
