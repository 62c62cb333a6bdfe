import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { pino } from 'pino';
import { openDatabase } from '../database.ts';
import { scratchRoot } from '../scratch.ts';
import { findAccount, spawnAs } from './account.ts';
import { provideBinaries } from './binaries.ts';
import {
  type EmbeddedOptions,
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from './index.ts';
import { clusterOf } from './data-directory.ts';
import { migrationUrl } from './roles.ts';
import { hasServerProcess } from './server.ts';

const log = pino({ level: 'silent' });
const weAreRoot = process.getuid?.() === 0;
const rootOnly = weAreRoot ? false : 'needs root: runs the server as another account';

interface Folder {
  readonly path: string;
  /** Starts a server, which is stopped before the folder is removed. */
  start(options?: Partial<EmbeddedOptions>): Promise<EmbeddedPostgres>;
}

async function openFolder(t: TestContext): Promise<Folder> {
  const path = await mkdtemp(join(scratchRoot(), 'portcullis-embedded-'));
  await chmod(path, 0o711);
  const started: EmbeddedPostgres[] = [];
  t.after(async () => {
    for (const server of started) await server.stop();
    await rm(path, { recursive: true, force: true });
  });
  return {
    path,
    async start(options) {
      const server = await startEmbeddedPostgres({ dataDir: path, log, ...options });
      started.push(server);
      return server;
    },
  };
}

async function ask(url: string, statement: string): Promise<unknown[]> {
  const db = openDatabase({ url, poolSize: 1 });
  try {
    return (await sql.raw(statement).execute(db)).rows;
  } finally {
    await db.destroy();
  }
}

test('listens on no network, keeps data private, rejects a second control process, and reopens its data', async (t) => {
  const folder = await openFolder(t);
  const dataDir = folder.path;
  const first = await folder.start();
  assert.deepEqual(
    await ask(
      first.url,
      `select current_setting('listen_addresses') as listen, current_setting('fsync') as fsync,
              current_setting('server_encoding') as encoding, version() like 'PostgreSQL 18.%' as is18`,
    ),
    [{ listen: '', fsync: 'on', encoding: 'UTF8', is18: true }],
  );
  await ask(migrationUrl(first.url), 'create table kept as select 7 as n');
  const mode = async (name: string) => (await stat(join(dataDir, name))).mode & 0o777;
  assert.equal(await mode('postgres'), 0o700);
  assert.equal(await mode('run'), 0o700);
  assert.equal(findEmbeddedPostgres(dataDir), first.url);
  await assert.rejects(
    folder.start(),
    new RegExp(`in use by another control process \\(pid ${process.pid}\\)`),
  );
  await first.stop();
  assert.equal(hasServerProcess(clusterOf(dataDir)), false);
  assert.equal(findEmbeddedPostgres(dataDir), null);

  const second = await folder.start();
  assert.deepEqual(await ask(second.url, 'select n from kept'), [{ n: 7 }]);
});

test('allows the connections of control and 50 more', async (t) => {
  const folder = await openFolder(t);
  const server = await folder.start({ pool: 25 });
  assert.deepEqual(await ask(server.url, "select current_setting('max_connections') as n"), [
    { n: '75' },
  ]);
});

test('rejects data of another PostgreSQL version with an explanation and leaves it unchanged', async (t) => {
  const folder = await openFolder(t);
  const dataDir = folder.path;
  await mkdir(join(dataDir, 'postgres'), { mode: 0o755 });
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n');
  await assert.rejects(folder.start(), /PostgreSQL 17.*brings PostgreSQL 18/);
  // The lock is free again: the error is the same, not "in use".
  await assert.rejects(folder.start(), /PostgreSQL 17/);
});

test('does not write into a folder named postgres that is no cluster', async (t) => {
  const folder = await openFolder(t);
  const dataDir = folder.path;
  await mkdir(join(dataDir, 'postgres'));
  await assert.rejects(folder.start(), /is no PostgreSQL data directory/);
});

test('creates a cluster again after an interrupted creation', async (t) => {
  const folder = await openFolder(t);
  const dataDir = folder.path;
  await mkdir(join(dataDir, 'postgres.making-1'));
  await writeFile(join(dataDir, 'postgres.making-1', 'PG_VERSION'), '18\n');
  const server = await folder.start({ dataDir, fsync: false });
  assert.deepEqual(await ask(server.url, 'select 1 as n'), [{ n: 1 }]);
  await assert.rejects(lstat(join(dataDir, 'postgres.making-1')), { code: 'ENOENT' });
});

test('takes a folder of any name', async (t) => {
  const folder = await openFolder(t);
  for (const name of ['ein "Haus", 1', String.raw`back\slash`, "it's $HOME % #"]) {
    const server = await folder.start({ dataDir: join(folder.path, name), fsync: false });
    assert.deepEqual(await ask(server.url, 'select 1 as n'), [{ n: 1 }]);
    assert.equal(findEmbeddedPostgres(join(folder.path, name)), server.url);
  }
});

test('uses another socket directory if the data path is too long for a socket', async (t) => {
  const folder = await openFolder(t);
  const dataDir = join(folder.path, 'd'.repeat(100));
  const server = await folder.start({ dataDir, fsync: false });
  const socketDir = new URL(server.url).searchParams.get('host') ?? '';
  assert.ok(!socketDir.startsWith(dataDir));
  assert.equal((await stat(socketDir)).mode & 0o777, 0o700);
  assert.equal(findEmbeddedPostgres(dataDir), server.url);
  assert.deepEqual(await ask(server.url, 'select 1 as n'), [{ n: 1 }]);
});

test('rejects a data directory that the account cannot reach and names the blocking folder', {
  skip: rootOnly,
}, async (t) => {
  const folder = await openFolder(t);
  const outer = folder.path;
  await chmod(outer, 0o700);
  await assert.rejects(
    folder.start({ dataDir: join(outer, 'data'), account: 'nobody' }),
    new RegExp(`runs as nobody, which may not enter ${outer},`),
  );
});

test('rejects root and unknown accounts with an explanation', { skip: rootOnly }, async (t) => {
  const folder = await openFolder(t);
  const start = (account: string) => folder.start({ account });
  await assert.rejects(start('root'), /does not run as root/);
  await assert.rejects(start('no-such-account'), /no account "no-such-account"/);
});

test('copies programs that the account cannot reach and links their libraries', {
  skip: rootOnly,
}, async (t) => {
  const folder = await openFolder(t);
  const dataDir = folder.path;
  const account = findAccount('nobody');
  const native = join(dataDir, 'hidden', 'native');
  await mkdir(join(dataDir, 'hidden'), { mode: 0o700 });
  await cp(provideBinaries(dataDir, null).root, native, {
    recursive: true,
    // As unpacked by npm without install scripts.
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
