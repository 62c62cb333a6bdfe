import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from './database.ts';
import { loadMigrations, migrate, refuse } from './migrate.ts';
import { testDatabase } from './testing.ts';

const one = { name: '0001-initial.sql', text: '', hash: 'a' };
const two = { name: '0002-more.sql', text: '', hash: 'b' };

test('rejects a database newer than the code with an explanation', () => {
  assert.equal(refuse([], [one]), null);
  assert.equal(refuse([one], [one, two]), null);
  assert.match(
    refuse([one, two], [one]) ?? '',
    /newer than this Portcullis: it has migration 0002/,
  );
});

test('rejects a database with other or changed migrations with an explanation', () => {
  assert.match(refuse([two], [one, two]) ?? '', /has migration 0002-more\.sql where this/);
  assert.match(refuse([{ ...one, hash: 'x' }, two], [one]) ?? '', /cannot be carried over/);
});

test('migrates an empty database once when several control planes start together', async (t) => {
  const { db, url } = await testDatabase(t);
  await sql`drop schema public cascade; create schema public`.execute(db);
  const others = [openDatabase({ url }), openDatabase({ url }), openDatabase({ url })];
  t.after(async () => {
    for (const other of others) await other.destroy();
  });
  await Promise.all([db, ...others].map((each) => migrate(each)));
  const applied = await sql<{ name: string }>`select name from migrations`.execute(db);
  assert.deepEqual(
    applied.rows.map((row) => row.name),
    (await loadMigrations()).map((migration) => migration.name),
  );
});

test('a failing migration rolls back itself and the ones before it', async (t) => {
  const { db } = await testDatabase(t);
  const shipped = await loadMigrations();
  const good = { name: '9998-good.sql', text: 'create table half (id int)', hash: 'g' };
  const bad = { name: '9999-bad.sql', text: 'create table worse (id nonsense)', hash: 'b' };
  await assert.rejects(migrate(db, [...shipped, good, bad]), /nonsense/);
  const found = await sql`select to_regclass('half') as half`.execute(db);
  assert.deepEqual(found.rows, [{ half: null }]);
});
