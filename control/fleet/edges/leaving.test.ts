import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { testDatabase } from '../../db/testing.ts';
import { createEnforcement } from './enforcement.ts';
import { applyText } from '../../operator/fleet-file/testing.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import { acceptRule, insertHolding, insertOrganisation, liveGeneration } from '../testing.ts';

const IP = '203.0.113.10';

const edgesFile = (...names: readonly string[]) =>
  `edges: [${names.map((name) => `{ name: ${name}, site: s, devices: [eth0] }`).join(', ')}]`;

async function fleetOf(db: Db, ...names: readonly string[]) {
  await applyText(db, edgesFile(...names));
  const { link } = serveEdges(db);
  const edges = new Map(names.map((name) => [name, new TestEdge(link, name, `${name}1`)]));
  const holding = await insertHolding(db, await insertOrganisation(db, 'org'), '203.0.113.0/24');
  await acceptRule(db, holding, IP);
  for (const edge of edges.values()) await edge.join();
  return { link, holding, edge: (name: string) => edges.get(name) ?? assert.fail(name) };
}

async function notLive(db: Db): Promise<number[]> {
  const { rows } = await sql<{ generation: number }>`
    select generation from generations where live_at is null order by 1`.execute(db);
  return rows.map(({ generation }) => generation);
}

test('live no longer waits for an edge that left the fleet file', async (t) => {
  const { db } = await testDatabase(t);
  const { holding, edge } = await fleetOf(db, 'quick', 'stuck');
  const { generation } = await acceptRule(db, holding, IP, { port: 1 });
  await edge('quick').sync();
  await edge('quick').confirm();
  assert.equal(await liveGeneration(db, IP), generation - 1);
  assert.deepEqual(await notLive(db), [generation]);
  const applied = await applyText(db, edgesFile('quick'));
  assert.equal(await liveGeneration(db, IP), generation);
  await edge('quick').sync();
  await edge('quick').confirm();
  assert.equal(await liveGeneration(db, IP), applied.generation);
  assert.deepEqual(await notLive(db), []);
  const refused = await edge('stuck').beat();
  assert.equal(refused.kind === 'refused' && refused.code, 'unknown_agent');
});

test('a renamed edge counts under its new name once it has joined; until then nothing enforces', async (t) => {
  const { db } = await testDatabase(t);
  const { link, edge } = await fleetOf(db, 'old');
  const state = async () => (await createEnforcement({ db, maxAgeMs: 0 }).read()).state;
  assert.equal(await state(), 'full');
  await applyText(db, edgesFile('new'));
  assert.equal(await state(), 'none');
  const refused = await edge('old').sendHello();
  assert.equal(refused.kind === 'refused' && refused.code, 'unknown_agent');
  const renamed = new TestEdge(link, 'new', 'old1');
  await renamed.join();
  assert.equal(renamed.policies.size, 1);
  assert.equal(await state(), 'full');
  assert.deepEqual(await notLive(db), []);
});

test('edge off ends the service of an agent that is gone at once, reported by another instance', async (t) => {
  const { db } = await testDatabase(t);
  const { link } = await fleetOf(db, 'killed');
  const state = async () => (await createEnforcement({ db, maxAgeMs: 0 }).read()).state;
  assert.equal(await state(), 'full');
  await new TestEdge(link, 'killed', 'off-1').sendHello('observe');
  assert.equal(await state(), 'none');
});
