import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused } from '../testing/client.ts';
import { OTHER, startEnvironment } from '../testing/fixture.ts';
import { type SampleRow, sampleView } from './history.ts';
import { RESOURCES, TestNode } from './testing/node.ts';
import { addNode, addServer, uuidOf } from './testing/servers.ts';

const pathOf = (number: number) => `/api/x1/game-servers/${uuidOf(number)}/history`;
interface History {
  readonly samples: readonly Record<string, unknown>[];
  readonly events: readonly Record<string, unknown>[];
}
const dataOf = (body: unknown): History => (body as { data: History }).data;

test('keeps one sample of each minute of a running server, and what happened to it', async (t) => {
  const world = await startEnvironment(t);
  const node = await new TestNode(world.nodes, 'node-1', await addNode(world.db, 'node-1')).join();
  t.after(() => node.link.close());
  const uuid = await addServer(world.db, { number: 1 });
  await node.beat({ uuid, power: 'starting' });
  for (const memoryBytes of [512, 700, 900]) {
    await node.beat({ uuid, power: 'running', resources: { ...RESOURCES, memoryBytes } });
  }
  await node.beat({ uuid, power: 'offline', crashedAtMs: Date.now() });
  const { samples, events } = dataOf((await world.acme.get(pathOf(1))).body);
  // Two where the minute changed meanwhile.
  assert.ok(samples.length === 1 || samples.length === 2, `${samples.length} samples`);
  const { at, ...first } = samples[0] ?? {};
  assert.match(String(at), /:00\+00:00$/);
  assert.deepEqual(first, {
    memory_bytes: 512,
    cpu_absolute: 12.345,
    disk_bytes: 7,
    network_rx_bytes_per_second: null,
    network_tx_bytes_per_second: null,
  });
  assert.deepEqual(
    events.map(({ kind, from, state }) => [kind, from, state]),
    [
      ['server.state', 'starting', 'running'],
      ['server.state', 'running', 'offline'],
      ['server.crashed', null, 'offline'],
    ],
  );
});

test('takes samples only from the node of the server, and shows them to its organisation', async (t) => {
  const world = await startEnvironment(t);
  const other = await new TestNode(world.nodes, 'node-2', await addNode(world.db, 'node-2')).join();
  t.after(() => other.link.close());
  await addNode(world.db, 'node-1');
  const uuid = await addServer(world.db, { number: 1 });
  await other.beat({ uuid, power: 'running', resources: RESOURCES });
  assert.deepEqual(dataOf((await world.acme.get(pathOf(1))).body).samples, []);
  await sql`insert into services (id, organisation_id, name, owner) values (601, ${OTHER}, 'lobby', 'fleet')`.execute(
    world.db,
  );
  await addServer(world.db, { number: 900, service: 601 });
  assertRefused(await world.acme.get(pathOf(900)), 404, 'not_found');
});

test('computes a rate between two samples of one run that are close enough', () => {
  const sample = (minute: number, networkRxBytes: number): SampleRow => ({
    at: new Date(Date.UTC(2026, 10, 21, 2, minute)),
    memoryBytes: 1,
    cpuAbsolute: 1,
    diskBytes: 1,
    networkRxBytes,
    networkTxBytes: 0,
  });
  const rate = (now: SampleRow, before?: SampleRow) =>
    sampleView(now, before).network_rx_bytes_per_second;
  assert.equal(rate(sample(1, 6000), sample(0, 0)), 100);
  assert.equal(rate(sample(3, 6000), sample(0, 600)), 30);
  assert.equal(rate(sample(1, 6000)), null, 'the first');
  assert.equal(rate(sample(1, 10), sample(0, 6000)), null, 'it was started again');
  assert.equal(rate(sample(9, 6000), sample(0, 0)), null, 'a gap');
});
