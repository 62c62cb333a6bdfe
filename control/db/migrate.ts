import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Db, Tx } from './database.ts';

const FOLDER = new URL('./migrations/', import.meta.url);
const NAME = /^\d{4}-[a-z0-9-]+\.sql$/;

/** Any number that no other user of the database takes; "PCLM" in ASCII. */
const LOCK = 0x50_43_4c_4d;

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly hash: string;
}

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

/**
 * Migrates the database in one transaction under a lock, so that replicas that start together neither collide nor see a
 * partial state. Refuses a database of a newer version.
 */
export async function migrate(db: Db, migrations?: readonly Migration[]): Promise<void> {
  const wanted = migrations ?? (await loadMigrations());
  await db.transaction().execute(async (tx) => {
    // No statement timeout: a migration, or waiting for another's, may take long.
    await sql`set local statement_timeout = 0`.execute(tx);
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    await sql`create table if not exists migrations (
      name text primary key, hash text not null, applied_at timestamptz not null default now())`.execute(
      tx,
    );
    await applyMissing(tx, wanted);
  });
}

async function applyMissing(tx: Tx, wanted: readonly Migration[]): Promise<void> {
  const applied = await sql<{ name: string; hash: string }>`
    select name, hash from migrations order by name`.execute(tx);
  const refusal = refuse(applied.rows, wanted);
  if (refusal !== null) throw new Error(refusal);
  for (const migration of wanted.slice(applied.rows.length)) {
    await sql.raw(migration.text).execute(tx);
    await sql`insert into migrations (name, hash) values (${migration.name}, ${migration.hash})`.execute(
      tx,
    );
  }
}

/** Why this code must not touch a database with these migrations, or null. */
export function refuse(
  applied: readonly { name: string; hash: string }[],
  wanted: readonly Migration[],
): string | null {
  for (const [index, done] of applied.entries()) {
    const ours = wanted[index];
    if (ours === undefined) {
      return `The database is newer than this Portcullis: it has migration ${done.name}, which this version does not know. Start the version that made it, or a newer one.`;
    }
    if (ours.name !== done.name) {
      return `The database has migration ${done.name} where this Portcullis has ${ours.name}: another version, or another program, made it. Nothing was changed.`;
    }
    if (ours.hash !== done.hash) {
      return `Migration ${done.name} was changed after this database was made with it. Start the version that made the database. Nothing was changed.`;
    }
  }
  return null;
}
