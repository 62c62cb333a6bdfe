import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { sql } from 'kysely';
import pg from 'pg';
import { DatabaseClient } from './client.ts';
import { connectionConfig, openDatabase, type Reader } from './database.ts';
import { codeOf, constraintOf, isUnavailable } from './failure.ts';
import { statementName } from './statement.ts';
import { testDatabase } from './testing.ts';
import { Deadline, runTransaction } from '../http/operations/transaction.ts';

test('returns values in the types of the schema', async (t) => {
  const { db } = await testDatabase(t);
  const { rows } = await sql`
    select 9007199254740991::bigint as big, array[1, 2]::bigint[] as bigs, '{}'::bigint[] as none,
           '2026-01-02T03:04:05.678+02:00'::timestamptz as moment,
           'infinity'::timestamptz as "always", '-infinity'::timestamptz as "never",
           '203.0.113.0/24'::cidr as network, '203.0.113.1'::inet as host, '2001:db8::1'::inet as host6,
           array['10.0.0.0/8', '2001:db8::/32']::cidr[] as networks,
           array['6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11']::uuid[] as uuids,
           '{"a": [1]}'::jsonb as document, null::bigint as nothing`.execute(db);
  assert.deepEqual(rows, [
    {
      big: 9007199254740991,
      bigs: [1, 2],
      none: [],
      moment: new Date('2026-01-02T01:04:05.678Z'),
      always: new Date(8.64e15),
      never: new Date(-8.64e15),
      network: '203.0.113.0/24',
      host: '203.0.113.1',
      host6: '2001:db8::1',
      networks: ['10.0.0.0/8', '2001:db8::/32'],
      uuids: ['6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11'],
      document: { a: [1] },
      nothing: null,
    },
  ]);
});

test('throws for a bigint beyond the safe integers', async (t) => {
  const { db } = await testDatabase(t);
  await assert.rejects(sql`select 9007199254740993::bigint`.execute(db), RangeError);
});

test('prepares equal statements once per connection, and scripts never', async (t) => {
  const { url } = await testDatabase(t);
  const db = openDatabase({ url, poolSize: 1 });
  t.after(() => db.destroy());
  for (const generation of [1, 2, 3]) {
    await db.selectFrom('generations').selectAll().where('generation', '=', generation).execute();
  }
  const prepared = await sql<{ count: number }>`
    select count(*) from pg_prepared_statements where statement like 'select * from "generations"%'`.execute(
    db,
  );
  assert.deepEqual(prepared.rows, [{ count: 1 }]);
  assert.equal(statementName('select 1; drop table rules'), null);
  assert.equal(statementName('begin'), null);
  assert.equal(statementName('create table x ()'), null);
});

test('a table that a newer replica migrates fails no statement, and no transaction that is repeated', async (t) => {
  const { url } = await testDatabase(t);
  const db = openDatabase({ url, poolSize: 3 });
  t.after(() => db.destroy());
  await sql`create table widened (id int); insert into widened values (1)`.execute(db);
  const read = (on: Reader) => sql`select * from widened`.execute(on).then(({ rows }) => rows);
  // On every connection of the pool, whose transactions begin before the first of them ends.
  const onEach = async (): Promise<unknown[]> => {
    const begun = Promise.withResolvers<undefined>();
    let waiting = 0;
    const one = () =>
      runTransaction(db, new Deadline(30_000), async (tx) => {
        waiting += 1;
        if (waiting === 3) begun.resolve(undefined);
        await begun.promise;
        return read(tx);
      });
    return Promise.all([one(), one(), one()]);
  };
  assert.deepEqual(await onEach(), [[{ id: 1 }], [{ id: 1 }], [{ id: 1 }]]);
  await sql`alter table widened add column name text default 'a'`.execute(db);
  const wide = [{ id: 1, name: 'a' }];
  assert.deepEqual(await Promise.all([read(db), read(db), read(db)]), [wide, wide, wide]);
  await sql`alter table widened drop column name`.execute(db);
  assert.deepEqual(await onEach(), [[{ id: 1 }], [{ id: 1 }], [{ id: 1 }]]);
});

test('a rejected write names its constraint and is no outage', async (t) => {
  const { db } = await testDatabase(t);
  const twice = { generation: 1, cause: 'a test' };
  await db.insertInto('generations').values(twice).execute();
  await assert.rejects(db.insertInto('generations').values(twice).execute(), (error) => {
    assert.equal(constraintOf(error), 'generations_pkey');
    assert.equal(codeOf(error), '23505');
    return !isUnavailable(error);
  });
});

test('a connection terminated inside a transaction is an outage, and the next query just works', async (t) => {
  const { db, url } = await testDatabase(t);
  const victim = openDatabase({ url, poolSize: 1 });
  t.after(() => victim.destroy());
  const broken = victim.transaction().execute(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
    await sql`select pg_terminate_backend(${rows[0]?.pid}, 5000)`.execute(db);
    await sql`select 1`.execute(tx);
  });
  await assert.rejects(broken, isUnavailable);
  assert.deepEqual((await sql`select 1 as n`.execute(victim)).rows, [{ n: 1 }]);
});

test('a client of its own that is terminated between two queries ends no process: the next query rejects', async (t) => {
  const { db, url } = await testDatabase(t);
  const client = new DatabaseClient(url);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const broken = once(client, 'error');
  await sql`select pg_terminate_backend(${rows[0]?.pid}, 5000)`.execute(db);
  await broken;
  await assert.rejects(client.query('select 1'), isUnavailable);
  await client.end();
});

test('treats an unreachable server as an outage', async () => {
  for (const url of [
    'postgresql:///x?host=%2Fnonexistent&user=x',
    'postgresql://x@127.0.0.1:1/x',
  ]) {
    const db = openDatabase({ url });
    await assert.rejects(sql`select 1`.execute(db), isUnavailable);
    await db.destroy();
  }
});

test('recognises an outage behind wrapping errors, and nothing else', () => {
  const stopped = Object.assign(new Error('terminating connection'), { code: '57P01' });
  assert.ok(isUnavailable(new Error('no policies', { cause: new Error('x', { cause: stopped }) })));
  assert.ok(isUnavailable(new AggregateError([stopped])));
  assert.ok(isUnavailable(Object.assign(new Error(), { code: '08006' })));
  assert.ok(!isUnavailable(Object.assign(new Error('no such file'), { code: 'ENOENT' })));
  assert.ok(!isUnavailable(Object.assign(new Error(), { code: '23505' })));
  assert.ok(!isUnavailable('57P01'));
  const own = new Error('its own cause');
  own.cause = own;
  assert.ok(!isUnavailable(own));
});

test('compiles no query, which would take longer than to run it', async (t) => {
  const { db, url } = await testDatabase(t);
  const inPool = await sql<{ jit: string }>`show jit`.execute(db);
  assert.deepEqual(inPool.rows, [{ jit: 'off' }]);
  const client = new pg.Client(connectionConfig(url, 'portcullis test'));
  await client.connect();
  t.after(() => client.end());
  assert.deepEqual((await client.query('show jit')).rows, [{ jit: 'off' }]);
});
