import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import type { DropEntry, DropSample } from '@portcullis/core/firewall/drops.ts';
import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import type { EdgeDrops } from '@portcullis/link/messages/edge-report.ts';
import type { Db } from '../../db/database.ts';
import { testDatabase } from '../../db/testing.ts';
import { DROPS_KEPT_HOURS, SAMPLES_KEPT, SOURCES_PER_PORT, spanOf } from './drops.ts';
import { sweepOldRows } from '../timers/retention.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../testing.ts';

const IP = '203.0.113.10';
const DONE = { kind: 'done' };
const HOUR_MS = 3_600_000;

const entry = (packets: number, change: Partial<DropEntry> = {}): DropEntry => ({
  target: IP,
  stage: 'policy',
  reason: 'denied',
  by: 'xdp',
  packets,
  bytes: packets * 60,
  ...change,
});
const sample = (atMs: number, change: Partial<DropSample> = {}): DropSample => ({
  atMs,
  target: IP,
  stage: 'policy',
  reason: 'denied',
  by: 'xdp',
  source: '198.51.100.7',
  destination: IP,
  protocol: 17,
  sourcePort: 1,
  destinationPort: 53,
  length: 60,
  device: 'eth0',
  ...change,
});
/** The 10 s before `untilMs`. */
const drops = (
  untilMs: number,
  entries: readonly DropEntry[],
  samples: readonly DropSample[] = [],
): EdgeDrops => ({ sinceMs: untilMs - 10_000, untilMs, entries, samples });

async function world(t: TestContext) {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const organisation = await insertOrganisation(db, 'acme');
  const holding = await insertHolding(db, organisation, '203.0.113.0/24');
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'one');
  await edge.hello();
  return { db, edge, holding, organisation };
}

async function counted(db: Db): Promise<{ holding: number; target: string; packets: number }[]> {
  const { rows } = await sql<{ holding: number; target: string; packets: number }>`
    select holding_id as holding, target, sum(packets)::bigint as packets, sum(bytes)::bigint as bytes
      from drop_counts group by 1, 2 order by 1, 2`.execute(db);
  return rows.map(({ holding, target, packets }) => ({ holding, target, packets }));
}

test('counts a repeated report once, and accepts a new sequence from a restarted agent', async (t) => {
  const { db, edge, holding } = await world(t);
  const now = Date.now();
  const report = drops(now, [entry(5), entry(2, { reason: 'geo' })]);
  for (let times = 0; times < 3; times += 1)
    assert.deepEqual(await edge.reportDrops(1, report), DONE);
  assert.deepEqual(await counted(db), [{ holding, target: `${IP}/32`, packets: 7 }]);
  assert.deepEqual(await edge.reportDrops(2, report), DONE);
  assert.deepEqual(await edge.reportDrops(1, report), DONE);
  assert.deepEqual(await counted(db), [{ holding, target: `${IP}/32`, packets: 14 }]);
  const restarted = new TestEdge(serveEdges(db).link, 'fra1', 'two');
  await restarted.hello();
  assert.deepEqual(await restarted.reportDrops(1, report), DONE);
  assert.equal((await counted(db))[0]?.packets, 21);
  const stale = await edge.reportDrops(3, report);
  assert.equal(stale.kind === 'refused' && stale.code, 'resync');
  assert.equal((await counted(db))[0]?.packets, 21);
});

test('counts concurrent reports of two edges about the same addresses', async (t) => {
  const { db, edge } = await world(t);
  await insertEdge(db, 'ams1');
  const other = new TestEdge(serveEdges(db).link, 'ams1', 'one');
  await other.hello();
  const targets = Array.from({ length: 200 }, (_, index) => `203.0.113.${index}`);
  const entries = targets.map((target) => entry(1, { target }));
  const tell = async (one: TestEdge, all: readonly DropEntry[]): Promise<void> => {
    for (let sequence = 1; sequence <= 10; sequence += 1)
      assert.deepEqual(await one.reportDrops(sequence, drops(Date.now(), all)), DONE);
  };
  await Promise.all([tell(edge, entries), tell(other, entries.toReversed())]);
  const rows = await counted(db);
  assert.equal(rows.length, 200);
  assert.ok(rows.every(({ packets }) => packets === 20));
});

test('counts drops only for the organisation that held the address all the time', async (t) => {
  const { db, edge, holding, organisation } = await world(t);
  const now = Date.now();
  const began = new Date(now - 60_000).toISOString();
  const service = await insertHolding(db, organisation, `${IP}/32`, { service: 7, from: began });
  const targets = [
    entry(1),
    entry(1, { target: '192.0.2.1' }),
    entry(4, { target: '203.0.113.0/24' }),
  ];
  const at = (ms: number): Promise<unknown> =>
    edge.reportDrops((sequence += 1), drops(ms, targets, [sample(ms), sample(ms)]));
  let sequence = 0;
  await at(now - 120_000);
  // Partly before the change of the holder: counted for neither.
  await at(now - 55_000);
  await at(now - 30_000);
  await at(now - 20_000);
  assert.deepEqual(await counted(db), [
    { holding, target: '203.0.113.0/24', packets: 16 },
    { holding, target: `${IP}/32`, packets: 1 },
    { holding: service, target: `${IP}/32`, packets: 2 },
  ]);
  const samples = await sql<{ holding: number; n: number }>`
    select holding_id as holding, count(*) as n from drop_samples group by 1 order by 1`.execute(
    db,
  );
  assert.deepEqual(samples.rows, [
    { holding, n: 2 },
    { holding: service, n: 4 },
  ]);
});

test('keeps the newest samples of every address, and deletes everything after a day', async (t) => {
  const { db, edge } = await world(t);
  const now = Date.now();
  for (let report = 1; report <= 3; report += 1) {
    const many = Array.from({ length: 60 }, (_, index) =>
      sample(now - 5_000 + report * 1_000, { sourcePort: report * 1_000 + index }),
    );
    const lone = sample(now - 5_000, { destination: '203.0.113.11', target: '203.0.113.11' });
    await edge.reportDrops(report, drops(now, [entry(1)], [lone, ...many]));
  }
  const kept = await sql<{ ip: string; n: number; oldest: number }>`
    select destination as ip, count(*) as n, min(source_port) as oldest
      from drop_samples group by 1 order by 1`.execute(db);
  assert.deepEqual(kept.rows, [
    { ip: IP, n: SAMPLES_KEPT, oldest: 2_020 },
    { ip: '203.0.113.11', n: 3, oldest: 1 },
  ]);
  const swept = async () => {
    const rows: Record<string, number> = {};
    await sweepOldRows(db, {}, (what, n) => (rows[what] = n));
    return [rows['drop counts'], rows['drop samples']];
  };
  assert.deepEqual(await swept(), [0, 0]);
  await sql`update drop_counts set minute = minute - ${DROPS_KEPT_HOURS} * interval '1 hour'`.execute(
    db,
  );
  await sql`update drop_samples set at = at - ${DROPS_KEPT_HOURS} * interval '1 hour'`.execute(db);
  assert.deepEqual(await swept(), [1, SAMPLES_KEPT + 3]);
});

test('corrects an edge clock that is wrong by years', () => {
  const now = Date.UTC(2026, 10, 21, 12);
  const wrong = Date.UTC(1999, 0, 1);
  const reported = { sinceMs: wrong - 20_000, untilMs: wrong - 5_000, entries: [], samples: [] };
  assert.deepEqual(spanOf(reported, wrong, now), {
    since: new Date(now - 22_000),
    until: new Date(now - 5_000),
  });
});

test('limits a span to the last day, with its start before its end', () => {
  const now = Date.UTC(2026, 10, 21, 12);
  const ago = (sinceMs: number, untilMs: number) =>
    spanOf({ sinceMs: now - sinceMs, untilMs: now - untilMs, entries: [], samples: [] }, now, now);
  assert.deepEqual(ago(900 * HOUR_MS, HOUR_MS).since, new Date(now - DROPS_KEPT_HOURS * HOUR_MS));
  assert.deepEqual(ago(HOUR_MS, -HOUR_MS).until, new Date(now));
  for (const [since, until] of [
    [0, HOUR_MS],
    [-HOUR_MS, -HOUR_MS],
    [900 * HOUR_MS, 800 * HOUR_MS],
  ] as const) {
    const span = ago(since, until);
    assert.ok(span.since <= span.until);
  }
});

test('reports and heartbeats do not wait for each other', async (t) => {
  const { db, edge } = await world(t);
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holds = db.transaction().execute(async (tx) => {
    await sql`select from edges for update`.execute(tx);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  assert.deepEqual(
    await edge.reportDrops(1, drops(Date.now(), [entry(1)], [sample(Date.now())])),
    DONE,
  );
  release.resolve();
  await holds;
});

test('counts nothing about addresses that the edge does not serve', async (t) => {
  const { db, holding, organisation } = await world(t);
  await insertHolding(db, organisation, '198.51.100.0/24');
  await insertEdge(db, 'thief', ['198.51.100.0/24']);
  const edge = new TestEdge(serveEdges(db).link, 'thief', 'one');
  await edge.hello();
  const now = Date.now();
  const served = '198.51.100.9';
  const forged = drops(
    now,
    [entry(5), entry(5, { target: '203.0.113.0/24' }), entry(3, { target: served })],
    [sample(now - 1_000), sample(now - 1_000, { target: served, destination: served })],
  );
  assert.deepEqual(await edge.reportDrops(1, forged), DONE);
  const rows = await counted(db);
  assert.deepEqual(
    rows.map(({ target, packets }) => [target, packets]),
    [[`${served}/32`, 3]],
  );
  const { rows: samples } =
    await sql`select 1 from drop_samples where holding_id = ${holding}`.execute(db);
  assert.deepEqual(samples, []);
});

const passing = (change: Partial<PassedSample> = {}): PassedSample => ({
  destination: IP,
  source: '198.51.100.7',
  protocol: 17,
  destinationPort: 27_015,
  packets: 1,
  ...change,
});

async function passedRows(db: Db): Promise<object[]> {
  const { rows } = await sql<object>`
    select protocol, destination_port as port, count(*)::integer as sources, sum(packets)::integer as packets
      from passed_samples group by 1, 2 order by 1, 2`.execute(db);
  return rows;
}

test('adds samples of what passed by hour, of served addresses that are held, once', async (t) => {
  const { db, edge } = await world(t);
  const now = Date.now();
  const samples = [
    passing({ packets: 3 }),
    passing({ packets: 2, source: '192.0.2.9' }),
    passing({ protocol: 1, destinationPort: null }),
    passing({ destination: '192.0.2.77' }),
  ];
  const report = { ...drops(now, []), passed: samples };
  assert.deepEqual(await edge.reportDrops(1, report), DONE);
  assert.deepEqual(await edge.reportDrops(1, report), DONE);
  assert.deepEqual(await edge.reportDrops(2, report), DONE);
  assert.deepEqual(await passedRows(db), [
    { protocol: 1, port: -1, sources: 1, packets: 2 },
    { protocol: 17, port: 27_015, sources: 2, packets: 10 },
  ]);
  await sql`update passed_samples set hour = hour - interval '26 hours'`.execute(db);
  await sweepOldRows(db, {}, () => {});
  assert.deepEqual(await passedRows(db), []);
});

test('a flood of sources on one port leaves room for the samples of others', async (t) => {
  const { db, edge } = await world(t);
  const now = Date.now();
  const flood = Array.from({ length: 400 }, (_, at) =>
    passing({ source: `198.51.${at >> 8}.${at & 255}`, packets: 2 }),
  );
  const passed = [...flood, passing({ destinationPort: 22, protocol: 6 })];
  for (const sequence of [1, 2]) await edge.reportDrops(sequence, { ...drops(now, []), passed });
  assert.deepEqual(await passedRows(db), [
    { protocol: 6, port: 22, sources: 1, packets: 2 },
    { protocol: 17, port: 27_015, sources: SOURCES_PER_PORT, packets: SOURCES_PER_PORT * 4 },
  ]);
});
