import assert from 'node:assert/strict';
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  chmodSync,
  chownSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { ensurePartitions, forgetBefore } from '../../attacks/detection/record/partitions.ts';
import { readableProgram } from '@portcullis/link/program/readable-program.ts';
import { type Db, openDatabase } from '../database.ts';
import { loadMigrations, migrateDatabase } from '../migrate.ts';
import { scratchRoot } from '../scratch.ts';
import { type Account, findAccount, PLATFORM_ACCOUNT, spawnAs } from './account.ts';
import { startEmbeddedPostgres } from './index.ts';
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
  const { root, node } = readableProgram();
  const entry = join(root, 'node_modules', 'pg', 'lib', 'index.js');
  const run = spawnSync(node, ['-e', program, entry, url], {
    ...spawnAs(account),
    cwd: '/',
    encoding: 'utf8',
  });
  return run.stdout.trim() || run.stderr;
}

test('a data directory of another account is taken over while its server runs, also after an interruption', {
  skip: rootOnly,
}, async (t) => {
  const dataDir = folder(t);
  const cluster = join(dataDir, 'postgres');
  const previous = findAccount('nobody');
  const account = findAccount(PLATFORM_ACCOUNT);
  assert.ok(previous !== null && account !== null);
  const program = new URL('./owner-process.ts', import.meta.url);
  const owner = fork(program, [dataDir, previous.name]);
  const [before] = (await once(owner, 'message')) as [{ pid: number; url: string }];
  const control = opened(t, before.url);
  assert.equal(await refusal(opened(t, migrationUrl(before.url)), 'create table kept ()'), 'done');
  const ended = once(owner, 'exit');
  owner.kill('SIGKILL');
  // It holds the lock until it has ended.
  await ended;
  // A hard link that the previous account left to a file of another owner stays with that owner.
  writeFileSync(join(dataDir, 'root-file'), 'secret');
  linkSync(join(dataDir, 'root-file'), join(cluster, 'planted'));
  mkdirSync(join(dataDir, 'node'));
  chownSync(join(dataDir, 'node'), previous.uid, previous.gid);
  // An earlier change of the owner was interrupted here.
  chownSync(cluster, account.uid, account.gid);
  await startServer(t, dataDir);
  const names = ['postgres', 'postgres/base', 'postgres/PG_VERSION', 'postgres/base/1/PG_VERSION'];
  for (const name of [...names, 'run', 'control.lock', 'postgres.log']) {
    assert.equal(lstatSync(join(dataDir, name)).uid, account.uid, name);
  }
  assert.equal(lstatSync(join(dataDir, 'root-file')).uid, 0);
  assert.equal(lstatSync(join(dataDir, 'node')).uid, previous.uid);
  assert.equal(await refusal(control, 'select from kept'), 'done');
});
