import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OTHER, startEnvironment } from '../testing/fixture.ts';
import { TestNode } from './testing/node.ts';
import { addNode, addServer, uuidOf } from './testing/servers.ts';

const LIST = '/api/x1/game-servers';
const CRASHED_AT_MS = Date.parse('2026-11-21T02:00:00Z');

function rowsOf(body: unknown): Record<string, unknown>[] {
  return (body as { data: Record<string, unknown>[] }).data;
}

test('lists servers with what their nodes reported, asking none, and says unknown where a node or its engine is away', async (t) => {
  const world = await startEnvironment(t);
  const node = await new TestNode(world.nodes, 'node-1', await addNode(world.db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(world.db, { number: 1, name: 'beta' });
  await addServer(world.db, { number: 2, name: 'alpha', built: false });
  await node.beat(
    { uuid: uuidOf(1), power: 'running', crashedAtMs: CRASHED_AT_MS },
    { uuid: uuidOf(2), state: 'building' },
  );
  const [alpha, beta] = rowsOf((await world.acme.get(LIST)).body);
  assert.deepEqual(beta, {
    uuid: uuidOf(1),
    name: 'beta',
    service_id: 501,
    service_name: beta?.['service_name'],
    state: 'running',
    build_state: 'built',
    suspended: false,
    crashed_at: '2026-11-21T02:00:00+00:00',
    node: 'node-1',
    node_connected: true,
    egg: 'eggs/test.json',
    allocation: { ip: '198.51.100.10', port: 20_001 },
  });
  assert.deepEqual([alpha?.['state'], alpha?.['build_state']], [null, 'building']);
  assert.deepEqual(node.calls, []);

  const stateOf = async () => rowsOf((await world.acme.get(LIST)).body)[1]?.['state'];
  await sql`update nodes set engine = '{"kind": "docker", "version": null, "problem": "x"}'`.execute(
    world.db,
  );
  assert.equal(await stateOf(), null, 'the engine is away');
  await node.beat({ uuid: uuidOf(1), power: 'running' });
  assert.equal(await stateOf(), 'running');
  await sql`update nodes set last_seen_at = now() - interval '46 seconds'`.execute(world.db);
  assert.equal(await stateOf(), null, 'the node is away');
});

test('lists the servers that a key sees, and none of another organisation', async (t) => {
  const world = await startEnvironment(t);
  await addNode(world.db, 'node-1');
  for (const number of [1, 2]) await addServer(world.db, { number });
  await sql`insert into services (id, organisation_id, name, owner) values (601, ${OTHER}, 'lobby', 'fleet')`.execute(
    world.db,
  );
  await addServer(world.db, { number: 900, service: 601 });
  const some = await world.client({ servers: [uuidOf(2), uuidOf(900)] });
  const seen = rowsOf((await some.get(LIST)).body).map(({ uuid }) => uuid);
  assert.deepEqual(seen, [uuidOf(2)]);
  assert.equal(rowsOf((await world.acme.get(LIST)).body).length, 2);
});
