import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import { readableProgram } from '@portcullis/link/program/readable-program.ts';
import { type Db, openDatabase } from '../database.ts';
import { isUnavailable } from '../failure.ts';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { scratchRoot } from '../scratch.ts';
import { findAccount, spawnAs } from './account.ts';
import { startEmbeddedPostgres } from './index.ts';
import { clusterOf } from './data-directory.ts';
import { migrationUrl } from './roles.ts';
import { hasServerProcess, runningServer } from './server.ts';

/** Longer than any recovery of a small cluster; only failing tests wait this long. */
const TIMEOUT_MS = 30_000;

interface Owner {
  readonly process: ChildProcess;
  readonly url: string;
  readonly pid: number;
}

/** A data directory, and the processes to stop if the test fails. */
interface Field {
  readonly dataDir: string;
  readonly owners: ChildProcess[];
  readonly stopping: AbortController;
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(scratchRoot(), 'portcullis-faults-'));
  await chmod(folder, 0o711);
  return folder;
}

/** A cluster for the tests to copy, because creating one takes a second. */
let prepared = '';
before(async () => {
  prepared = await makeFolder();
  const log = pino({ level: 'silent' });
  await (await startEmbeddedPostgres({ dataDir: prepared, log, fsync: false })).stop();
});
after(() => rm(prepared, { recursive: true }));

async function openField(t: TestContext, hasCluster = true): Promise<Field> {
  const dataDir = await makeFolder();
  if (hasCluster) {
    execFileSync('cp', ['--archive', clusterOf(prepared), clusterOf(dataDir)]);
  }
  const field: Field = { dataDir, owners: [], stopping: new AbortController() };
  t.after(async () => {
    field.stopping.abort();
    for (const owner of field.owners) owner.kill('SIGKILL');
    const left = runningServer(clusterOf(dataDir));
    if (left !== null) process.kill(left.pid, 'SIGKILL');
    await until(() => !hasServerProcess(clusterOf(dataDir)), 'the server to be gone');
    await rm(dataDir, { recursive: true, force: true });
  });
  return field;
}

/** A separate process that owns the server like control does; tests can kill it. */
async function startOwner(field: Field, as: { uid?: number; gid?: number } = {}): Promise<Owner> {
  const { root, node } = readableProgram();
  const child = fork(join(root, 'control/db/embedded/owner-process.ts'), [field.dataDir], {
    ...as,
    execPath: node,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  field.owners.push(child);
  const [output] = (await once(child, 'message')) as [{ url: string; pid: number; error?: string }];
  if (output.error !== undefined) throw new Error(output.error);
  return { process: child, ...output };
}

async function kill(owner: Owner): Promise<void> {
  const exited = once(owner.process, 'exit');
  owner.process.kill('SIGKILL');
  await exited;
}

async function stop(owner: Owner): Promise<void> {
  const exited = once(owner.process, 'exit');
  owner.process.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `waited too long for ${what}`);
    await delay(10);
  }
}

/** Writes rows one by one and records the numbers of the acknowledged ones. */
function keepWriting(db: Db, field: Field): { acknowledged: number[]; stop(): Promise<void> } {
  const acknowledged: number[] = [];
  const own = new AbortController();
  const stopped = AbortSignal.any([own.signal, field.stopping.signal]);
  const running = (async () => {
    for (let n = 1; !stopped.aborted; n++) {
      try {
        await sql`insert into written (n) values (${n})`.execute(db);
        acknowledged.push(n);
      } catch (error) {
        assert.ok(isUnavailable(error), `not a mere outage: ${String(error)}`);
        await delay(5);
      }
    }
  })();
  return {
    acknowledged,
    async stop() {
      own.abort();
      await running;
    },
  };
}

async function assertAllThere(db: Db, acknowledged: readonly number[]): Promise<void> {
  const stored = await sql<{ n: number }>`select n from written`.execute(db);
  const there = new Set(stored.rows.map(({ n }) => n));
  assert.deepEqual(
    acknowledged.filter((n) => !there.has(n)),
    [],
  );
}

/** Waits for a few more acknowledged writes. */
async function moreWrites(acknowledged: readonly number[]): Promise<void> {
  const wanted = acknowledged.length + 20;
  await until(() => acknowledged.length >= wanted, 'more writes to be acknowledged');
}

test('a server killed during writes restarts with every acknowledged row', async (t) => {
  const field = await openField(t);
  const server = await startEmbeddedPostgres({
    dataDir: field.dataDir,
    log: pino({ level: 'silent' }),
  });
  const db = openDatabase({ url: migrationUrl(server.url), poolSize: 2, idleExit: true });
  await sql`create table written (n int primary key)`.execute(db);
  const writing = keepWriting(db, field);
  for (let round = 0; round < repeated(2); round++) {
    await moreWrites(writing.acknowledged);
    const pid = server.pid();
    if (pid === null) assert.fail('the server is down before it was killed');
    process.kill(pid, 'SIGKILL');
    await until(() => server.pid() !== null && server.pid() !== pid, 'the server to come back');
  }
  await moreWrites(writing.acknowledged);
  await writing.stop();
  await assertAllThere(db, writing.acknowledged);
  await db.destroy();
  await server.stop();
});

test('a server that outlives its owner is stopped by the next one, which loses no acknowledged row', async (t) => {
  const field = await openField(t);
  const first = await startOwner(field);
  const db = openDatabase({ url: migrationUrl(first.url), poolSize: 1, idleExit: true });
  await sql`create table written (n int primary key)`.execute(db);
  const writing = keepWriting(db, field);
  await kill(first);
  await moreWrites(writing.acknowledged);
  const second = await startOwner(field);
  assert.notEqual(second.pid, first.pid);
  assert.equal(second.url, first.url);
  await moreWrites(writing.acknowledged);
  await writing.stop();
  await assertAllThere(db, writing.acknowledged);
  await db.destroy();
  await stop(second);
  assert.equal(hasServerProcess(clusterOf(field.dataDir)), false);
});

test('the next start finds every acknowledged row after all processes were killed', async (t) => {
  const field = await openField(t);
  let owner = await startOwner(field);
  const db = openDatabase({ url: migrationUrl(owner.url), poolSize: 1, idleExit: true });
  await sql`create table written (n int primary key)`.execute(db);
  const writing = keepWriting(db, field);
  for (let round = 0; round < repeated(2); round++) {
    await moreWrites(writing.acknowledged);
    const dead = kill(owner);
    process.kill(owner.pid, 'SIGKILL');
    await dead;
    // The parent of the server is dead too, so it may stay a zombie, which must not count as running.
    owner = await startOwner(field);
  }
  await moreWrites(writing.acknowledged);
  await writing.stop();
  await assertAllThere(db, writing.acknowledged);
  await db.destroy();
  await stop(owner);
});

test('an unprivileged process owns a server, and stops the one of a killed process, like root', {
  skip: process.getuid?.() === 0 ? false : 'the other tests here run unprivileged already',
}, async (t) => {
  const unprivileged = findAccount('daemon');
  // Root keeps the owner of a data directory, except the shared account nobody.
  assert.ok(unprivileged !== null, 'there is no account daemon');
  const field = await openField(t, false);
  await chown(field.dataDir, unprivileged.uid, unprivileged.gid);
  const first = await startOwner(field, spawnAs(unprivileged));
  await kill(first);
  const second = await startOwner(field, spawnAs(unprivileged));
  assert.notEqual(second.pid, first.pid);
  await stop(second);
  // Started as root and continued as the account, which then owns its files.
  await stop(await startOwner(field));
  await stop(await startOwner(field, spawnAs(unprivileged)));
});
