import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Db, openDatabase, type Tx } from './database.ts';
import { migrationUrl } from './embedded/roles.ts';
import { codeOf } from './failure.ts';

const FOLDER = new URL('./migrations/', import.meta.url);
const NAME = /^\d{4}-[a-z0-9-]+\.sql$/;

/** Any number that no other user of the database takes; "PCLM" in ASCII. */
const LOCK = 0x50_43_4c_4d;

/** How long a migration may wait for one table: all who read or write that table wait behind it. */
const TABLE_WAIT_MS = 1_000;
/** How long everybody else has the tables before the next attempt. */
const PAUSE_MS = 2_000;
/** How long attempts go on; a backup of millions of rows takes minutes. */
const PATIENCE_MS = 600_000;
/** Lock timeout, and deadlock with a writer. */
const BUSY = new Set(['55P03', '40P01']);

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly hash: string;
}

/** Major versions of PostgreSQL that the tests run on. */
const OLDEST_SERVER = 15;
const NEWEST_SERVER = 18;

/** Every migration that ships, oldest first. */
export async function loadMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name)).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      return { name, text, hash: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

export interface MigrationTarget {
  /** The URL that control uses. */
  readonly url: string;
  /** The URL of a role that may create tables. Null: the role of an embedded server, else the same. */
  readonly migrationUrl: string | null;
}

/**
 * Migrates with the role for migrations. With no migration missing, reads with the role of control only. `onBusy` is called
 * before each wait for tables that others use.
 */
export async function migrateDatabase(
  target: MigrationTarget,
  migrations: readonly Migration[],
  onBusy: () => void = () => {},
): Promise<void> {
  if (await isMigrated(target.url, migrations)) return;
  await onDatabase(roleToMigrate(target), (db) => migrate(db, migrations, onBusy));
}

/** The URL with the role that may change tables. */
export function roleToMigrate(target: MigrationTarget): string {
  return target.migrationUrl ?? migrationUrl(target.url);
}

async function isMigrated(url: string, wanted: readonly Migration[]): Promise<boolean> {
  return onDatabase(url, async (db) => {
    await requireServer(db);
    const { rows } = await sql<{ found: boolean }>`
      select to_regclass('migrations') is not null as found`.execute(db);
    if (rows[0]?.found !== true) return false;
    const applied = await appliedMigrations(db);
    const refusal = refuse(applied, wanted);
    if (refusal !== null) throw new Error(refusal);
    return applied.length === wanted.length;
  });
}

async function onDatabase<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDatabase({ url, poolSize: 1, applicationName: 'portcullis migration' });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

async function appliedMigrations(db: Db): Promise<{ name: string; hash: string }[]> {
  const { rows } = await sql<{ name: string; hash: string }>`
    select name, hash from migrations order by name`.execute(db);
  return rows;
}

/**
 * Migrates the database in one transaction under a lock, so that replicas that start together neither collide nor see a
 * partial state. Replicas of the version before serve meanwhile: an attempt that must wait for a table is rolled back and
 * repeated, so that they do not queue behind it. Refuses a database of a newer version.
 */
export async function migrate(
  db: Db,
  migrations?: readonly Migration[],
  onBusy: () => void = () => {},
): Promise<void> {
  const wanted = migrations ?? (await loadMigrations());
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await migrateAtOnce(db, wanted);
    } catch (error) {
      if (!BUSY.has(codeOf(error) ?? '')) throw error;
      if (performance.now() > deadline) throw new Error(TOO_BUSY, { cause: error });
      onBusy();
      await delay(PAUSE_MS);
    }
  }
}

const TOO_BUSY = `The database was not migrated: for ${PATIENCE_MS / 60_000} minutes, other transactions (a backup, or a session of psql) kept its tables. Nothing was changed. Start again when they have ended.`;

async function migrateAtOnce(db: Db, wanted: readonly Migration[]): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // No statement timeout: a migration, or waiting for another's, may take long.
    await sql`set local statement_timeout = 0`.execute(tx);
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    await sql.raw(`set local lock_timeout = ${TABLE_WAIT_MS}`).execute(tx);
    await sql`create table if not exists migrations (
      name text primary key, hash text not null, applied_at timestamptz not null default now())`.execute(
      tx,
    );
    await applyMissing(tx, wanted);
  });
}

async function applyMissing(tx: Tx, wanted: readonly Migration[]): Promise<void> {
  const applied = await appliedMigrations(tx);
  const refusal = refuse(applied, wanted);
  if (refusal !== null) throw new Error(refusal);
  for (const migration of wanted.slice(applied.length)) {
    await sql.raw(migration.text).execute(tx);
    await sql`insert into migrations (name, hash) values (${migration.name}, ${migration.hash})`.execute(
      tx,
    );
  }
}

async function requireServer(db: Db): Promise<void> {
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::integer as version`.execute(db);
  const refusal = refuseServer(rows[0]?.version ?? 0);
  if (refusal !== null) throw new Error(refusal);
}

/** Why a server of this `server_version_num`, such as 150018, cannot be used, or null. */
export function refuseServer(version: number): string | null {
  const major = Math.floor(version / 10_000);
  if (major >= OLDEST_SERVER && major <= NEWEST_SERVER) return null;
  return `The database runs on PostgreSQL ${major}, and this Portcullis needs PostgreSQL ${OLDEST_SERVER} to ${NEWEST_SERVER}: name one of those in DATABASE_URL. Nothing was changed.`;
}

/** Why this code must not touch a database with these migrations, or null. */
export function refuse(
  applied: readonly { name: string; hash: string }[],
  wanted: readonly Migration[],
): string | null {
  for (const [index, done] of applied.entries()) {
    const ours = wanted[index];
    if (ours === undefined) {
      return `The database is newer than this Portcullis: it has migration ${done.name}, which this version does not know. Start the version that made it, or a newer one. To go back, give this version an empty database (the embedded server: move the folder postgres out of the data folder) and restore the backup that was made before the upgrade, with "portcullis restore FILE". Nothing was changed.`;
    }
    if (ours.name !== done.name) {
      return `The database has migration ${done.name} where this Portcullis has ${ours.name}: another version, or another program, made it. Nothing was changed.`;
    }
    if (ours.hash !== done.hash) {
      return `The database was made by an unreleased version of Portcullis with another ${done.name}, and cannot be carried over. Start that version, or give this one an empty database (the embedded server: move the folder postgres out of the data folder) and apply the fleet file again. Nothing was changed.`;
    }
  }
  return null;
}
