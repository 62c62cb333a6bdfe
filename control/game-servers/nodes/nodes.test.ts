import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { startEnvironment, type TestEnvironment } from '../../testing/fixture.ts';
import { enrolAgent } from '../../agent-credential.ts';
import { stateAnswer, TestNode } from '../testing/node.ts';
import { addNode, addServer, uuidOf } from '../testing/servers.ts';

interface Two extends TestEnvironment {
  readonly mine: TestNode;
  readonly second: TestNode;
}

/** Two enrolled nodes: servers 1 and 2 on `mine`, server 3 on `other`. */
async function start(t: TestContext): Promise<Two> {
  const world = await startEnvironment(t);
  const join = async (name: string): Promise<TestNode> => {
    const node = await new TestNode(world.nodes, name, await addNode(world.db, name)).join();
    t.after(() => node.link.close());
    return node;
  };
  const mine = await join('node-1');
  const second = await join('node-2');
  await addServer(world.db, { number: 1, built: false });
  await addServer(world.db, { number: 2 });
  await addServer(world.db, { number: 3, node: 'node-2', built: false });
  return { ...world, mine, second };
}

const sync = (node: TestNode, revision: string | null = null) =>
  node.say({ kind: 'node.sync', instance: node.instance, cursor: null, revision });

async function buildOf(world: TestEnvironment, number: number) {
  const { rows } = await sql<{ state: string; provisioned: boolean; identifier: string | null }>`
    select build_state as state, provisioned, identifier from game_servers
     where uuid = ${uuidOf(number)}`.execute(world.db);
  return rows[0];
}

test('sends a node only its own servers', async (t) => {
  const { mine, second } = await start(t);
  const uuids = async (node: TestNode): Promise<string[]> => {
    const page = await sync(node);
    assert.ok(page.kind === 'node.page');
    return page.servers.map(({ uuid }) => uuid);
  };
  assert.deepEqual(await uuids(mine), [uuidOf(1), uuidOf(2)]);
  assert.deepEqual(await uuids(second), [uuidOf(3)]);
});

test('ignores reports of a node about servers of another node', async (t) => {
  const world = await start(t);
  const { mine } = world;
  const before = await buildOf(world, 3);
  for (const state of ['built', 'failed', 'building'] as const) {
    await mine.beat({ uuid: uuidOf(3), state, reason: 'taken over', log: 'taken over' });
  }
  assert.deepEqual(await buildOf(world, 3), before);
  // Reports about its own servers in the same message count.
  await mine.beat({ uuid: uuidOf(3) }, { uuid: uuidOf(1) });
  assert.equal((await buildOf(world, 1))?.provisioned, true);
  assert.deepEqual(await buildOf(world, 3), before);
  const { rows } = await sql<{ instance: string; engine: unknown }>`
    select instance, engine from nodes where name = 'node-2'`.execute(world.db);
  assert.deepEqual(rows, [{ instance: 'one', engine: null }]);
});

test('a node does not receive calls to another node', async (t) => {
  const world = await start(t);
  const { mine, second, acme, db } = world;
  await sql`
    update game_servers set build_state = 'built', identifier = 'x' where uuid = ${uuidOf(3)}`.execute(
    db,
  );
  mine.answer = () => stateAnswer('offline');
  second.answer = () => stateAnswer('running');
  const { body } = await acme.get(`/api/v1/game-servers/${uuidOf(3)}`);
  assert.equal((body as { data: { state: string } }).data.state, 'running');
  assert.deepEqual(mine.calls, []);
});

test('rejects the credential of another node, an old one, and none', async (t) => {
  const world = await startEnvironment(t);
  const first = await addNode(world.db, 'node-1');
  const second = await addNode(world.db, 'node-2');
  await sql`insert into nodes (name, owner) values ('node-3', 'fleet')`.execute(world.db);
  const refusedAs = async (name: string, credential: string): Promise<string> => {
    const node = new TestNode(world.nodes, name, credential);
    t.after(() => node.link.close());
    return new Promise((resolve, reject) => {
      node.link.onConnect(() => reject(new Error(`${name} was let in`)));
      node.link.onRefused(resolve);
    });
  };
  for (const [name, credential] of [
    ['node-2', first],
    ['node-1', second],
    ['node-1', ''],
    ['node-1', first.slice(0, -1)],
    ['node-1', `${first}0`],
    ['node-1', first.toLowerCase()],
    ['node-3', first],
    ['node-3', ''],
    ['node-9', first],
  ] as const) {
    assert.match(await refusedAs(name, credential), /not the credential/, `${name} ${credential}`);
  }
  const actor = { kind: 'system', name: 'test', source: null, requestId: null } as const;
  const fresh = await world.db
    .transaction()
    .execute((tx) => enrolAgent(tx, { kind: 'node', name: 'node-1' }, actor));
  await refusedAs('node-1', first);
  const joined = await new TestNode(world.nodes, 'node-1', fresh ?? '').join();
  t.after(() => joined.link.close());
  const { rows } = await sql<{ text: string }>`
    select nodes::text || audit::text as text from nodes, audit`.execute(world.db);
  assert.ok(rows.every(({ text }) => !text.includes(first) && !text.includes(fresh ?? '-')));
});

test('rejects edges on the socket of nodes, with any credential', async (t) => {
  const world = await startEnvironment(t);
  const credential = await addNode(world.db, 'node-1');
  const edge = world.nodes.connect({ kind: 'edge', name: 'node-1' }, credential);
  t.after(() => edge.close());
  assert.match(await new Promise((resolve) => edge.onRefused(resolve)), /Only nodes/);
});

test('marks a server as provisioned when its node has built it, and later reports never undo that', async (t) => {
  const world = await start(t);
  const { mine } = world;
  const uuid = uuidOf(1);
  const unbuilt = { provisioned: false, identifier: null };
  await mine.beat({ uuid, state: 'building' });
  assert.deepEqual(await buildOf(world, 1), { state: 'building', ...unbuilt });
  await mine.beat({ uuid, state: 'built', epoch: 2 });
  assert.deepEqual(
    await buildOf(world, 1),
    { state: 'building', ...unbuilt },
    'of an epoch to come',
  );
  await mine.beat({ uuid, state: 'built' });
  const built = { state: 'built', provisioned: true, identifier: '6f1c2f1e' };
  assert.deepEqual(await buildOf(world, 1), built);
  for (const state of ['waiting', 'building', 'failed'] as const) {
    await mine.beat({ uuid, state, reason: 'late', log: 'late' });
    assert.deepEqual(await buildOf(world, 1), built, state);
  }
  await sql`
    update game_servers set build_epoch = 2, build_state = 'waiting', identifier = null
     where uuid = ${uuid}`.execute(world.db);
  await mine.beat({ uuid, state: 'built', epoch: 1 });
  assert.deepEqual(
    await buildOf(world, 1),
    { state: 'waiting', ...unbuilt },
    'of the epoch before',
  );
  await mine.beat({ uuid, state: 'built', epoch: 2 });
  assert.deepEqual(await buildOf(world, 1), built);
});

test('accepts reports only from the node instance that said hello last', async (t) => {
  const world = await start(t);
  const { mine } = world;
  await mine.say({ kind: 'node.hello', protocolVersion: 1, instance: 'two' });
  for (const reply of [await mine.beat({ uuid: uuidOf(1) }), await sync(mine)]) {
    assert.ok(reply.kind === 'refused' && reply.code === 'resync');
  }
  assert.equal((await buildOf(world, 1))?.provisioned, false);
});

test('sends the list of a node again only after a change', async (t) => {
  const { mine, db } = await start(t);
  const first = await sync(mine);
  assert.ok(first.kind === 'node.page' && !first.unchanged && first.next === null);
  const again = await sync(mine, first.revision);
  assert.deepEqual(again, { ...first, unchanged: true, servers: [], eggs: {} });
  await mine.beat({ uuid: uuidOf(1) });
  assert.deepEqual(await sync(mine, first.revision), again, 'what it said itself is no change');
  await sql`update game_servers set port = 30000 where uuid = ${uuidOf(1)}`.execute(db);
  const changed = await sync(mine, first.revision);
  assert.ok(changed.kind === 'node.page' && !changed.unchanged);
  assert.equal(changed.servers[0]?.allocation.port, 30_000);
});

test('rejects two servers with one address and port, and a server with the service of another organisation', async (t) => {
  const { db } = await start(t);
  await assert.rejects(
    sql`update game_servers set port = 20002 where uuid = ${uuidOf(1)}`.execute(db),
    /game_servers_allocation/,
  );
  // An exchange in one transaction is no conflict.
  await sql`
    update game_servers set port = 40003 - port where uuid in (${uuidOf(1)}, ${uuidOf(2)})`.execute(
    db,
  );
  await sql`insert into services (id, organisation_id, name, owner) values (601, 2, 'lobby', 'fleet')`.execute(
    db,
  );
  await assert.rejects(
    sql`update game_servers set service_id = 601 where uuid = ${uuidOf(1)}`.execute(db),
    /foreign key/,
  );
  await assert.rejects(
    sql`update game_servers set identifier = null where uuid = ${uuidOf(2)}`.execute(db),
    /check/,
  );
});
