import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import {
  acceptRule,
  insertEdge,
  insertHolding,
  insertOrganisation,
  liveGeneration,
} from '../testing.ts';
import { expireLeases } from './store.ts';

const IP = '203.0.113.10';
const LEASE_MS = 60_000;

test('a confirmation writes the row of its edge once, with when it was seen', async (t) => {
  const { db } = await testDatabase(t);
  const holding = await insertHolding(db, await insertOrganisation(db, 'org'), '203.0.113.0/24');
  for (const edge of ['a', 'b']) await insertEdge(db, edge);
  await acceptRule(db, holding, IP);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  await a.hello();
  await a.sync();
  await a.confirm();
  const observer = new TestEdge(link, 'b', 'b1');
  await observer.hello('observe');
  await observer.sync();
  await acceptRule(db, holding, IP, { port: 1 });
  await a.sync();
  await sql`update edges set last_seen_at = now() - interval '2 minutes'`.execute(db);
  await sql`create table written (name text)`.execute(db);
  await sql`
    create function note_written() returns trigger language plpgsql as
    'begin insert into written values (new.name); return null; end'`.execute(db);
  await sql`
    create trigger written after update on edges for each row execute function note_written()`.execute(
    db,
  );
  assert.deepEqual(await a.confirm(), { kind: 'done' });
  await observer.confirm();
  const { rows: written } = await sql<{ name: string }>`select name from written`.execute(db);
  assert.deepEqual(written, [{ name: 'a' }, { name: 'b' }]);
  assert.deepEqual(await expireLeases(db, LEASE_MS), [], 'it was seen');
  const { rows: unseen } = await sql`
    select name from edges where last_seen_at < now() - interval '1 minute'`.execute(db);
  assert.deepEqual(unseen, [], 'also one that observes');
  assert.equal(await liveGeneration(db, IP), 2);
});
