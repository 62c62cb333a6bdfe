import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { loadMoment } from '../edges/store.ts';
import { applyText } from '../../operator/fleet-file/testing.ts';
import { serveEdges, TestEdge } from '../test-edge.ts';
import {
  acceptRule,
  assignGeo,
  insertEdge,
  insertHolding,
  insertOrganisation,
} from '../testing.ts';

const EDGE = (serves: string, devices = 'eth0') =>
  `edges: [{ name: a, site: fra, devices: [${devices}], serves: [${serves}] }]\n`;

test('sends an edge the prefixes that it gained, and removes those that it lost', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, EDGE('203.0.113.0/25'));
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  await acceptRule(db, holding, '203.0.113.1');
  await acceptRule(db, holding, '203.0.113.200');
  const { link } = serveEdges(db);
  const edge = new TestEdge(link, 'a', 'one');
  await edge.join();
  assert.deepEqual([...edge.policies.keys()], ['203.0.113.1']);
  await applyText(db, EDGE('203.0.113.128/25'));
  const [page] = await edge.sync();
  assert.equal(page?.whole, false);
  assert.deepEqual([...edge.policies.keys()], ['203.0.113.200']);
});

test('a change of other settings takes a generation without targets', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, EDGE('203.0.113.0/25'));
  const { generation } = await applyText(db, EDGE('203.0.113.0/25', 'eth1'));
  assert.equal(generation, 2);
  const { rows } = await sql`select from changes`.execute(db);
  assert.equal(rows.length, 0);
});

test('a sync never combines the new generation with the old prefixes', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, EDGE('203.0.113.0/25'));
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  await acceptRule(db, holding, '203.0.113.200');
  const { sync } = serveEdges(db);
  const before = await loadMoment(db, 'a', 0);
  assert.ok(before);
  const { generation } = await applyText(db, EDGE('203.0.113.0/24'));
  const request = {
    kind: 'edge.sync',
    instance: 'one',
    after: 0,
    cursor: null,
    sourceSetsVersion: null,
  } as const;
  const sent = await sync.begin(before, request);
  if (sent.kind === 'refused') assert.fail(sent.detail);
  const { page } = sent;
  assert.equal(page.generation, generation);
  assert.deepEqual(
    page.policies.map(({ target }) => target),
    ['203.0.113.200'],
  );
});

test('sends source sets larger than a page in parts', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  await insertEdge(db, 'a');
  await assignGeo(db, org, holding, ['203.0.113.0/24'], 'XX');
  await assignGeo(db, org, holding, ['203.0.113.0/24'], 'YY');
  const large = Array.from({ length: 500 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
  const sets = { 'country:XX': large, 'country:YY': ['198.51.100.0/24'] };
  const pageBytes = 2_000;
  const { link } = serveEdges(db, {
    pageBytes,
    loadSourceSets: async () => ({ version: 'v', sets }),
  });
  const edge = new TestEdge(link, 'a', 'one');
  await edge.hello();
  const pages = await edge.sync();
  assert.ok(pages.length > 3, `${pages.length} pages`);
  for (const page of pages) {
    assert.ok(JSON.stringify(page.sourceSets).length < pageBytes + 100);
  }
  assert.deepEqual(edge.sourceSets, { version: 'v', sets });
  assert.deepEqual(
    (await edge.sync()).map((page) => page.sourceSets),
    [null],
  );
});
