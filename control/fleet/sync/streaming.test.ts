import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { endOtherConnections, testDatabase } from '../../db/testing.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import { storedCidr } from '../policies/assembly.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../testing.ts';
import { SyncContent } from './content.ts';

const ADDRESSES = 600;
const RULES = 10;
const ALL = ['0.0.0.0/0', '::/0'].map(storedCidr);
const SMALL = { pageBytes: 4_000, sliceWeight: 200 };

async function fill(db: Db): Promise<number> {
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '10.0.0.0/8');
  await sql`
    insert into addresses (holding_id, ip, configured)
    select ${holding}, '10.0.0.0'::inet + n, true from generate_series(1, ${ADDRESSES}::int) n`.execute(
    db,
  );
  await sql`
    insert into rules (address_id, action, protocol, port, created_generation)
    select a.id, 'deny', 'udp', 1000 + n, 1 from addresses a, generate_series(1, ${RULES}::int) n`.execute(
    db,
  );
  for (const name of ['a', 'b']) await insertEdge(db, name);
  return holding;
}

/** Notes the most rules that one answer of the database had. */
function watchRules(db: Db) {
  const seen = { most: 0, all: 0 };
  const watched = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const rules = result.rows.reduce<number>((sum, row) => {
        const own: unknown = row['rules'];
        return sum + (Array.isArray(own) ? own.length : 0);
      }, 0);
      seen.most = Math.max(seen.most, rules);
      seen.all += rules;
      return result;
    },
  });
  return { watched, seen };
}

async function snapshots(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`.execute(db);
  return rows[0]?.n ?? Number.NaN;
}

async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((resolve) => void setTimeout(resolve, 20));
}

test('a whole sync never has more than two slices of the rules in memory, nor reads ahead of its edge', async (t) => {
  const { db } = await testDatabase(t);
  await fill(db);
  const { watched, seen } = watchRules(db);
  const { link } = serveEdges(watched, SMALL);
  const edge = new TestEdge(link, 'a', 'one');
  await edge.hello();
  const read: number[] = [];
  const pages = await edge.sync(async () => void read.push(seen.all));
  assert.equal(edge.policies.size, ADDRESSES);
  assert.ok([...edge.policies.values()].every(({ rules }) => rules.length === RULES));
  assert.ok(seen.most <= SMALL.sliceWeight + RULES, `${seen.most} rules in one answer`);
  assert.ok(pages.length > 100, `${pages.length} pages`);
  for (const [at, rules] of read.entries()) {
    const sent = pages
      .slice(0, at + 1)
      .reduce((sum, page) => sum + page.policies.length * RULES, 0);
    assert.ok(rules - sent <= 4 * SMALL.sliceWeight, `${rules} were read when ${sent} were sent`);
  }
});

test('a sync that its edge does not continue keeps no connection, nor does one when control stops', async (t) => {
  const { db } = await testDatabase(t);
  await fill(db);
  const { link, sync } = serveEdges(db, { ...SMALL, idleMs: -1 });
  const edge = new TestEdge(link, 'a', 'one');
  await edge.hello();
  await edge.mustPage();
  await until(async () => (await snapshots(db)) === 1);
  sync.sweep();
  await until(async () => (await snapshots(db)) === 0);
  await edge.mustPage();
  await sync.stop();
  assert.equal(await snapshots(db), 0);
  assert.equal((await edge.page()).kind, 'refused');
  assert.equal(await snapshots(db), 0);
});

test('a fourth sync of everything waits for another one, and is refused after a while', async (t) => {
  const { db } = await testDatabase(t);
  await fill(db);
  for (const name of ['c', 'd']) await insertEdge(db, name);
  const { link, sync } = serveEdges(db, { ...SMALL, waitMs: 100 });
  const edges = ['a', 'b', 'c', 'd'].map((name) => new TestEdge(link, name, 'i'));
  const replies = [];
  for (const edge of edges) {
    await edge.hello();
    replies.push(await edge.page());
  }
  assert.deepEqual(
    replies.map((reply) => (reply.kind === 'refused' ? reply.code : reply.kind)),
    ['edge.page', 'edge.page', 'edge.page', 'unavailable'],
  );
  await edges[0]?.sync();
  await edges[3]?.sync();
  assert.equal(edges[3]?.policies.size, ADDRESSES);
  await sync.stop();
});

test('a snapshot that the database ends is reported once and begun again', async (t) => {
  const { db } = await testDatabase(t);
  await fill(db);
  const content = await SyncContent.open(db, 0, SMALL);
  await content.next(ALL);
  await endOtherConnections(db);
  await assert.rejects(async () => {
    while ((await content.next(ALL))?.isLast === false);
  });
  assert.equal(await content.next(ALL), null);
  const again = await SyncContent.open(db, 0, SMALL);
  assert.notEqual(await again.next(ALL), null);
  await again.close();
});
