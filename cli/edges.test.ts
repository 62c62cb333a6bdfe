import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { serveEdges, TestEdge } from '@portcullis/control/fleet/test-edge.ts';
import {
  acceptRule,
  insertEdge,
  insertHolding,
  insertOrganisation,
} from '@portcullis/control/fleet/testing.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

function portcullis(url: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: tmpdir(), DATABASE_URL: url },
    timeout: 30_000,
  });
  return { code: status, out: stdout, err: stderr };
}

test('edges are listed and shown with devices, lag and refusals, in words and as JSON', async (t) => {
  const { db, url } = await testDatabase(t);
  assert.match(portcullis(url, 'edges', 'list').out, /^No edges/);
  await insertEdge(db, 'fra1');
  const holding = await insertHolding(db, await insertOrganisation(db, 'acme'), '203.0.113.0/24');
  for (const port of [1, 2, 3]) await acceptRule(db, holding, '203.0.113.9', { port });
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'one');
  await edge.join();
  const refused = [{ target: '203.0.113.9', reason: 'too many', goodGeneration: 2 }];
  await edge.confirm(3, refused);
  for (const port of [4, 5]) await acceptRule(db, holding, '203.0.113.9', { port });
  const device = { name: 'eth0.7', kind: 'vlan', present: true, xdp: 'generic' } as const;
  const report = {
    policies: 12,
    elements: 345,
    lastError: 'no room',
    problems: ['The kernel has no synproxy.'],
    devices: [{ ...device, reason: 'a VLAN has no driver', master: null }],
  };
  await edge.beat('enforce', report);
  const listed = portcullis(url, 'edges', 'list').out;
  assert.match(listed, /fra1 .*in service .*\b3\b.*2 \(\d+ ms\).*eth0\.7:generic/);
  const json = JSON.parse(portcullis(url, 'edges', 'list', '--json').out) as {
    edges: { lag_generations: number; report: { devices: unknown[] } }[];
  };
  assert.equal(json.edges[0]?.lag_generations, 2);
  assert.deepEqual(json.edges[0]?.report.devices, report.devices);
  const shown = portcullis(url, 'edges', 'show', 'fra1');
  assert.equal(shown.code, 0);
  for (const wanted of [
    /last error +no room/,
    /problem +The kernel has no synproxy/,
    /eth0\.7 +vlan +yes +generic +- +a VLAN has no driver/,
    /203\.0\.113\.9 +2 +too many/,
    /12 policies, 345 elements/,
  ])
    assert.match(shown.out, wanted);
  const unknown = portcullis(url, 'edges', 'show', 'fra2');
  assert.deepEqual([unknown.code, unknown.out], [1, '']);
  assert.match(unknown.err, /no edge fra2; it has: fra1/);
});
