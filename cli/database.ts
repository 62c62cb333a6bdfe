import { decideConfig } from '@portcullis/control/config/config.ts';
import { readEnvironment } from '@portcullis/control/config/env.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import {
  findEmbeddedPostgres,
  mayHaveEmbeddedPostgres,
  startEmbeddedPostgres,
} from '@portcullis/control/db/embedded/index.ts';
import { isUnavailable } from '@portcullis/control/db/failure.ts';
import { loadMigrations, migrate } from '@portcullis/control/db/migrate.ts';
import { createLogger } from '@portcullis/control/log.ts';
import { unavailable, usageError } from './exit.ts';

export interface DatabaseOptions {
  readonly data?: string;
}

/**
 * Opens the operator's way to the system of record: DATABASE_URL, else the embedded PostgreSQL of the data
 * directory, which is started for the time of `work` when it does not run. Where there is none yet, it is only made
 * with `create`: a mistyped directory is no empty platform.
 */
export async function withDatabase<T>(
  options: DatabaseOptions,
  work: (db: Db) => Promise<T>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<T> {
  const environment = readEnvironment();
  const data = options.data ?? environment.data;
  const decided = decideConfig({ ...environment, data }, { isRoot: process.getuid?.() === 0 });
  if (!decided.ok) throw usageError(decided.reason);
  const { databaseUrl, dataDir } = decided.value;
  const running = databaseUrl ?? findEmbeddedPostgres(dataDir);
  if (running !== null) return withUrl(running, work);
  if (!create && !mayHaveEmbeddedPostgres(dataDir)) {
    throw unavailable(
      `there is no Portcullis in ${dataDir}: name its folder with --data or its database with DATABASE_URL, or make one with portcullis up`,
    );
  }
  const log = createLogger({ level: 'warn' });
  const postgres = await startEmbeddedPostgres({ dataDir, log }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw unavailable(`the database of ${dataDir} cannot be started: ${why}`, error);
  });
  try {
    return await withUrl(postgres.url, work);
  } finally {
    await postgres.stop();
  }
}

export async function withUrl<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDatabase({ url, poolSize: 2, applicationName: 'portcullis command' });
  try {
    await migrate(db, await loadMigrations());
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
