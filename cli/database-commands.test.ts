import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { serveEdges, TestEdge } from '@portcullis/control/fleet/test-edge.ts';
import {
  acceptRule,
  insertEdge,
  insertHolding,
  insertOrganisation,
} from '@portcullis/control/fleet/testing.ts';
import { CommandSession } from './testing/run.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

test('edges list and show print devices, lag and refusals, as text and as JSON', async (t) => {
  const { db, url } = await testDatabase(t);
  const portcullis = (...args: readonly string[]) => session.run(args, { DATABASE_URL: url });
  assert.match((await portcullis('edges', 'list')).out, /^No edges/);
  await insertEdge(db, 'fra1');
  const holding = await insertHolding(db, await insertOrganisation(db, 'acme'), '203.0.113.0/24');
  for (const port of [1, 2, 3]) await acceptRule(db, holding, '203.0.113.9', { port });
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'one');
  await edge.join();
  const refused = [{ target: '203.0.113.9', reason: 'too many', goodGeneration: 2 }];
  await edge.confirm(3, refused);
  for (const port of [4, 5]) await acceptRule(db, holding, '203.0.113.9', { port });
  const device = {
    name: 'eth0.7',
    kind: 'vlan',
    present: true,
    receives: true,
    xdp: 'tc',
  } as const;
  const report = {
    policies: 12,
    elements: 345,
    lastError: 'no capacity',
    problems: ['The kernel has no synproxy.'],
    devices: [{ ...device, reason: 'a VLAN has no driver', master: null }],
  };
  await edge.beat('enforce', report);
  const listed = await portcullis('edges', 'list');
  assert.match(listed.out, /fra1 .*in service .*\b3\b.*2 \(\d+ ms\).*eth0\.7:tc/);
  const json = JSON.parse((await portcullis('edges', 'list', '--json')).out) as {
    data: { lag_generations: number; report: { devices: unknown[] } }[];
  };
  assert.equal(json.data[0]?.lag_generations, 2);
  assert.deepEqual(json.data[0]?.report.devices, report.devices);
  const shown = await portcullis('edges', 'show', 'fra1');
  assert.equal(shown.code, 0);
  for (const pattern of [
    /last error +no capacity/,
    /problem +The kernel has no synproxy/,
    /eth0\.7 +vlan +yes +tc +- +a VLAN has no driver/,
    /203\.0\.113\.9 +2 +too many/,
    /12 policies, 345 elements/,
  ])
    assert.match(shown.out, pattern);
  const unknown = await portcullis('edges', 'show', 'fra2');
  assert.deepEqual([unknown.code, unknown.out], [1, '']);
  assert.match(unknown.err, /no edge fra2; it has: fra1/);
});

test('commands that read do not create a platform in an empty directory', async (t) => {
  const data = join(mkdtempSync(join(tmpdir(), 'portcullis-none-')), 'mistyped');
  t.after(() => rmSync(dirname(data), { recursive: true }));
  for (const command of ['edges', 'nodes', 'collectors', 'keys']) {
    const { code, err } = await session.run([command, 'list', '--data', data]);
    assert.equal(code, 69);
    assert.match(
      err,
      /there is no Portcullis in .*mistyped: .* --data .* \S*portcullis up --data \S+mistyped/,
    );
  }
  assert.equal(existsSync(data), false);
});

test('an unreachable database is reported with exit code 69', async () => {
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  const { code, err } = await session.run(['edges', 'list'], env);
  assert.equal(code, 69);
  assert.match(err, /the database cannot be reached now: .*ECONNREFUSED.*DATABASE_URL/);
});
