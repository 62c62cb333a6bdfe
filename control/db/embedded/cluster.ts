import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Account, giveTo, spawnAs } from './account.ts';
import type { Binaries } from './binaries.ts';
import type { Layout } from './data-directory.ts';
import { SUPERUSER } from './roles.ts';

/** The environment of PostgreSQL's programs: empty, because PGOPTIONS and others would change them. */
export const CLEAN_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Creates the cluster if it is missing: under a temporary name, then renamed, so that a kill never leaves an incomplete
 * cluster.
 */
export function provideCluster(
  layout: Layout,
  binaries: Binaries,
  account: Account | null,
  fsync: boolean,
): void {
  removeUnfinished(layout);
  const made = readMajor(layout.cluster);
  if (made === null) {
    createCluster(layout, binaries, account, fsync);
    return;
  }
  if (made !== binaries.major) {
    throw new Error(
      `The database in ${layout.cluster} was made by PostgreSQL ${made}, and this Portcullis brings PostgreSQL ${binaries.major}, which cannot read it. Start the Portcullis that made it and dump the database, or set DATABASE_URL to a PostgreSQL ${made}. Nothing was changed.`,
    );
  }
}

function readMajor(cluster: string): number | null {
  if (!existsSync(cluster)) return null;
  const file = join(cluster, 'PG_VERSION');
  if (!existsSync(file)) {
    throw new Error(
      `${cluster} exists and is no PostgreSQL data directory. Move it away, or choose another --data.`,
    );
  }
  return Number.parseInt(readFileSync(file, 'utf8'), 10);
}

const UNFINISHED = '.making-';

function removeUnfinished(layout: Layout): void {
  const prefix = basename(layout.cluster) + UNFINISHED;
  for (const name of readdirSync(layout.dataDir)) {
    if (name.startsWith(prefix)) rmSync(join(layout.dataDir, name), { recursive: true });
  }
}

function createCluster(
  layout: Layout,
  binaries: Binaries,
  account: Account | null,
  fsync: boolean,
): void {
  const making = `${layout.cluster}${UNFINISHED}${process.pid}`;
  mkdirSync(making, { mode: 0o700 });
  giveTo(account, making);
  const run = spawnSync(
    binaries.initdb,
    [
      `--pgdata=${making}`,
      `--username=${SUPERUSER}`,
      '--encoding=UTF8',
      '--locale=C',
      // Replaced before the first start by the map of accounts to roles.
      '--auth=reject',
      '--no-instructions',
      ...(fsync ? [] : ['--no-sync']),
    ],
    { ...spawnAs(account), cwd: '/', env: CLEAN_ENVIRONMENT, encoding: 'utf8' },
  );
  if (run.status !== 0) {
    rmSync(making, { recursive: true, force: true });
    const reason = run.error?.message ?? run.stderr.trim();
    throw new Error(`PostgreSQL could not create its data directory ${layout.cluster}: ${reason}`);
  }
  renameSync(making, layout.cluster);
}
