import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { pino } from 'pino';
import { openDatabase } from '../database.ts';
import { findAccount, spawnAs } from './account.ts';
import { provideBinaries } from './binaries.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from './index.ts';
import { isRunning } from './process-table.ts';

const log = pino({ level: 'silent' });
const weAreRoot = process.getuid?.() === 0;
const rootOnly = weAreRoot ? false : 'needs root: runs the server as another account';

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'portcullis-embedded-'));
  await chmod(made, 0o711);
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function ask(url: string, statement: string): Promise<unknown[]> {
  const db = openDatabase({ url, poolSize: 1 });
  return sql
    .raw(statement)
    .execute(db)
    .then(({ rows }) => rows)
    .finally(() => db.destroy());
}

test('a server listens on no network, keeps its data private, and finds it again', async (t) => {
  const dataDir = await folder(t);
  const first = await startEmbeddedPostgres({ dataDir, log });
  assert.deepEqual(
    await ask(
      first.url,
      `select current_setting('listen_addresses') as listen, current_setting('fsync') as fsync,
              current_setting('server_encoding') as encoding, version() like 'PostgreSQL 18.%' as is18`,
    ),
    [{ listen: '', fsync: 'on', encoding: 'UTF8', is18: true }],
  );
  await ask(first.url, 'create table kept as select 7 as n');
  const mode = async (name: string) => (await stat(join(dataDir, name))).mode & 0o777;
  assert.equal(await mode('postgres'), 0o700);
  assert.equal(await mode('run'), 0o700);
  assert.equal(findEmbeddedPostgres(dataDir), first.url);
  const pid = first.pid() ?? 0;
  await first.stop();
  assert.equal(isRunning(pid), false);
  assert.equal(findEmbeddedPostgres(dataDir), null);

  const second = await startEmbeddedPostgres({ dataDir, log });
  t.after(() => second.stop());
  assert.equal(second.adopted, false);
  assert.deepEqual(await ask(second.url, 'select n from kept'), [{ n: 7 }]);
});

test('a second control process on one data directory is refused in words', async (t) => {
  const dataDir = await folder(t);
  const owner = await startEmbeddedPostgres({ dataDir, log, fsync: false });
  t.after(() => owner.stop());
  await assert.rejects(
    startEmbeddedPostgres({ dataDir, log }),
    new RegExp(`in use by another control process \\(pid ${process.pid}\\)`),
  );
  assert.deepEqual(await ask(owner.url, 'select 1 as alive'), [{ alive: 1 }]);
});

test('data of another PostgreSQL version is refused in words and left alone', async (t) => {
  const dataDir = await folder(t);
  await mkdir(join(dataDir, 'postgres'), { mode: 0o755 });
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n');
  await assert.rejects(
    startEmbeddedPostgres({ dataDir, log }),
    /PostgreSQL 17.*brings PostgreSQL 18/,
  );
  // The lock is free again: the refusal is the same, not "in use".
  await assert.rejects(startEmbeddedPostgres({ dataDir, log }), /PostgreSQL 17/);
});

test('a folder named postgres that is no cluster is not written into', async (t) => {
  const dataDir = await folder(t);
  await mkdir(join(dataDir, 'postgres'));
  await assert.rejects(startEmbeddedPostgres({ dataDir, log }), /is no PostgreSQL data directory/);
});

test('a cluster whose making was interrupted is made anew', async (t) => {
  const dataDir = await folder(t);
  await mkdir(join(dataDir, 'postgres.making-1'));
  await writeFile(join(dataDir, 'postgres.making-1', 'PG_VERSION'), '18\n');
  const server = await startEmbeddedPostgres({ dataDir, log, fsync: false });
  t.after(() => server.stop());
  assert.deepEqual(await ask(server.url, 'select 1 as n'), [{ n: 1 }]);
  await assert.rejects(lstat(join(dataDir, 'postgres.making-1')), { code: 'ENOENT' });
});

test('a data path longer than a socket may have gets its socket elsewhere, and is found again', async (t) => {
  const dataDir = join(await folder(t), 'd'.repeat(100));
  const server = await startEmbeddedPostgres({ dataDir, log, fsync: false });
  const socketDir = new URL(server.url).searchParams.get('host') ?? '';
  t.after(() => rm(socketDir, { recursive: true, force: true }));
  t.after(() => server.stop());
  assert.ok(!socketDir.startsWith(dataDir));
  assert.equal((await stat(socketDir)).mode & 0o777, 0o700);
  assert.equal(findEmbeddedPostgres(dataDir), server.url);
  assert.deepEqual(await ask(server.url, 'select 1 as n'), [{ n: 1 }]);
});

test("a data directory out of the account's reach is refused naming the folder in the way", {
  skip: rootOnly,
}, async (t) => {
  const outer = await folder(t);
  await chmod(outer, 0o700);
  await assert.rejects(
    startEmbeddedPostgres({ dataDir: join(outer, 'data'), log, account: 'nobody' }),
    new RegExp(`runs as nobody, which may not enter ${outer},`),
  );
});

test('root and unknown accounts are refused in words', { skip: rootOnly }, async (t) => {
  const dataDir = await folder(t);
  const start = (account: string) => startEmbeddedPostgres({ dataDir, log, account });
  await assert.rejects(start('root'), /does not run as root/);
  await assert.rejects(start('no-such-account'), /no account "no-such-account"/);
});

test('programs that the account cannot reach are brought to it, libraries linked', {
  skip: rootOnly,
}, async (t) => {
  const dataDir = await folder(t);
  const account = findAccount('nobody');
  const native = join(dataDir, 'hidden', 'native');
  await mkdir(join(dataDir, 'hidden'), { mode: 0o700 });
  await cp(provideBinaries(dataDir, null).root, native, {
    recursive: true,
    // As npm unpacks it when it runs no install script.
    filter: async (source) => !(await lstat(source)).isSymbolicLink(),
  });
  const brought = provideBinaries(dataDir, account, { native, version: '18.4.0-test' });
  assert.equal(brought.root, join(dataDir, 'postgres-bin-18.4.0-test'));
  const ran = spawnSync(brought.postgres, ['--version'], {
    ...spawnAs(account),
    cwd: '/',
    encoding: 'utf8',
  });
  assert.match(ran.stdout, /^postgres \(PostgreSQL\) 18\./);
});
