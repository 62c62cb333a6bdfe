import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { inSnapshot, loadAddressPolicy } from '../fleet/policies/policies.ts';
import { assertRefused, dataOf, type TestClient } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';
import { loadAssignments } from '../game-servers/nodes/store.ts';
import { TestNode } from '../game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '../game-servers/testing/servers.ts';

const IP = '198.51.100.10';
const SERVER = uuidOf(1);
const PORTS = `/api/x1/game-servers/${SERVER}/ports`;

interface Ports {
  readonly ports: readonly {
    readonly ip: string;
    readonly port: number;
    readonly name: string | null;
    readonly primary: boolean;
    readonly added: boolean;
  }[];
  readonly limit: number;
}

/** A server that may have three ports, on a node that gives 20,001 to 20,004; the address denies by default. */
async function start(t: TestContext) {
  const world = await startEnvironment(t);
  const { db, acme } = world;
  const node = await new TestNode(world.nodes, 'node-1', await addNode(db, 'node-1')).join();
  t.after(() => node.link.close());
  for (const number of [1, 2]) await addServer(db, { number });
  await sql`update game_servers set port_limit = 3`.execute(db);
  await sql`update nodes set addresses = ${[IP]}::inet[], given_ports = '20001-20004'`.execute(db);
  dataOf(await acme.put('/api/x1/firewall/defaults', { target: IP, default: 'deny' }));
  const open = async () => {
    const { rules } = await inSnapshot(db, (tx) => loadAddressPolicy(tx, IP));
    return rules.map(({ protocol, port }) => `${protocol} ${port}`);
  };
  const assigned = async () => {
    const { rows } = await sql<{ id: number }>`select id from nodes`.execute(db);
    const servers = await loadAssignments(db, rows[0]?.id ?? 0);
    return servers.find(({ uuid }) => uuid === SERVER);
  };
  return { ...world, node, open, assigned };
}

function shown({ ports }: Ports): string[] {
  return ports.map(
    ({ port, name, primary, added }) =>
      `${port} ${name ?? '-'}${primary ? ' first' : ''}${added ? ' added' : ''}`,
  );
}

async function listed(client: TestClient): Promise<string[]> {
  return shown(dataOf<Ports>(await client.get(PORTS)));
}

test('people add ports of the node up to the limit, name them, choose the first one and remove them', async (t) => {
  const { acme, open, node, assigned } = await start(t);
  assert.deepEqual(await listed(acme), ['20001 - first']);
  const added = await acme.post(PORTS, { name: 'voice', protocols: ['udp'] });
  assert.equal(added.status, 201, added.text);
  assert.deepEqual(await listed(acme), ['20001 - first', '20003 voice added']);
  await node.beat({ uuid: SERVER, power: 'running' });
  // The server opens none of its own, and what people added is open while it runs.
  assert.deepEqual(await open(), ['udp 20003']);
  const { message } = (await acme.post(PORTS, { port: 20_004 })).body as { message: string };
  assert.match(message, /runs: it has it at its next start/);
  assert.deepEqual((await open()).toSorted(), ['tcp 20004', 'udp 20003', 'udp 20004']);
  assertRefused(await acme.post(PORTS, {}), 422, 'limit_exceeded');
  dataOf(await acme.put(`${PORTS}/${IP}/20003`, { name: 'query' }));
  dataOf(await acme.post(`${PORTS}/${IP}/20003/primary`, {}));
  assert.deepEqual(await listed(acme), ['20003 query first added', '20001 -', '20004 - added']);
  const first = await assigned();
  assert.deepEqual(first?.allocation, { ip: IP, port: 20_003 });
  assert.deepEqual(
    first.ports.map(({ port }) => port),
    [20_003, 20_001, 20_004],
  );
  const statuses = dataOf<{ uuid: string; allocation: object }[]>(
    await acme.get('/api/x1/game-servers'),
  );
  const status = statuses.find(({ uuid }) => uuid === SERVER);
  assert.deepEqual(status?.allocation, { ip: IP, port: 20_003 });
  assertRefused(await acme.send('DELETE', `${PORTS}/${IP}/20003`), 422, 'conflict');
  dataOf(await acme.send('DELETE', `${PORTS}/${IP}/20004`));
  assert.deepEqual((await open()).toSorted(), ['tcp 20003', 'udp 20003']);
  dataOf(await acme.post(`${PORTS}/${IP}/20001/primary`, {}));
  dataOf(await acme.send('DELETE', `${PORTS}/${IP}/20003`));
  assert.deepEqual([await listed(acme), await open()], [['20001 - first'], []]);
  assert.deepEqual((await assigned())?.ports, []);
  await node.beat({ uuid: SERVER, power: 'offline' });
});

test('a port that was added is closed while its server does not run', async (t) => {
  const { acme, open, node } = await start(t);
  await node.beat({ uuid: SERVER, power: 'running' });
  dataOf(await acme.post(PORTS, { protocols: ['tcp'] }));
  for (const [power, ports] of [
    ['running', ['tcp 20003']],
    ['offline', []],
    ['starting', []],
    ['running', ['tcp 20003']],
  ] as const) {
    await node.beat({ uuid: SERVER, power });
    assert.deepEqual(await open(), ports, power);
  }
  // A heartbeat that does not name it says nothing of it.
  await node.beat();
  assert.deepEqual(await open(), []);
});

test('nobody takes what is not theirs: ports of others, of the operator, beyond the pool, or without the right', async (t) => {
  const { acme, other, session, client } = await start(t);
  assertRefused(await acme.post(PORTS, { port: 22 }), 422, 'invalid_request');
  assertRefused(await acme.post(PORTS, { port: 20_002 }), 422, 'no_capacity');
  assertRefused(await acme.post(PORTS, { name: 'primary' }), 422, 'invalid_request');
  for (const name of ['', 'Voice', 'a b', '../x', 'x'.repeat(64)]) {
    assertRefused(await acme.post(PORTS, { name }), 422, 'invalid_request');
  }
  for (const protocols of [[], ['icmp'], ['tcp', 'tcp']]) {
    assertRefused(await acme.post(PORTS, { protocols }), 422, 'invalid_request');
  }
  dataOf(await acme.post(PORTS, { name: 'voice' }));
  assertRefused(await acme.post(PORTS, { name: 'voice' }), 422, 'conflict');
  assertRefused(await acme.put(`${PORTS}/${IP}/20001`, { name: 'mine' }), 422, 'conflict');
  assertRefused(await acme.send('DELETE', `${PORTS}/${IP}/20001`), 422, 'conflict');
  for (const path of [`${IP}/20002`, `${IP}/1`, '192.0.2.1/20001', 'nowhere/20001', `${IP}/0`]) {
    assertRefused(await acme.send('DELETE', `${PORTS}/${path}`), 404, 'not_found');
    assertRefused(await acme.post(`${PORTS}/${path}/primary`, {}), 404, 'not_found');
  }
  assertRefused(await other.get(PORTS), 404, 'not_found');
  const reads = await client({ abilities: ['game-servers.read'] });
  assertRefused(await reads.post(PORTS, {}), 403, 'ability_missing');
  const portal = `/api/portal/organisations/acme/x1/game-servers/${SERVER}/ports`;
  dataOf(await session('member').get(portal));
  assertRefused(await session('read-only').get(portal), 403, 'ability_missing');
  const { rights } = dataOf<{ rights: string[] }>(
    await session('member').get(portal.replace('/ports', '/build')),
  );
  assert.ok(rights.includes('allocation.create'));
});

test('servers that are given ports at once are given different ones, and never more than their limit', async (t) => {
  const { acme, db } = await start(t);
  const second = PORTS.replace(SERVER, uuidOf(2));
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) => acme.post(index % 2 === 0 ? PORTS : second, {})),
  );
  const made = replies.filter(({ status }) => status === 201);
  assert.equal(made.length, 2, replies.map(({ status, text }) => `${status} ${text}`).join('\n'));
  const { rows } = await sql<{ port: number }>`select port from added_ports order by port`.execute(
    db,
  );
  assert.deepEqual(
    rows.map(({ port }) => port),
    [20_003, 20_004],
  );
});

test('two nodes of one address give no port twice', async (t) => {
  const { acme, db } = await start(t);
  await addNode(db, 'node-2');
  await sql`update nodes set addresses = ${[IP]}::inet[], given_ports = '20001-20004'`.execute(db);
  await sql`update game_servers set node_id = (select id from nodes where name = 'node-2')
             where uuid = ${uuidOf(2)}`.execute(db);
  const second = PORTS.replace(SERVER, uuidOf(2));
  for (let round = 0; round < 5; round += 1) {
    const replies = await Promise.all([acme.post(PORTS, {}), acme.post(second, {})]);
    for (const { status, text } of replies) assert.ok(status === 201 || status === 422, text);
    const { rows } = await sql<{ count: number; different: number }>`
      select count(*)::integer as count, count(distinct port)::integer as different from added_ports`.execute(
      db,
    );
    assert.equal(rows[0]?.count, rows[0]?.different);
    assert.ok((rows[0]?.count ?? 0) > 0);
    await sql`delete from added_ports`.execute(db);
  }
});
