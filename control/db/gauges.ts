import { statfs } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Registry } from 'prom-client';
import { registerScraped } from '../scraped-metric.ts';
import type { Db } from './database.ts';

/** Metrics of the database, of attacks in it, and of the disk that has the data directory. */
export function registerDatabaseGauges(registry: Registry, db: Db, dataDir: string): void {
  const one = (name: string, help: string, read: () => Promise<number | null>): void =>
    registerScraped(registry, {
      name,
      help,
      labels: [],
      read: async () => {
        const value = await read();
        return value === null ? null : [[{}, value]];
      },
    });
  const query = async (expression: string): Promise<number | null> => {
    const { rows } = await sql<{ value: number }>`select ${sql.raw(expression)} as value`.execute(
      db,
    );
    return rows[0]?.value ?? null;
  };
  one('attacks_ongoing', 'Attacks that go on now.', () =>
    query('(select count(*) from ongoing_attacks where ended_at is null)'),
  );
  one('database_bytes', 'Size of the database on its disk.', () =>
    query('pg_database_size(current_database())'),
  );
  one('database_connections', 'Connections to the database, of all replicas.', () =>
    query('(select count(*) from pg_stat_activity where datname = current_database())'),
  );
  one('disk_free_bytes', 'Free on the disk of the data directory.', async () => {
    const { bavail, bsize } = await statfs(dataDir);
    return bavail * bsize;
  });
  one('disk_size_bytes', 'Size of the disk of the data directory.', async () => {
    const { blocks, bsize } = await statfs(dataDir);
    return blocks * bsize;
  });
}
