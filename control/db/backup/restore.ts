import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { DatabaseClient } from '../client.ts';
import { connectionConfig } from '../database.ts';
import type { Channel } from '../listen.ts';
import {
  loadMigrations,
  type MigrationTarget,
  migrateDatabase,
  roleToMigrate,
} from '../migrate.ts';
import { readTables } from './backup.ts';
import {
  BackupError,
  BackupReader,
  type BackupTable,
  type Ending,
  FORMAT,
  type Manifest,
} from './format.ts';

/** A control process that is notified exits, and its supervisor starts it with nothing in memory. */
export const RESTORED_CHANNEL: Channel = 'portcullis_restored';

/**
 * Added to the generation and to the ids of events. Edges may hold generations that were accepted after the backup: none of
 * those numbers may be given again, and no edge may take the restored state for one that it has.
 */
const AHEAD = 1_000_000_000;

export interface RestoreOptions extends MigrationTarget {
  readonly path: string;
  /** Also into a database that is in use, whose rows are lost. */
  readonly replace: boolean;
}

export interface RestoreResult {
  readonly madeAt: string;
  readonly generation: number;
  readonly tables: number;
  readonly rows: number;
}

/**
 * Makes the database what it was when the backup was made, in one transaction, and has every edge fetch everything anew. A
 * platform on it keeps running: its writes wait for the restore, and its control restarts afterwards.
 */
export async function restore(
  { path, url, migrationUrl, replace }: RestoreOptions,
  onTable: (done: number, total: number) => void = () => {},
): Promise<RestoreResult> {
  const gunzip = createGunzip();
  const file = createReadStream(path);
  file.on('error', (error) => gunzip.destroy(error));
  const reader = new BackupReader(readable(file.pipe(gunzip)));
  const role = roleToMigrate({ url, migrationUrl });
  const client = new DatabaseClient(connectionConfig(role, 'portcullis restore'));
  try {
    const manifest = requireManifest(await reader.json());
    const migrations = await loadMigrations();
    requireSameVersion(manifest, migrations);
    await migrateDatabase({ url, migrationUrl }, migrations);
    await client.connect();
    const tables = await readTables(client);
    await lockAll(client, tables);
    if (!replace) await requireEmpty(client);
    const before = await generationOf(client);
    await prepare(client, manifest, tables);
    const rows = await load(client, reader, manifest, onTable);
    const generation = await leaveOldNumbers(client, before);
    await setTriggers(client, tables, 'enable');
    await client.query(`notify ${RESTORED_CHANNEL}`);
    await client.query('commit');
    return { madeAt: manifest.madeAt, generation, tables: tables.length, rows };
  } finally {
    // Without a commit this rolls back.
    await client.end();
    file.destroy();
    gunzip.destroy();
  }
}

/** A broken gzip file is a damaged backup. */
async function* readable(chunks: Readable): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of chunks) yield chunk as Buffer;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'Z_BUF_ERROR') throw new BackupError('it is incomplete', { cause: error });
    if (code.startsWith('Z_'))
      throw new BackupError('it is damaged, or no backup', { cause: error });
    throw error;
  }
}

function requireManifest(value: unknown): Manifest {
  const manifest = Object(value) as Partial<Manifest>;
  if (manifest.format === FORMAT) return manifest as Manifest;
  throw new BackupError('it is no backup of Portcullis, or one of a newer version');
}

function requireSameVersion(
  { migrations: theirs }: Manifest,
  ours: readonly { readonly name: string; readonly hash: string }[],
): void {
  const same =
    theirs.length === ours.length && theirs.every(({ hash }, index) => hash === ours[index]?.hash);
  if (same) return;
  const last = theirs.at(-1)?.name ?? 'none';
  throw new BackupError(
    `it was made by another version, with the tables of ${last}: restore it with that version, and upgrade afterwards`,
  );
}

const DEADLOCK = '40P01';
const LOCK_TRIES = 10;

/** Begins the transaction, with all tables locked. Tries again if PostgreSQL ended it to resolve a deadlock. */
async function lockAll(client: pg.Client, tables: readonly BackupTable[]): Promise<void> {
  const names = tables.map(({ name }) => pg.escapeIdentifier(name)).join(', ');
  for (let left = LOCK_TRIES; ; left -= 1) {
    await client.query('begin');
    try {
      await client.query(`lock table ${names} in access exclusive mode`);
      return;
    } catch (error) {
      await client.query('rollback');
      if ((error as { code?: string }).code !== DEADLOCK || left <= 1) throw error;
    }
  }
}

async function requireEmpty(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ organisations: string; people: string }>(`
    select (select count(*) from organisations)::text as organisations, (select count(*) from people)::text as people`);
  const { organisations = '0', people = '0' } = rows[0] ?? {};
  if (organisations === '0' && people === '0') return;
  throw new BackupError(
    `the database is in use: ${organisations} organisations and ${people} people would be lost. --force replaces them`,
  );
}

async function generationOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ generation: string }>('select generation::text from fleet');
  return Number(rows[0]?.generation ?? 0);
}

async function prepare(
  client: pg.Client,
  { partitions }: Manifest,
  tables: readonly BackupTable[],
): Promise<void> {
  const names = tables.map(({ name }) => pg.escapeIdentifier(name)).join(', ');
  await client.query(`truncate ${names}`);
  // What triggers derive is in the backup, and what they announce has happened.
  await setTriggers(client, tables, 'disable');
  for (const { parent, month } of partitions) {
    await client.query(
      `select create_partition($1, ($2 || '-01 00:00:00+00')::timestamptz)
        where to_regclass($1 || '_' || replace($2, '-', '_')) is null`,
      [parent, month],
    );
  }
}

/** Returns how many rows were loaded. */
async function load(
  client: pg.Client,
  reader: BackupReader,
  manifest: Manifest,
  onTable: (done: number, total: number) => void,
): Promise<number> {
  let loaded = 0;
  for (const [done, { name, columns }] of manifest.tables.entries()) {
    onTable(done, manifest.tables.length);
    const list = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
    const into = client.query(copyFrom(`copy ${pg.escapeIdentifier(name)} (${list}) from stdin`));
    await pipeline(Readable.from(reader.rows(), { objectMode: false }), into);
    loaded += into.rowCount;
  }
  const { sequences } = (await reader.json()) as Ending;
  await reader.verify();
  for (const [name, value] of Object.entries(sequences)) {
    if (value !== null)
      await client.query('select setval($1::regclass, $2::bigint)', [name, value]);
  }
  return loaded;
}

async function setTriggers(
  client: pg.Client,
  tables: readonly BackupTable[],
  to: 'enable' | 'disable',
): Promise<void> {
  for (const { name } of tables) {
    await client.query(`alter table ${pg.escapeIdentifier(name)} ${to} trigger user`);
  }
}

/**
 * Continues at a generation and an event id that were never given, without stored changes, so that every edge fetches
 * everything; none is in service until it has confirmed that.
 */
async function leaveOldNumbers(client: pg.Client, before: number): Promise<number> {
  const generation = Math.max(before, await generationOf(client)) + AHEAD;
  await client.query('delete from generations');
  await client.query("insert into generations (generation, cause) values ($1, 'restore')", [
    generation,
  ]);
  await client.query('update fleet set generation = $1', [generation]);
  await client.query(`
    update edges set in_service = false, instance = null, mode = null, mode_reason = null, confirmed_generation = 0,
           joins_at_generation = 0, report = null`);
  await client.query("select setval('events_id_seq', nextval('events_id_seq') + $1)", [AHEAD]);
  return generation;
}
