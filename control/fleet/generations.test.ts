import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { type Listener, listen } from '../db/listen.ts';
import { testDatabase } from '../db/testing.ts';
import { currentGeneration, takeGeneration } from './generations.ts';

test('gives 50 parallel writes increasing generations in the order of their commits', async (t) => {
  const { db } = await testDatabase(t);
  const seen: number[] = [];
  await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      db.transaction().execute(async (tx) => {
        const generation = await takeGeneration(tx, {
          cause: `write ${n}`,
          targets: ['192.0.2.1'],
        });
        // Still under the lock: the next writer cannot have a number yet.
        seen.push(generation);
      }),
    ),
  );
  assert.deepEqual(
    seen,
    Array.from({ length: 50 }, (_, n) => n + 1),
  );
  assert.equal(await currentGeneration(db), 50);
  const { rows } = await sql<{ n: number }>`select count(*) as n from changes`.execute(db);
  assert.equal(rows[0]?.n, 50);
});

test('stores the cause and each target once, addresses as networks of full length', async (t) => {
  const { db } = await testDatabase(t);
  const targets = ['192.0.2.1', '192.0.2.1', '198.51.100.0/24', '2001:db8::1'];
  const generation = await db
    .transaction()
    .execute((tx) => takeGeneration(tx, { cause: 'rule.create', targets }));
  const { rows } = await sql<{ cause: string; target: string }>`
    select g.cause, c.target from generations g join changes c using (generation)
     where generation = ${generation} order by c.target`.execute(db);
  assert.deepEqual(
    rows.map((row) => [row.cause, row.target]),
    [
      ['rule.create', '192.0.2.1/32'],
      ['rule.create', '198.51.100.0/24'],
      ['rule.create', '2001:db8::1/128'],
    ],
  );
});

test('concerns every edge without targets, with many, and where it says so', async (t) => {
  const { db } = await testDatabase(t);
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
  const isEverywhere = async (targets: readonly string[], everywhere?: boolean) => {
    const generation = await db
      .transaction()
      .execute((tx) =>
        takeGeneration(tx, { cause: 'test', targets, ...(everywhere && { everywhere }) }),
      );
    const { rows } = await sql<{ everywhere: boolean }>`
      select everywhere from generations where generation = ${generation}`.execute(db);
    return rows[0]?.everywhere;
  };
  assert.equal(await isEverywhere(many(1)), false);
  assert.equal(await isEverywhere(many(256)), false);
  assert.equal(await isEverywhere(many(257)), true);
  assert.equal(await isEverywhere([]), true);
  assert.equal(await isEverywhere(many(1), true), true);
  // As a version does that does not know of it.
  await sql`insert into generations (generation, cause) values (99, 'older')`.execute(db);
  const { rows } = await sql`select from generations where everywhere`.execute(db);
  assert.equal(rows.length, 4);
});

test('takes a generation without targets', async (t) => {
  const { db } = await testDatabase(t);
  const take = () =>
    db.transaction().execute((tx) => takeGeneration(tx, { cause: 'edge', targets: [] }));
  assert.equal(await take(), 1);
  assert.equal(await take(), 2);
});

test('a rollback takes no generation and sends no notification', async (t) => {
  const { db, url } = await testDatabase(t);
  const received: (string | null)[] = [];
  const { promise: both, resolve } = Promise.withResolvers<void>();
  const listener: Listener = listen(url, ['portcullis_generation'], (_, payload) => {
    received.push(payload);
    if (payload === null) void takeTwo();
    if (payload === '1') resolve();
  });
  t.after(() => listener.stop());
  async function takeTwo(): Promise<void> {
    const targets = ['192.0.2.1'];
    await assert.rejects(
      db.transaction().execute(async (tx) => {
        assert.equal(await takeGeneration(tx, { cause: 'undone', targets }), 1);
        throw new Error('undone');
      }),
      /undone/,
    );
    await db.transaction().execute((tx) => takeGeneration(tx, { cause: 'done', targets }));
  }
  await both;
  await listener.stop();
  assert.deepEqual(received, [null, '1']);
  const { rows } = await sql<{ cause: string }>`select cause from generations`.execute(db);
  assert.deepEqual(rows, [{ cause: 'done' }]);
});
