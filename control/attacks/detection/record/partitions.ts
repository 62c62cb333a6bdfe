import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';

/** The tables partitioned by month, with their column. */
const TABLES = ['attacks', 'attack_evidence'] as const;
type Partitioned = (typeof TABLES)[number];

/** Any number that no other user of the database takes; "PCLA" in ASCII. */
const LOCK = 0x50_43_4c_41;

/** The start of a month, UTC. */
interface Month {
  readonly year: number;
  /** 0 to 11. */
  readonly month: number;
}

export function monthOf(moment: Date): Month {
  return { year: moment.getUTCFullYear(), month: moment.getUTCMonth() };
}

function after({ year, month }: Month, months: number): Month {
  return monthOf(new Date(Date.UTC(year, month + months, 1)));
}

function startOf({ year, month }: Month): string {
  return `${year}-${String(month + 1).padStart(2, '0')}-01 00:00:00+00`;
}

function nameOf(table: Partitioned, { year, month }: Month): string {
  return `${table}_${year}_${String(month + 1).padStart(2, '0')}`;
}

/**
 * Creates missing partitions from the month of `moment` on. Replicas are serialised by a lock. A partition is created
 * separately and then attached, which blocks neither reads nor writes.
 */
export async function ensurePartitions(db: Db, moment: Date, monthsAhead: number): Promise<void> {
  const months = Array.from({ length: monthsAhead + 1 }, (_, ahead) =>
    after(monthOf(moment), ahead),
  );
  const names = months.flatMap((month) => TABLES.map((table) => nameOf(table, month)));
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = any(${TABLES}::regclass[]) and c.relname = any(${names})`.execute(db);
  const there = new Set(rows.map(({ name }) => name));
  for (const month of months) {
    for (const table of TABLES) {
      if (!there.has(nameOf(table, month))) await makePartition(db, table, month);
    }
  }
}

async function makePartition(db: Db, table: Partitioned, month: Month): Promise<void> {
  const name = nameOf(table, month);
  await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    const { rows } = await sql`
      select from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = ${table}::regclass and c.relname = ${name}`.execute(tx);
    if (rows.length > 0) return;
    await sql`select create_partition(${table}, ${startOf(month)}::timestamptz)`.execute(tx);
  });
}

/** The longest entitlement decides; older rows of others are outside their entitlement anyway. */
export async function keptDays(db: Db): Promise<number> {
  const { rows } = await sql<{ days: number }>`
    select coalesce(max(attack_history_days), 36500)::int as days from organisations`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate gave no row');
  return row.days;
}

/**
 * Deletes everything before a time: drops partitions without later rows, and deletes the old rows of others. Attacks
 * that ended later or are ongoing stay.
 */
export async function forgetBefore(db: Db, moment: Date): Promise<Forgotten> {
  let dropped = 0;
  let deleted = 0;
  // Evidence after its attacks, because it is kept as long as they are.
  for (const table of TABLES) {
    const { rows } = await sql<{ name: string }>`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = ${table}::regclass order by c.relname`.execute(db);
    for (const { name } of rows) {
      const [year, month] = name
        .slice(table.length + 1)
        .split('_')
        .map(Number);
      if (year === undefined || month === undefined) continue;
      const end = new Date(startOf(after({ year, month: month - 1 }, 1)));
      if (end > moment) continue;
      const gone = await forgetPartition(db, table, name, moment);
      if (gone === 'dropped') dropped++;
      else deleted += gone;
    }
  }
  return { dropped, deleted };
}

/** The numbers of dropped partitions and deleted rows. */
export interface Forgotten {
  readonly dropped: number;
  readonly deleted: number;
}

/** The lock timeout on the whole table; another sweep follows. */
const PATIENCE = '2s';

async function forgetPartition(
  db: Db,
  table: Partitioned,
  name: string,
  moment: Date,
): Promise<'dropped' | number> {
  const stays =
    table === 'attacks'
      ? sql`(coalesce(p.ended_at >= ${moment}, false)
             or exists (select from ongoing_attacks o where o.attack_id = p.id))`
      : sql`exists (select from attacks a where a.id = p.attack_id)`;
  return db.transaction().execute(async (tx) => {
    await sql.raw(`set local lock_timeout = '${PATIENCE}'`).execute(tx);
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    const { rows } = await sql`
      select from ${sql.table(name)} p where ${stays} limit 1`.execute(tx);
    if (rows.length === 0) {
      await sql`select drop_partition(${table}, ${name})`.execute(tx);
      return 'dropped';
    }
    const { numAffectedRows } = await sql`
      delete from ${sql.table(name)} p where not ${stays}`.execute(tx);
    return Number(numAffectedRows ?? 0);
  });
}
