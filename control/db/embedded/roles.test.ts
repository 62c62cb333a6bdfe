import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  linkSync,
  lstatSync,
  mkdtempSync,
  chmodSync,
  chownSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { pino } from 'pino';
import { ensurePartitions, forgetBefore } from '../../attacks/partitions.ts';
import { type Db, openDatabase } from '../database.ts';
import { loadMigrations, migrate, migrateDatabase } from '../migrate.ts';
import { scratchRoot } from '../scratch.ts';
import { type Account, findAccount, PLATFORM_ACCOUNT, spawnAs } from './account.ts';
import { provideBinaries } from './binaries.ts';
import { CLEAN_ENVIRONMENT } from './cluster.ts';
import { startEmbeddedPostgres } from './index.ts';
import { isRunning } from './process-table.ts';
import { migrationUrl } from './roles.ts';

const log = pino({ level: 'silent' });
const rootOnly = process.getuid?.() === 0 ? false : 'needs root: tries other accounts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(scratchRoot(), 'portcullis-roles-'));
  chmodSync(path, 0o711);
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function startServer(t: TestContext, dataDir: string) {
  const server = await startEmbeddedPostgres({ dataDir, log, fsync: false });
  t.after(() => server.stop());
  return server;
}

async function refusal(db: Db, statement: string): Promise<string> {
  const { sql } = await import('kysely');
  return sql
    .raw(statement)
    .execute(db)
    .then(
      () => 'done',
      (error: Error) => error.message,
    );
}

function opened(t: TestContext, url: string): Db {
  const db = openDatabase({ url, poolSize: 1 });
  t.after(() => db.destroy());
  return db;
}

test('the role of control reads and writes rows, makes and drops partitions, and does nothing else', async (t) => {
  const server = await startServer(t, folder(t));
  await migrateDatabase({ url: server.url, migrationUrl: null }, await loadMigrations());
  const control = opened(t, server.url);
  await control
    .insertInto('organisations')
    .values({ slug: 'acme', name: 'Acme', flags: [], owner: 'portal' })
    .execute();
  await control.updateTable('organisations').set({ name: 'Acme 2' }).execute();
  await ensurePartitions(control, new Date('2031-01-15T00:00:00Z'), 0);
  assert.equal((await forgetBefore(control, new Date('2031-03-01T00:00:00Z'))).dropped >= 2, true);
  await control.deleteFrom('organisations').execute();
  for (const [statement, reason] of [
    ['create table x (n int)', /permission denied for schema/],
    ['create temporary table x (n int)', /permission denied to create temporary/],
    ['alter table organisations add column x int', /must be owner/],
    ['drop table organisations', /must be owner/],
    ['create role x superuser', /permission denied/],
    ['set role portcullis', /permission denied to set role/],
    ['set role portcullis_migrate', /permission denied to set role/],
    ["copy organisations from program 'id'", /permission denied to COPY .* program/],
    ["select pg_read_file('/etc/passwd')", /permission denied for function/],
    ['select rolpassword from pg_authid', /permission denied for table/],
    ["select drop_partition('organisations', 'audit_log')", /no partition of organisations/],
    ["select drop_partition('attacks', 'organisations')", /no partition of attacks/],
    ["select create_partition('organisations', now())", /no table with partitions/],
  ] as const) {
    assert.match(await refusal(control, statement), reason, statement);
  }
  // The next start, and every command, migrates nothing with this role.
  await migrateDatabase({ url: server.url, migrationUrl: null }, await loadMigrations());
});

test('only root and the account of control connect, and the account cannot become the superuser', {
  skip: rootOnly,
}, async (t) => {
  const dataDir = folder(t);
  const server = await startServer(t, dataDir);
  const account = findAccount(PLATFORM_ACCOUNT);
  const stranger = findAccount('daemon');
  assert.ok(account !== null && stranger !== null);
  assert.deepEqual(lstatSync(join(dataDir, 'postgres')).uid, account.uid);
  assert.equal(connectAs(account, server.url), 'portcullis_control');
  for (const url of [migrationUrl(server.url), server.superuserUrl]) {
    assert.match(connectAs(account, url), /peer authentication failed/i, url);
  }
  assert.match(connectAs(stranger, server.url), /EACCES/);
  // The map decides also if the permissions of the socket did not.
  const socketDir = new URL(server.url).searchParams.get('host') ?? '';
  chmodSync(socketDir, 0o711);
  chmodSync(join(socketDir, '.s.PGSQL.5432'), 0o777);
  for (const url of [server.url, migrationUrl(server.url), server.superuserUrl]) {
    assert.match(connectAs(stranger, url), /peer authentication failed/i, url);
  }
});

/** The role that a process of the account gets, or why it gets none. */
function connectAs(account: Account, url: string): string {
  const program = `
    const pg = require(process.argv[1]);
    const client = new pg.Client({ connectionString: process.argv[2] });
    client.connect().then(() => client.query('select current_user as name'))
      .then(({ rows }) => console.log(rows[0].name), (error) => console.log(error.message))
      .finally(() => client.end());`;
  const entry = new URL('../../../node_modules/pg/lib/index.js', import.meta.url).pathname;
  const run = spawnSync(process.execPath, ['-e', program, entry, url], {
    ...spawnAs(account),
    cwd: '/',
    encoding: 'utf8',
  });
  return run.stdout.trim() || run.stderr;
}

test('a data directory of an earlier version, run by nobody with a superuser, is taken over while it runs', {
  skip: rootOnly,
}, async (t) => {
  const dataDir = folder(t);
  const before = await earlierVersion(t, dataDir);
  const server = await startServer(t, dataDir);
  assert.equal(isRunning(before.pid), false);
  assert.equal(server.adopted, false);
  const account = findAccount(PLATFORM_ACCOUNT);
  for (const name of ['postgres', 'postgres/base', 'postgres/PG_VERSION', 'run', 'link']) {
    assert.equal(lstatSync(join(dataDir, name)).uid, account?.uid, name);
  }
  // A hard link that the previous account left to a file of another owner stays with that owner.
  assert.equal(lstatSync(join(dataDir, 'root-file')).uid, 0);
  assert.equal(lstatSync(join(dataDir, 'node')).uid, before.account.uid);
  await migrateDatabase({ url: server.url, migrationUrl: null }, await loadMigrations());
  const control = opened(t, server.url);
  const kept = await control.selectFrom('organisations').select('slug').execute();
  assert.deepEqual(kept, [{ slug: 'kept' }]);
  assert.match(await refusal(control, 'drop table organisations'), /must be owner/);
  assert.equal(
    await refusal(opened(t, migrationUrl(server.url)), 'create type x as enum ()'),
    'done',
  );
  const { sql } = await import('kysely');
  const { rows } = await sql`
    select c.relname from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relowner <> 'portcullis_migrate'::regrole
       and c.relkind in ('r', 'p', 'S', 'v')`.execute(control);
  assert.deepEqual(rows, []);
});

/** A running server as earlier versions made it: of nobody, with one role, trusting its socket. */
async function earlierVersion(t: TestContext, dataDir: string) {
  const account = findAccount('nobody');
  assert.ok(account !== null);
  const binaries = provideBinaries(dataDir, account);
  const cluster = join(dataDir, 'postgres');
  const socketDir = join(dataDir, 'run');
  const as = { ...spawnAs(account), cwd: '/', env: CLEAN_ENVIRONMENT };
  for (const name of ['postgres', 'run', 'link', 'node']) {
    spawnSync('install', ['-d', '-o', 'nobody', '-m', '0700', join(dataDir, name)]);
  }
  const made = spawnSync(
    binaries.initdb,
    [
      `--pgdata=${cluster}`,
      '--username=portcullis',
      '--encoding=UTF8',
      '--locale=C',
      '--auth=trust',
      '--no-sync',
    ],
    { ...as, encoding: 'utf8' },
  );
  assert.equal(made.status, 0, made.stderr);
  writeFileSync(join(dataDir, 'root-file'), 'secret');
  linkSync(join(dataDir, 'root-file'), join(cluster, 'planted'));
  chownSync(join(dataDir, 'run'), account.uid, account.gid);
  const args = [
    '-D',
    cluster,
    '-c',
    'listen_addresses=',
    '-c',
    `unix_socket_directories=${socketDir}`,
  ];
  const { spawn } = await import('node:child_process');
  const child = spawn(binaries.postgres, args, { ...as, stdio: 'ignore', detached: true });
  t.after(() => child.kill('SIGKILL'));
  const url = (name: string) =>
    `postgresql:///${name}?host=${encodeURIComponent(socketDir)}&user=portcullis`;
  await connected(url('postgres'), (client) => client.query('create database portcullis'));
  const db = openDatabase({ url: url('portcullis'), poolSize: 1 });
  await migrate(db, (await loadMigrations()).slice(0, 10));
  await db
    .insertInto('organisations')
    .values({ slug: 'kept', name: 'Kept', flags: [], owner: 'portal' })
    .execute();
  await db.destroy();
  const pid = Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  return { pid, account };
}

/** Tries until the server accepts connections. */
async function connected(
  url: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await work(client);
      return;
    } catch (error) {
      const { code } = error as { code?: string };
      if (!['ENOENT', 'ECONNREFUSED', '57P03'].includes(code ?? '')) throw error;
    } finally {
      await client.end();
    }
  }
}
