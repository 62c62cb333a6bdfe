import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { AgentRequest } from '@portcullis/link/messages/messages.ts';
import type { Db } from '../../db/database.ts';
import { endOtherConnections, testDatabase } from '../../db/testing.ts';
import { currentGeneration, takeGeneration } from '../generations.ts';
import { inSnapshot, loadPolicies } from '../policies/policies.ts';
import { sweepOldRows } from '../timers/retention.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import { SyncContent } from './content.ts';
import {
  acceptRule,
  assignGeo,
  deleteRule,
  insertEdge,
  insertHolding,
  insertOrganisation,
} from '../testing.ts';

async function prepare(db: Db) {
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  await insertEdge(db, 'a');
  return { org, holding };
}

async function policiesNow(db: Db): Promise<Map<string, Policy>> {
  const { policies } = await inSnapshot(db, (tx) => loadPolicies(tx, 'all'));
  return new Map(policies.map((policy) => [policy.target, policy]));
}

test('all pages of a sync have one generation, whatever is written in between', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await prepare(db);
  for (let n = 0; n < 12; n += 1) await acceptRule(db, holding, `203.0.113.${n}`, { port: 7 });
  const { link } = serveEdges(db, { pageBytes: 1000 });
  const edge = new TestEdge(link, 'a', 'one');
  await edge.hello();
  const before = await policiesNow(db);
  let port = 100;
  const pages = await edge.sync(async () => {
    port += 1;
    await acceptRule(db, holding, '203.0.113.0', { port });
    await acceptRule(db, holding, '203.0.113.200', { port });
  });
  assert.ok(pages.length > 2, `${pages.length} pages`);
  assert.deepEqual(new Set(pages.map((page) => page.generation)), new Set([12]));
  assert.deepEqual(new Map(edge.policies), before);
  const [next] = await edge.sync();
  assert.equal(next?.whole, false);
  assert.deepEqual(new Map(edge.policies), await policiesNow(db));
});

test('sends a page again after a lost answer; an unknown cursor starts again', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await prepare(db);
  for (let n = 0; n < 6; n += 1) await acceptRule(db, holding, `203.0.113.${n}`);
  const { link, handler } = serveEdges(db, { pageBytes: 700 });
  const edge = new TestEdge(link, 'a', 'one');
  await edge.hello();
  const first = await edge.mustPage();
  assert.ok(first.next);
  const second = await edge.mustPage(first.next);
  assert.deepEqual(await edge.mustPage(first.next), second);
  for (const cursor of [
    'nonsense',
    `${first.next}9`,
    `${first.next}/1`,
    first.next.replace(/\/1$/, '/-1'),
  ]) {
    const reply = await edge.page(cursor);
    assert.equal(reply.kind === 'refused' && reply.code, 'resync', cursor);
  }
  await link.control.close();
  const restarted = serveEdges(db, { pageBytes: 700 });
  link.serve(restarted.handler);
  const forgotten = await edge.page(first.next);
  assert.equal(
    forgotten.kind === 'refused' && forgotten.code,
    'resync',
    'control restarted mid-sync',
  );
  await edge.join();
  assert.equal(edge.policies.size, 6);
  assert.notEqual(handler, restarted.handler);
});

test('sends everything to an edge that is too far behind', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await prepare(db);
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'a', 'one');
  await acceptRule(db, holding, '203.0.113.1');
  await edge.join();
  for (let n = 2; n < 6; n += 1) await acceptRule(db, holding, `203.0.113.${n}`);
  await sql`delete from generations where generation <= 2`.execute(db);
  const [page] = await edge.sync();
  assert.equal(page?.whole, true);
  assert.equal(edge.policies.size, 5);
  await acceptRule(db, holding, '203.0.113.9');
  assert.equal((await edge.sync())[0]?.whole, false);
});

test('keeps the changes that an edge in service still needs', async (t) => {
  const { db } = await testDatabase(t);
  await prepare(db);
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'a', 'one');
  await edge.join();
  await sql`
    insert into generations (generation, cause) select n, 'bulk' from generate_series(1, 10500) n`.execute(
    db,
  );
  await sql`update fleet set generation = 10500`.execute(db);
  const oldest = async (): Promise<number> => {
    const { rows } = await sql<{ n: number }>`select min(generation) as n from generations`.execute(
      db,
    );
    return rows[0]?.n ?? Number.NaN;
  };
  await sweepOldRows(db, {}, () => {});
  assert.equal(await oldest(), 1, 'the edge is at 0');
  await edge.sync();
  await edge.confirm();
  await sweepOldRows(db, {}, () => {});
  assert.equal(await oldest(), 500);
});

test('sends policies of the served prefixes and of their containing prefixes', async (t) => {
  const { db } = await testDatabase(t);
  const { org, holding } = await prepare(db);
  await insertEdge(db, 'half', ['203.0.113.0/25', '2001:db8::/32']);
  await acceptRule(db, holding, '203.0.113.1');
  await acceptRule(db, holding, '203.0.113.200');
  await assignGeo(db, org, holding, ['203.0.113.0/24'], 'DE');
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'half', 'one');
  await edge.join();
  assert.deepEqual([...edge.policies.keys()].toSorted(), ['203.0.113.0/24', '203.0.113.1']);
  await acceptRule(db, holding, '203.0.113.201');
  await edge.sync();
  assert.deepEqual([...edge.policies.keys()].toSorted(), ['203.0.113.0/24', '203.0.113.1']);
});

test('sends source sets only when the edge has another version', async (t) => {
  const { db } = await testDatabase(t);
  const { org, holding } = await prepare(db);
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'a', 'one');
  await edge.join();
  await assignGeo(db, org, holding, ['203.0.113.0/24'], 'DE');
  const pages = await edge.sync();
  assert.equal(pages.at(-1)?.sourceSets?.version, 'v-country:DE');
  assert.deepEqual(Object.keys(edge.sourceSets?.sets ?? {}), ['country:DE']);
  assert.equal((await edge.sync()).at(-1)?.sourceSets, null);
});

test('answers an edge that has everything without a snapshot, and no other', async (t) => {
  const { db } = await testDatabase(t);
  const { org, holding } = await prepare(db);
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'a', 'one');
  await acceptRule(db, holding, '203.0.113.1');
  await edge.join();
  const snapshots = mock.method(SyncContent, 'open');
  t.after(() => snapshots.mock.restore());
  /** The number of snapshots that a sync takes. */
  const taken = async (): Promise<number> => {
    const before = snapshots.mock.callCount();
    const pages = await edge.sync();
    const page = pages.at(-1);
    assert.deepEqual([page?.settings.name, page?.next], ['a', null]);
    return snapshots.mock.callCount() - before;
  };
  assert.equal(await taken(), 0);
  await acceptRule(db, holding, '203.0.113.2');
  assert.equal(await taken(), 1);
  assert.equal(await taken(), 0);
  await assignGeo(db, org, holding, ['203.0.113.0/24'], 'DE');
  edge.generation = await currentGeneration(db);
  assert.equal(await taken(), 1, 'control does not know the source sets of this generation yet');
  edge.sourceSets = { version: 'another', sets: {} };
  assert.equal(await taken(), 1, 'it has other source sets');
  assert.equal(await taken(), 0);
  edge.generation += 1;
  assert.equal(await taken(), 1, 'that was never accepted here');
  await sql`update edges set needs_whole_sync = true`.execute(db);
  assert.equal(await taken(), 1, 'a new instance is sent everything');
  assert.equal(await taken(), 0);
  assert.deepEqual(new Map(edge.policies), await policiesNow(db));
});

test('an edge that nothing new concerns needs no snapshot either', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await prepare(db);
  await insertEdge(db, 'low', ['203.0.113.0/25']);
  const { link, sync } = serveEdges(db);
  const edge = new TestEdge(link, 'low', 'one');
  await acceptRule(db, holding, '203.0.113.1');
  await edge.join();
  const version = edge.sourceSets?.version ?? '';
  const snapshots = mock.method(SyncContent, 'open');
  t.after(() => snapshots.mock.restore());
  const { generation } = await acceptRule(db, holding, '203.0.113.200');
  sync.noteSets(generation, version);
  const [page] = await edge.sync();
  assert.deepEqual([page?.generation, page?.removed], [generation, []]);
  assert.equal(snapshots.mock.callCount(), 0);
  const next = await acceptRule(db, holding, '203.0.113.2');
  sync.noteSets(next.generation, version);
  await edge.sync();
  assert.equal(snapshots.mock.callCount(), 1);
  assert.deepEqual([...edge.policies.keys()].toSorted(), ['203.0.113.1', '203.0.113.2']);
});

test('an edge that syncs while 50 writers write misses no change', async (t) => {
  const { db } = await testDatabase(t);
  const { org, holding } = await prepare(db);
  await assignGeo(db, org, holding, ['203.0.113.0/24'], 'DE');
  const { link } = serveEdges(db, { pageBytes: 2000 });
  const edge = new TestEdge(link, 'a', 'one');
  await edge.join();
  const actions = fc.array(
    fc.record({
      host: fc.integer({ min: 0, max: 15 }),
      port: fc.integer({ min: 1, max: 65_535 }),
      undo: fc.boolean(),
    }),
    { minLength: 50, maxLength: 50 },
  );
  await fc.assert(
    fc.asyncProperty(actions, async (list) => {
      const progress = { writing: true };
      const writes = Promise.all(
        list.map(async ({ host, port, undo }) => {
          const ip = `203.0.113.${host}`;
          const { id } = await acceptRule(db, holding, ip, { port }).catch(() => ({ id: null }));
          if (undo && id !== null) await deleteRule(db, id);
        }),
      ).finally(() => {
        progress.writing = false;
      });
      let newest = edge.generation;
      while (progress.writing) {
        await edge.sync();
        assert.ok(edge.generation >= newest, 'generations never go back');
        newest = edge.generation;
        assert.deepEqual(await edge.confirm(), { kind: 'done' });
      }
      await writes;
      await edge.sync();
      assert.deepEqual(new Map(edge.policies), await policiesNow(db));
    }),
    { numRuns: 5 },
  );
});

test('answers malformed messages and never rejects', async (t) => {
  const { db } = await testDatabase(t);
  await prepare(db);
  const { handler } = serveEdges(db);
  const rubbish = fc.oneof(
    fc.anything(),
    fc.record({
      kind: fc.constantFrom(
        'edge.hello',
        'edge.sync',
        'edge.confirm',
        'edge.heartbeat',
        'edge.dance',
      ),
      protocolVersion: fc.oneof(fc.anything(), fc.integer()),
      instance: fc.oneof(fc.anything(), fc.constantFrom('one', '\0', '')),
      mode: fc.oneof(fc.anything(), fc.constantFrom('enforce', 'observe')),
      modeReason: fc.anything(),
      after: fc.oneof(fc.anything(), fc.integer(), fc.double()),
      cursor: fc.oneof(fc.anything(), fc.string()),
      sourceSetsVersion: fc.anything(),
      generation: fc.oneof(fc.anything(), fc.integer(), fc.bigInt()),
      refused: fc.oneof(fc.anything(), fc.array(fc.anything())),
      report: fc.anything(),
    }),
  );
  await fc.assert(
    fc.asyncProperty(rubbish, fc.constantFrom('a', 'b', '\0'), async (message, name) => {
      const reply = await handler({ kind: 'edge', name }, message as AgentRequest);
      assert.match(reply.kind, /^(?:refused|done|edge\.welcome|edge\.page)$/);
    }),
    { numRuns: 150 },
  );
  const edge = new TestEdge(serveEdges(db).link, 'a', 'sane');
  await edge.join();
});

test('refuses a protocol that is too old, with an explanation; answers a newer agent in the current version', async (t) => {
  const { db } = await testDatabase(t);
  await prepare(db);
  const { handler } = serveEdges(db);
  const hello = (protocolVersion: number) =>
    handler(
      { kind: 'edge', name: 'a' },
      { kind: 'edge.hello', protocolVersion, instance: 'one', mode: 'observe', modeReason: null },
    );
  const old = await hello(0);
  assert.equal(old.kind === 'refused' && old.code, 'unsupported');
  const newer = await hello(2);
  assert.equal(newer.kind === 'edge.welcome' && newer.protocolVersion, 1);
});

test('reports a missing database, and recovers with the next message', async (t) => {
  const { db } = await testDatabase(t);
  await prepare(db);
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'a', 'one');
  await edge.join();
  await endOtherConnections(db);
  const replies = [await edge.beat(), await edge.beat(), await edge.beat()];
  for (const reply of replies) {
    assert.ok(reply.kind === 'done' || (reply.kind === 'refused' && reply.code === 'unavailable'));
  }
  assert.deepEqual(replies.at(-1), { kind: 'done' });
});

test('sends everything when too many targets changed', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await prepare(db);
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'a', 'one');
  await acceptRule(db, holding, '203.0.113.1');
  await edge.join();
  const targets = Array.from({ length: 10_001 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
  await db.transaction().execute((tx) => takeGeneration(tx, { cause: 'fleet.apply', targets }));
  assert.equal((await edge.sync())[0]?.whole, true);
});
