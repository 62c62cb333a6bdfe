import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { loadEdgeStatuses } from './status.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import { acceptRule, insertEdge, insertHolding, insertOrganisation } from '../testing.ts';

const IP = '203.0.113.10';

test('lists what an edge reports, refuses and lacks, and edges that never connected', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  await insertEdge(db, 'ams1');
  const holding = await insertHolding(db, await insertOrganisation(db, 'org'), '203.0.113.0/24');
  const { generation } = await acceptRule(db, holding, IP);
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'one');
  await edge.join();
  const device = {
    name: 'bond0',
    kind: 'bond',
    present: true,
    receives: true,
    xdp: 'tc',
    reason: 'the driver of a port cannot',
    master: null,
  } as const;
  await edge.beat('enforce', { repairs: 2, kernel: 'disturbed', devices: [device] });
  await acceptRule(db, holding, IP, { port: 1 });
  const refusals = [
    { target: IP, reason: 'no memory', goodGeneration: generation },
    { target: '203.0.113.0/24', reason: 'too long', goodGeneration: 0 },
  ];
  await edge.confirm(generation, refusals);
  const [ams1, fra1] = await loadEdgeStatuses(db);
  assert.deepEqual([ams1?.name, ams1?.mode, ams1?.report], ['ams1', null, null]);
  assert.deepEqual(
    [fra1?.inService, fra1?.enrolled, fra1?.generation, fra1?.acceptedGeneration],
    [true, true, generation, generation + 1],
  );
  assert.deepEqual(fra1?.refused, refusals.toReversed());
  assert.deepEqual(fra1.report?.devices, [device]);
  assert.deepEqual([fra1.report?.repairs, fra1.report?.kernel], [2, 'disturbed']);
  await sql`update generations set created_at = created_at - interval '1 hour'`.execute(db);
  const [later] = await loadEdgeStatuses(db, 'fra1');
  assert.ok(later !== undefined && later.lagMs >= 3_600_000 && later.lagMs < 3_700_000);
  await edge.confirm(generation + 1);
  assert.equal((await loadEdgeStatuses(db, 'fra1'))[0]?.lagMs, 0);
});

test('a stored report that this version does not understand counts as none', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  await sql`update edges set report = '{"policies": "many"}'`.execute(db);
  assert.equal((await loadEdgeStatuses(db))[0]?.report, null);
});
