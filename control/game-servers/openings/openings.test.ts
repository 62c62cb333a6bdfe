import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import type { ServerState } from '@portcullis/core/game-servers/power.ts';
import type { Db } from '../../db/database.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import { inSnapshot, loadAddressPolicy, loadPolicies } from '../../fleet/policies/policies.ts';
import { dataOf } from '../../testing/client.ts';
import { startEnvironment, type TestEnvironment } from '../../testing/fixture.ts';
import { TestNode } from '../testing/node.ts';
import { addNode, addServer, uuidOf } from '../testing/servers.ts';
import { LOST_AFTER_MS, LostNodes } from './lost-nodes.ts';

const IP = '198.51.100.10';
const SERVER = uuidOf(1);
const SILENT = {
  nodeLost() {},
  portsChanged() {},
  failed: (_: string, e: unknown) => assert.fail(String(e)),
};

interface World extends TestEnvironment {
  readonly node: TestNode;
  report(power: ServerState): Promise<void>;
}

/** An address that denies by default, and on it a server that is open while it runs. */
async function start(t: TestContext): Promise<World> {
  const world = await startEnvironment(t);
  const node = await new TestNode(world.nodes, 'node-1', await addNode(world.db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(world.db, { number: 1 });
  await sql`update game_servers set open_while_running = true`.execute(world.db);
  const closed = { target: IP, default: 'deny' };
  dataOf(await world.acme.put('/api/x1/firewall/defaults', closed));
  const report = async (power: ServerState): Promise<void> => {
    await node.beat({ uuid: SERVER, power });
  };
  return { ...world, node, report };
}

async function openPorts(db: Db): Promise<string[]> {
  const { rules } = await inSnapshot(db, (tx) => loadAddressPolicy(tx, IP));
  return rules.map(
    ({ action, protocol, port, source }) => `${action} ${protocol} ${port} ${source}`,
  );
}
const OPEN = ['allow tcp 20001 null', 'allow udp 20001 null'];

const packet = { protocol: 'udp', source_ip: '192.0.2.9', destination_port: 20_001 };
async function verdict({ acme }: TestEnvironment): Promise<string> {
  const url = `/api/x1/firewall/ips/${IP}/explain`;
  const { decided_by: by, verdict: what } = dataOf<{
    verdict: string;
    decided_by: { kind: string } | null;
  }>(await acme.post(url, packet));
  return `${what} ${by?.kind ?? 'default'}`;
}

async function unseenFor(db: Db, ms: number): Promise<void> {
  await sql`update nodes set last_seen_at = clock_timestamp() - ${ms} * interval '1 millisecond'`.execute(
    db,
  );
}

test('the ports of a server are allowed while it runs and not otherwise', async (t) => {
  const world = await start(t);
  const { db, acme } = world;
  for (const [power, ports] of [
    ['offline', []],
    ['starting', []],
    ['running', OPEN],
    ['stopping', OPEN],
    ['offline', []],
    ['running', OPEN],
    ['paused', []],
  ] as const) {
    await world.report(power);
    assert.deepEqual(await openPorts(db), ports, power);
  }
  assert.equal(await verdict(world), 'drop default');
  await world.report('running');
  assert.equal(await verdict(world), 'pass server_port');
  const { rules } = dataOf<{ rules: unknown[] }>(await acme.get(`/api/v1/firewall/ips/${IP}`));
  assert.deepEqual(rules, []);
  const build = dataOf<object>(await acme.get(`/api/x1/game-servers/${SERVER}/build`));
  assert.partialDeepStrictEqual(build, { open_while_running: true, ports_open: true });
});

test('each change is one generation of the address, with its reason, and no change is none', async (t) => {
  const { db, report } = await start(t);
  const before = await currentGeneration(db);
  await report('running');
  await report('running');
  assert.equal(await currentGeneration(db), before + 1);
  const { rows } = await sql<object>`
    select a.action, a.actor, a.target, a.detail -> 'ports' as ports, c.target as changed
      from audit a join changes c using (generation) where generation = ${before + 1}`.execute(db);
  const ports = ['tcp 20001', 'udp 20001'];
  const changed = `${IP}/32`;
  assert.deepEqual(rows, [{ action: 'server.open', actor: 'node-1', target: IP, ports, changed }]);
});

test('a server without the wish, of another node, or that is not named keeps its ports closed', async (t) => {
  const { db, node, report, nodes } = await start(t);
  const second = await new TestNode(nodes, 'node-2', await addNode(db, 'node-2')).join();
  t.after(() => second.link.close());
  await second.beat({ uuid: SERVER, power: 'running' });
  assert.deepEqual(await openPorts(db), []);
  await report('running');
  await node.beat();
  assert.deepEqual(await openPorts(db), []);
  await addServer(db, { number: 2 });
  await node.beat({ uuid: uuidOf(2), power: 'running' });
  assert.deepEqual(await openPorts(db), []);
});

test('the ports of a lost node close, after it had the whole time to return, also after a restart', async (t) => {
  const { db, report } = await start(t);
  await report('running');
  await unseenFor(db, LOST_AFTER_MS + 1_000);
  // A control plane that has just started.
  const lost = new LostNodes({ db, events: SILENT });
  await lost.check(0);
  await lost.check(LOST_AFTER_MS - 1);
  assert.deepEqual(await openPorts(db), OPEN);
  await lost.check(LOST_AFTER_MS);
  assert.deepEqual(await openPorts(db), []);
  await lost.check(LOST_AFTER_MS + 1);
  await new LostNodes({ db, events: SILENT }).check(0);
  assert.deepEqual(await openPorts(db), []);
  await report('running');
  assert.deepEqual(await openPorts(db), OPEN);
  const nodeEvents = await db
    .selectFrom('events')
    .select(['kind', 'target', 'organisation_id'])
    .where('kind', 'like', 'agent.%')
    .orderBy('id')
    .execute();
  assert.deepEqual(
    nodeEvents.map(({ kind }) => kind),
    ['agent.joined', 'agent.lost', 'agent.joined'],
  );
  assert.deepEqual([nodeEvents[0]?.target, nodeEvents[0]?.organisation_id], ['node:node-1', null]);
});

test('a node that is heard keeps its ports open', async (t) => {
  const { db, report } = await start(t);
  await report('running');
  await unseenFor(db, LOST_AFTER_MS - 30_000);
  const lost = new LostNodes({ db, events: SILENT });
  await lost.check(0);
  await lost.check(LOST_AFTER_MS);
  assert.deepEqual(await openPorts(db), OPEN);
});

test('ports follow holdings that begin and end', async (t) => {
  const { db, report } = await start(t);
  await report('running');
  const lost = new LostNodes({ db, events: SILENT });
  await sql`update holdings set during = tstzrange(lower(during), now()) where service_id = 501`.execute(
    db,
  );
  await lost.check(0);
  const { rows } = await sql`select from server_openings where deleted_generation is null`.execute(
    db,
  );
  assert.equal(rows.length, 0);
  await sql`update holdings set during = tstzrange(lower(during), null) where service_id = 501`.execute(
    db,
  );
  await lost.check(1);
  assert.deepEqual(await openPorts(db), OPEN);
});

test('a server behind NAT is open at the addresses of its service, one on loopback at none', async (t) => {
  const { db, report } = await start(t);
  await sql`update game_servers set ip = '10.0.0.7'`.execute(db);
  await report('running');
  assert.deepEqual(await openPorts(db), OPEN);
  await report('offline');
  await sql`update game_servers set ip = '127.0.0.1'`.execute(db);
  await report('running');
  assert.deepEqual(await openPorts(db), []);
});

test('an edge is sent the open ports, and their end', async (t) => {
  const { db, report, acme } = await start(t);
  dataOf(await acme.put('/api/x1/firewall/defaults', { target: IP, default: null }));
  await sql`update services set managed_filters = '[]'`.execute(db);
  await report('running');
  const load = () => inSnapshot(db, (tx) => loadPolicies(tx, [`${IP}/32`]));
  const [policy] = (await load()).policies;
  assert.deepEqual(
    policy?.rules.map(({ ref }) => ref),
    ['server-port:1', 'server-port:2'],
  );
  await report('offline');
  assert.deepEqual((await load()).removed, [IP]);
});
