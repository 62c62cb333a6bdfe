import { createHash } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { DatabaseClient } from '../client.ts';
import { connectionConfig } from '../database.ts';
import {
  BackupError,
  type BackupTable,
  END_OF_TABLE,
  type Ending,
  FORMAT,
  type Manifest,
} from './format.ts';

export interface BackupResult {
  readonly generation: number;
  readonly tables: number;
  readonly rows: number;
}

/**
 * Writes all rows of the database as of one moment to a new file, which only its owner may read. The platform keeps running.
 * Another name is used until the file is complete and on disk.
 */
export async function backUp(
  { url, path }: { readonly url: string; readonly path: string },
  onTable: (done: number, total: number) => void = () => {},
): Promise<BackupResult> {
  const partial = `${path}.incomplete`;
  const client = new DatabaseClient(connectionConfig(url, 'portcullis backup'));
  await client.connect();
  try {
    // What a killed one left.
    await rm(partial, { force: true });
    const file = await open(partial, 'wx', 0o600);
    const dump = new Dump(client, onTable);
    await pipeline(dump.chunks(), createGzip(), file.createWriteStream({ flush: true }));
    await rename(partial, path);
    const folder = await open(dirname(path));
    await folder.sync();
    await folder.close();
    return dump.result;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    await client.end();
  }
}

class Dump {
  result: BackupResult = { generation: 0, tables: 0, rows: 0 };
  readonly #client: pg.Client;
  readonly #onTable: (done: number, total: number) => void;

  constructor(client: pg.Client, onTable: (done: number, total: number) => void) {
    this.#client = client;
    this.#onTable = onTable;
  }

  /** The whole file, before it is packed. */
  async *chunks(): AsyncGenerator<Buffer, void> {
    const hash = createHash('sha256');
    for await (const chunk of this.#content()) {
      hash.update(chunk);
      yield chunk;
    }
    yield Buffer.from(`${hash.digest('hex')}\n`);
  }

  async *#content(): AsyncGenerator<Buffer, void> {
    await this.#client.query('begin isolation level repeatable read read only');
    const manifest = await readManifest(this.#client);
    yield lineOf(manifest);
    const { tables, generation } = manifest;
    let rows = 0;
    for (const [done, table] of tables.entries()) {
      this.#onTable(done, tables.length);
      const stream = this.#client.query(copyTo(`copy (${selectOf(table)}) to stdout`));
      for await (const chunk of stream) yield chunk as Buffer;
      rows += stream.rowCount;
      yield END_OF_TABLE;
    }
    // Read last: a sequence belongs to no moment, and must not be behind a row.
    yield lineOf({ sequences: await readSequences(this.#client) });
    this.result = { generation, tables: tables.length, rows };
  }
}

function lineOf(value: Manifest | Ending): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

function selectOf({ name, columns }: BackupTable): string {
  return `select ${columns.map((column) => pg.escapeIdentifier(column)).join(', ')} from ${pg.escapeIdentifier(name)}`;
}

async function readManifest(client: pg.Client): Promise<Manifest> {
  const { rows: found } = await client.query<{ made: boolean }>(
    "select to_regclass('migrations') is not null as made",
  );
  if (found[0]?.made !== true) throw new BackupError('the database is empty');
  const { rows: migrations } = await client.query<{ name: string; hash: string }>(
    'select name, hash from migrations order by name',
  );
  const { rows: fleet } = await client.query<{ generation: string }>(
    'select generation::text from fleet',
  );
  const { rows: partitions } = await client.query<{ parent: string; month: string }>(`
    select inhparent::regclass::text as parent, replace(right(inhrelid::regclass::text, 7), '_', '-') as month
      from pg_inherits i join pg_class c on c.oid = i.inhparent where c.relkind = 'p' order by 1, 2`);
  return {
    format: FORMAT,
    madeAt: new Date().toISOString(),
    generation: Number(fleet[0]?.generation ?? 0),
    migrations,
    tables: await readTables(client),
    partitions,
  };
}

/** Every table but that of migrations, each after those that it refers to. */
export async function readTables(client: pg.ClientBase): Promise<BackupTable[]> {
  const { rows: tables } = await client.query<BackupTable>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and c.relname <> 'migrations'
     group by c.relname order by c.relname`);
  const { rows: references } = await client.query<{ from: string; to: string }>(`
    select f.relname as "from", t.relname as "to"
      from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
     where k.contype = 'f' and k.conrelid <> k.confrelid`);
  const ordered: BackupTable[] = [];
  const known = new Set<string>();
  const add = (table: BackupTable): void => {
    if (known.has(table.name)) return;
    known.add(table.name);
    const needed = new Set(
      references.filter(({ from }) => from === table.name).map(({ to }) => to),
    );
    for (const other of tables) if (needed.has(other.name)) add(other);
    ordered.push(table);
  };
  for (const table of tables) add(table);
  return ordered;
}

async function readSequences(client: pg.Client): Promise<Record<string, string | null>> {
  const { rows } = await client.query<{ name: string; value: string | null }>(`
    select sequencename as name, last_value::text as value from pg_sequences
     where schemaname = 'public' order by sequencename`);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}
