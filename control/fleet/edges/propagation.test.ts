import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { testDatabase } from '../../db/testing.ts';
import { expireLeases, markLive, raiseUnconcerned } from './store.ts';
import { createEnforcement } from './enforcement.ts';
import { loadFleetState } from '../../firewall/held-store.ts';
import { currentGeneration, takeGeneration } from '../generations.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import {
  acceptRule,
  insertEdge,
  insertHolding,
  insertOrganisation,
  liveGeneration,
} from '../testing.ts';

const IP = '203.0.113.10';
const OTHER = '203.0.113.11';
const LEASE_MS = 60_000;

async function smallFleet(
  db: Db,
  edges: readonly string[],
): Promise<{ holding: number; organisation: number }> {
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  for (const edge of edges) await insertEdge(db, edge);
  return { holding, organisation: org };
}

/** The edge was silent for longer than its lease. */
async function goSilent(db: Db, name: string): Promise<void> {
  await sql`update edges set last_seen_at = now() - interval '2 minutes' where name = ${name}`.execute(
    db,
  );
}

async function enforcement(db: Db): Promise<string> {
  return (await createEnforcement({ db, maxAgeMs: 0 }).read()).state;
}

test('without enforcing edges, accepted is live and enforcement is none', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a']);
  await acceptRule(db, holding, IP);
  assert.equal(await liveGeneration(db, IP), 1);
  assert.equal(await enforcement(db), 'none');
});

test('an edge counts only after confirming what was accepted when it joined', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a', 'b']);
  await acceptRule(db, holding, IP);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  await a.hello();
  assert.equal(await liveGeneration(db, IP), 1, 'hello alone does not enrol it');
  await a.sync();
  await a.confirm();
  assert.equal(await enforcement(db), 'full');
  await acceptRule(db, holding, IP, { port: 1 });
  assert.equal(await liveGeneration(db, IP), 1, 'accepted, not live');
  await a.sync();
  await a.confirm();
  assert.equal(await liveGeneration(db, IP), 2);

  const b = new TestEdge(link, 'b', 'b1');
  assert.equal((await b.hello()).generation, 2);
  assert.deepEqual(await b.confirm(1), { kind: 'done' }, 'heard');
  assert.equal(await liveGeneration(db, IP), 2, 'a joining edge takes nothing back');
});

test('an edge without a device does not count, and nothing is live until it has one or another edge confirms', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a', 'b']);
  await acceptRule(db, holding, IP);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  await a.hello('no_device');
  assert.equal(await liveGeneration(db, IP), 0, 'no kernel drops anything');
  await a.sync();
  assert.deepEqual(await a.confirm(), { kind: 'done' });
  assert.equal(await liveGeneration(db, IP), 0, 'what it confirms does not count');
  assert.equal(await enforcement(db), 'none');

  await a.hello();
  await a.confirm();
  assert.equal(await liveGeneration(db, IP), 1);
  assert.equal(await enforcement(db), 'full');

  await a.hello('no_device');
  await acceptRule(db, holding, IP, { port: 1 });
  await a.sync();
  await a.confirm();
  assert.equal(await liveGeneration(db, IP), 1, 'live stands where the edge left service');
  const { detail, edges } = await createEnforcement({ db, maxAgeMs: 0 }).read();
  assert.match(detail, /^Nothing is enforced\. Edges without a device enforce nothing: a\.$/);
  assert.deepEqual(
    edges.map(({ enforcing, inService }) => [enforcing, inService]),
    [
      [false, false],
      [false, false],
    ],
  );

  await new TestEdge(link, 'b', 'b1').join();
  assert.equal(await liveGeneration(db, IP), 2, 'an edge that enforces suffices');
  assert.equal(await enforcement(db), 'partial');
});

test('an edge that lacks some of its devices counts, and enforcement is partial', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, organisation } = await smallFleet(db, ['a']);
  const { generation } = await acceptRule(db, holding, IP);
  const a = new TestEdge(serveEdges(db).link, 'a', 'a1');
  await a.join();
  const device = { kind: 'veth', xdp: 'native', reason: null, master: null } as const;
  const there = { ...device, name: 'eth0', present: true, receives: true };
  await a.beat('enforce', {
    devices: [there, { ...device, name: 'eth1', present: false, receives: false }],
  });
  assert.equal(await enforcement(db), 'partial');
  assert.equal(await liveGeneration(db, IP), generation);
  assert.equal(
    (await loadFleetState(db, { organisationId: organisation, prefixes: null })).enforcement,
    'partial',
  );
  await a.beat('enforce', { devices: [there] });
  assert.equal(await enforcement(db), 'full');
});

test('an observing edge never counts, nor one that stops enforcing', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a']);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  await a.hello('observe');
  await a.sync();
  assert.deepEqual(await a.confirm(), { kind: 'done' });
  await acceptRule(db, holding, IP);
  assert.equal(await liveGeneration(db, IP), 1);
  assert.equal(await enforcement(db), 'none');

  await a.beat('enforce');
  assert.equal(
    await enforcement(db),
    'none',
    'what it confirmed while it observed was in no kernel',
  );
  await a.sync();
  await a.confirm();
  assert.equal(await enforcement(db), 'full');
  await acceptRule(db, holding, IP, { port: 2 });
  assert.equal(await liveGeneration(db, IP), 1);
  await a.beat('observe');
  assert.equal(await liveGeneration(db, IP), 2, 'nobody is waited for any more');
  assert.equal(await enforcement(db), 'none');
});

test('an edge with an expired lease leaves service; with no edge left, live stays where it is', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a', 'b']);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  const b = new TestEdge(link, 'b', 'b1');
  await a.join();
  await b.join();
  await acceptRule(db, holding, IP);
  await a.sync();
  await a.confirm();
  assert.equal(await liveGeneration(db, IP), 0);
  assert.deepEqual(await expireLeases(db, LEASE_MS), [], 'both were heard');
  await goSilent(db, 'b');
  assert.deepEqual(await expireLeases(db, LEASE_MS), ['b']);
  assert.equal(await liveGeneration(db, IP), 1, 'a alone decides');
  assert.equal(await enforcement(db), 'partial');

  await goSilent(db, 'a');
  assert.deepEqual(await expireLeases(db, LEASE_MS), ['a']);
  await acceptRule(db, holding, IP, { port: 1 });
  assert.equal(await liveGeneration(db, IP), 1, 'it stands where the last one had it');
  assert.equal(await enforcement(db), 'partial', 'they still enforce what they have');

  for (const reply of [await a.beat(), await a.confirm(2), await a.page()]) {
    assert.equal(reply.kind === 'refused' && reply.code, 'resync');
  }
  assert.equal(await liveGeneration(db, IP), 1);
  await a.join();
  assert.equal(await liveGeneration(db, IP), 2);
});

test('a heartbeat renews the lease', async (t) => {
  const { db } = await testDatabase(t);
  await smallFleet(db, ['a']);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  await a.join();
  await goSilent(db, 'a');
  assert.deepEqual(await a.beat(), { kind: 'done' });
  assert.deepEqual(await expireLeases(db, LEASE_MS), []);
});

test('a refused target stays at its last good generation; other addresses advance', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a']);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  await acceptRule(db, holding, IP);
  await a.join();
  await acceptRule(db, holding, IP, { port: 1 });
  await acceptRule(db, holding, OTHER, { port: 1 });
  await a.sync();
  await a.confirm(3, [{ target: IP, reason: 'the kernel said no', goodGeneration: 1 }]);
  assert.equal(await liveGeneration(db, IP), 1);
  assert.equal(await liveGeneration(db, OTHER), 3);
  assert.equal(await enforcement(db), 'partial');
  await a.confirm(3, [{ target: '203.0.113.0/24', reason: 'no', goodGeneration: 2 }]);
  assert.deepEqual([await liveGeneration(db, IP), await liveGeneration(db, OTHER)], [2, 2]);
  await a.confirm(3);
  assert.deepEqual([await liveGeneration(db, IP), await liveGeneration(db, OTHER)], [3, 3]);
  assert.equal(await enforcement(db), 'full');
});

test('a target that stays refused is one event, until it was applied meanwhile', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a']);
  const { link } = serveEdges(db);
  const a = new TestEdge(link, 'a', 'a1');
  await a.join();
  const refuse = async (reason: string | null) => {
    await acceptRule(db, holding, OTHER, { port: ++port });
    await a.sync();
    await a.confirm(
      a.generation,
      reason === null ? [] : [{ target: IP, reason, goodGeneration: 0 }],
    );
  };
  let port = 1;
  for (const reason of ['too large', 'too large', 'still too large']) await refuse(reason);
  const failed = () =>
    db.selectFrom('events').select('data').where('kind', '=', 'propagation.failed').execute();
  assert.deepEqual(
    (await failed()).map(({ data }) => [data['edge'], data['addresses'], data['reason']]),
    [['a', 1, 'they stay as they were until it can; the operator sees why']],
  );
  const stored = await db.selectFrom('edge_refusals').select('reason').execute();
  assert.deepEqual(stored, [{ reason: 'still too large' }]);
  await refuse(null);
  await refuse('too large');
  assert.equal((await failed()).length, 2);
});

test('generations never go back: an older confirmation and an old instance are refused', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a']);
  const { link } = serveEdges(db);
  const old = new TestEdge(link, 'a', 'old');
  await acceptRule(db, holding, IP);
  await acceptRule(db, holding, IP, { port: 1 });
  await old.join();
  const stale = await old.confirm(1);
  assert.equal(stale.kind === 'refused' && stale.code, 'stale');
  const future = await old.confirm(99);
  assert.equal(future.kind === 'refused' && future.code, 'resync');
  assert.equal(await liveGeneration(db, IP), 2);

  const restarted = new TestEdge(link, 'a', 'new');
  await restarted.hello();
  assert.equal(await liveGeneration(db, IP), 2, 'live stands while it comes back');
  await acceptRule(db, holding, IP, { port: 2 });
  const late = await old.confirm(3);
  assert.equal(late.kind === 'refused' && late.code, 'resync');
  assert.equal(await liveGeneration(db, IP), 2);
  restarted.generation = 2;
  assert.equal((await restarted.sync())[0]?.whole, true, 'a new instance is sent everything');
  await restarted.confirm();
  assert.equal(await liveGeneration(db, IP), 3);
});

test('refuses an edge that is not in the fleet, with an explanation', async (t) => {
  const { db } = await testDatabase(t);
  const { link } = serveEdges(db);
  const stranger = new TestEdge(link, 'stranger', 'x');
  for (const reply of [
    await stranger.sendHello(),
    await stranger.page(),
    await stranger.confirm(0),
    await stranger.beat(),
  ]) {
    assert.equal(reply.kind === 'refused' && reply.code, 'unknown_agent');
    assert.match(reply.kind === 'refused' ? reply.detail : '', /no edge named stranger/);
  }
});

test('each generation is marked live once, when the last edge in service has it', async (t) => {
  const { db } = await testDatabase(t);
  const { holding } = await smallFleet(db, ['a', 'b']);
  const { link } = serveEdges(db);
  await acceptRule(db, holding, IP);
  const a = new TestEdge(link, 'a', 'a1');
  const b = new TestEdge(link, 'b', 'b1');
  await a.join();
  await b.join();
  await acceptRule(db, holding, IP, { port: 1 });
  const unmarked = async (): Promise<number[]> => {
    const { rows } = await sql<{ generation: number }>`
      select generation from generations where live_at is null order by 1`.execute(db);
    return rows.map((row) => row.generation);
  };
  await a.sync();
  await a.confirm();
  assert.deepEqual(await unmarked(), [2]);
  await b.sync();
  await b.confirm();
  assert.deepEqual(await unmarked(), []);
  const { rows } = await sql<{ took: boolean }>`
    select live_at > created_at as took from generations order by generation`.execute(db);
  assert.deepEqual(
    rows.map((row) => row.took),
    [false, true],
    'what was accepted before anything enforced took no time',
  );
  assert.equal(await currentGeneration(db), 2);
});

/** Two edges in service, each of half of the prefix, with what was confirmed of each. */
async function halves(db: Db) {
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  await insertEdge(db, 'low', ['203.0.113.0/25']);
  await insertEdge(db, 'high', ['203.0.113.128/25']);
  await acceptRule(db, holding, IP);
  const { link } = serveEdges(db);
  const low = new TestEdge(link, 'low', 'l1');
  const high = new TestEdge(link, 'high', 'h1');
  await low.join();
  await high.join();
  const raise = () => raiseUnconcerned(db, ['low', 'high']);
  const confirmed = async () => {
    const { rows } = await sql<{ of: number }>`
      select confirmed_generation as of from edges order by name desc`.execute(db);
    return rows.map((row) => row.of);
  };
  return { holding, link, low, high, raise, confirmed };
}

test('a generation that does not concern an edge needs no confirmation of it', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, low, high, raise, confirmed } = await halves(db);
  assert.equal(await raise(), false);
  await acceptRule(db, holding, IP, { port: 1 });
  await acceptRule(db, holding, OTHER, { port: 1 });
  assert.deepEqual(await confirmed(), [1, 1]);
  assert.equal(await raise(), true);
  assert.equal(await raise(), false);
  assert.deepEqual(await confirmed(), [1, 3]);
  assert.deepEqual(await markLive(db), [], 'the other one lacks it');
  assert.equal(await liveGeneration(db, IP), 1);
  // The upper half changes before the lower one has confirmed, which is raised by its confirmation.
  await acceptRule(db, holding, '203.0.113.200', { port: 1 });
  assert.equal(await raise(), false, 'neither has what concerns it');
  await low.sync();
  await low.confirm(3);
  assert.deepEqual(await confirmed(), [4, 3]);
  await high.sync();
  await high.confirm();
  assert.deepEqual(await confirmed(), [4, 4]);
  const { rows } = await sql`select from generations where live_at is null`.execute(db);
  assert.equal(rows.length, 0);
});

test('nothing is raised over what concerns every edge, or is not kept any more', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, raise, confirmed } = await halves(db);
  const take = (targets: readonly string[], everywhere?: boolean) =>
    db
      .transaction()
      .execute((tx) =>
        takeGeneration(tx, { cause: 'test', targets, ...(everywhere && { everywhere }) }),
      );
  await take([IP], true);
  await take([IP]);
  assert.equal(await raise(), false);
  await sql`update generations set everywhere = false`.execute(db);
  assert.equal(await raise(), true);
  assert.deepEqual(await confirmed(), [1, 3]);
  await take([]);
  assert.equal(await raise(), false, 'it names no target');
  await sql`delete from generations where generation > 1`.execute(db);
  await acceptRule(db, holding, IP, { port: 1 });
  await sql`delete from generations where generation = 1`.execute(db);
  assert.equal(await raise(), false, 'what changed meanwhile is not known');
  await sql`update edges set serves = '{203.0.113.0/24}', confirmed_generation = 4`.execute(db);
  assert.equal(await raise(), false, 'all serve it now');
});

test('an edge confirms what it refuses at its own generation, beyond which it was raised', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, low, high, raise, confirmed } = await halves(db);
  const upper = '203.0.113.200';
  await acceptRule(db, holding, upper);
  await high.sync();
  await high.confirm();
  await acceptRule(db, holding, IP, { port: 1 });
  assert.equal(await raise(), true);
  assert.deepEqual(await confirmed(), [2, 3]);
  assert.equal(await liveGeneration(db, upper), 3);
  assert.deepEqual(await high.confirm(2, [{ target: upper, reason: 'no', goodGeneration: 1 }]), {
    kind: 'done',
  });
  assert.deepEqual([await liveGeneration(db, upper), await confirmed()], [1, [2, 3]]);
  await high.confirm(2);
  assert.equal(await liveGeneration(db, upper), 3);
  // An older one may have been delayed on the way, with other refusals.
  await high.sync();
  await high.confirm(3);
  const late = await high.confirm(2);
  assert.equal(late.kind === 'refused' && late.code, 'stale');
  await low.sync();
  await low.confirm();
  await acceptRule(db, holding, IP, { port: 2 });
  const behind = await low.confirm(2);
  assert.equal(behind.kind === 'refused' && behind.code, 'stale');
});

test('what an edge lost counts, whatever came after the generations that it was raised over', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, high, raise, confirmed } = await halves(db);
  const upper = '203.0.113.200';
  await acceptRule(db, holding, upper);
  await high.sync();
  await high.confirm();
  const { generation } = await acceptRule(db, holding, IP, { port: 1 });
  assert.equal(await raise(), true);
  const loses = async (why: string) => {
    const lost = { target: upper, reason: why, goodGeneration: 0 };
    assert.deepEqual(await high.confirm(2, [lost]), { kind: 'done' }, why);
    assert.equal(await liveGeneration(db, upper), 0, why);
    assert.deepEqual(await high.confirm(2), { kind: 'done' }, why);
    assert.deepEqual([await liveGeneration(db, upper), await confirmed()], [3, [2, 3]], why);
  };
  await loses('nothing came after');
  await db
    .transaction()
    .execute((tx) => takeGeneration(tx, { cause: 'test', targets: [], everywhere: true }));
  await loses('a generation that concerns every edge came after');
  await sql`update edges set serves = '{203.0.113.0/24}' where name = 'high'`.execute(db);
  await loses('the edge serves more by now');
  await sql`delete from generations where generation <= ${generation}`.execute(db);
  await loses('the generations are not kept any more');
});

test('a confirmation that a version without raised generations recorded is not overtaken', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, high, raise, confirmed } = await halves(db);
  const upper = '203.0.113.200';
  await acceptRule(db, holding, IP, { port: 1 });
  assert.equal(await raise(), true);
  const { generation } = await acceptRule(db, holding, upper);
  await sql`update edges set confirmed_generation = ${generation} where name = 'high'`.execute(db);
  const late = await high.confirm(1);
  assert.equal(late.kind === 'refused' && late.code, 'stale');
  await acceptRule(db, holding, IP, { port: 2 });
  assert.equal(await raise(), true);
  const later = await high.confirm(2);
  assert.equal(later.kind === 'refused' && later.code, 'stale');
  await high.sync();
  assert.deepEqual(await high.confirm(generation), { kind: 'done' });
  assert.deepEqual(await confirmed(), [1, 4]);
});

test('an edge joins with a generation after which nothing concerns it', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, link, raise, confirmed } = await halves(db);
  const again = new TestEdge(link, 'high', 'h2');
  await again.hello();
  await again.sync();
  await acceptRule(db, holding, IP, { port: 1 });
  await raise();
  assert.deepEqual(await confirmed(), [1, 1], 'an edge out of service is not raised');
  await again.confirm(1);
  assert.deepEqual(await confirmed(), [1, 2]);
});
