import { userInfo } from 'node:os';
import type { Actor } from '@portcullis/control/access/index.ts';
import type { Db, Tx } from '@portcullis/control/db/database.ts';
import { controlConfig } from './control-options.ts';
import { unavailable } from '@portcullis/caller/exit.ts';
import type { DatabaseOptions } from './options.ts';
import { commandLine } from './installation/command-line.ts';

/** The actor that the audit log records for commands of the operator. */
export function operator(): Actor {
  return { kind: 'operator', name: userInfo().username, source: null, requestId: null };
}

/** The URL of a database, and of a role that may change its tables if that is another one. */
export interface DatabaseTarget {
  readonly url: string;
  readonly migrationUrl: string | null;
}

interface Creation {
  /** Creates a new database only with it, so that a mistyped directory is not taken for an empty platform. */
  readonly create?: boolean;
}

/** Runs `work` on the database that `onDatabase` finds. */
export async function withDatabase<T>(
  options: DatabaseOptions,
  work: (db: Db) => Promise<T>,
  creation: Creation = {},
): Promise<T> {
  const run = ({ url, migrationUrl }: DatabaseTarget) => withUrl(url, work, migrationUrl);
  return onDatabase(options, run, creation);
}

/**
 * Finds the database of DATABASE_URL, else the embedded PostgreSQL of the data directory, which is started for the
 * duration of `work` if it does not run.
 */
export async function onDatabase<T>(
  { data }: DatabaseOptions,
  work: (target: DatabaseTarget) => Promise<T>,
  { create = false }: Creation = {},
): Promise<T> {
  const { databaseUrl, migrationUrl, dataDir, account } = await controlConfig(
    data === undefined ? {} : { data },
  );
  if (databaseUrl !== null) return work({ url: databaseUrl, migrationUrl });
  const { findEmbeddedPostgres, mayHaveEmbeddedPostgres, startEmbeddedPostgres } = await import(
    '@portcullis/control/db/embedded/index.ts'
  );
  const running = findEmbeddedPostgres(dataDir);
  if (running !== null) return work({ url: running, migrationUrl: null });
  if (!create && !mayHaveEmbeddedPostgres(dataDir)) {
    throw unavailable(
      `there is no Portcullis in ${dataDir}: name its folder with --data or its database with DATABASE_URL, or make one with ${commandLine(['up'], { dataDir })}`,
    );
  }
  const { createLogger } = await import('@portcullis/control/log.ts');
  const log = createLogger({ level: 'warn' });
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log,
    ...(account !== null && { account }),
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw unavailable(`the database of ${dataDir} cannot be started: ${why}`, error);
  });
  try {
    return await work({ url: postgres.url, migrationUrl: null });
  } finally {
    await postgres.stop();
  }
}

/** Runs `work` in one transaction, see `withDatabase`. */
export function withTransaction<T>(
  options: DatabaseOptions,
  work: (tx: Tx, actor: Actor) => Promise<T>,
): Promise<T> {
  return withDatabase(options, (db) => db.transaction().execute((tx) => work(tx, operator())));
}

export async function withUrl<T>(
  url: string,
  work: (db: Db) => Promise<T>,
  migrationUrl: string | null = null,
): Promise<T> {
  const [{ openDatabase }, { isUnavailable }, { loadMigrations, migrateDatabase }] =
    await Promise.all([
      import('@portcullis/control/db/database.ts'),
      import('@portcullis/control/db/failure.ts'),
      import('@portcullis/control/db/migrate.ts'),
    ]);
  const db = openDatabase({ url, poolSize: 2, applicationName: 'portcullis command' });
  try {
    await migrateDatabase({ url, migrationUrl }, await loadMigrations());
    return await work(db);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw unavailable(
      `the database cannot be reached now: ${why}. Is it up, and is DATABASE_URL right?`,
      error,
    );
  } finally {
    await db.destroy();
  }
}
