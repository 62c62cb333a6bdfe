import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ABILITIES } from '@portcullis/core/access/abilities.ts';
import { rightsOfAbilities } from '@portcullis/core/access/server-rights.ts';
import { sql } from 'kysely';
import { assertRefused } from '../testing/client.ts';
import { IMPATIENT, OTHER, startEnvironment, type TestEnvironment } from '../testing/fixture.ts';
import { stateAnswer, TestNode } from './testing/node.ts';
import { addNode, addServer, uuidOf } from './testing/servers.ts';

const LIST = '/api/v1/game-servers';
const at = (number: number): string => `${LIST}/${uuidOf(number)}`;

async function start(
  t: TestContext,
  overrides: Parameters<typeof startEnvironment>[1] = {},
): Promise<TestEnvironment & { readonly node: TestNode }> {
  const world = await startEnvironment(t, overrides);
  const credential = await addNode(world.db, 'node-1');
  const node = await new TestNode(world.nodes, 'node-1', credential).join();
  t.after(() => node.link.close());
  return { ...world, node };
}

function namesOf(body: unknown): string[] {
  return (body as { data: { name: string }[] }).data.map(({ name }) => name);
}
function dataOf(body: unknown): Record<string, unknown> {
  return (body as { data: Record<string, unknown> }).data;
}

/** Another organisation with a service, and server 900 on it. */
async function addForeign(world: TestEnvironment): Promise<void> {
  await sql`insert into services (id, organisation_id, name, owner) values (601, ${OTHER}, 'lobby', 'fleet')`.execute(
    world.db,
  );
  await addServer(world.db, { number: 900, service: 601 });
}

test('lists servers in the specified form by name, then uuid, without live state', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 3, name: 'beta' });
  await addServer(world.db, { number: 2, name: 'alpha' });
  await addServer(world.db, { number: 1, name: 'beta', built: false });
  await addForeign(world);
  const { status, body } = await world.acme.get(LIST);
  assert.equal(status, 200);
  const limits = { memory: 1024, cpu: 200, disk: 2048 };
  const common = { service_id: 501, limits };
  assert.deepEqual(body, {
    data: [
      { uuid: uuidOf(2), identifier: '6f1c2f1e', name: 'alpha', provisioned: true, ...common },
      { uuid: uuidOf(1), identifier: null, name: 'beta', provisioned: false, ...common },
      { uuid: uuidOf(3), identifier: '6f1c2f1e', name: 'beta', provisioned: true, ...common },
    ],
  });
  assert.deepEqual(world.node.calls, []);
});

test('lets a key see its servers and instruct those with the ability', async (t) => {
  const world = await start(t);
  for (const number of [1, 2, 3]) await addServer(world.db, { number });
  await addForeign(world);
  const some = await world.client({
    servers: [uuidOf(1), uuidOf(2), uuidOf(900)],
    managedServers: [uuidOf(2), uuidOf(3)],
  });
  assert.deepEqual(namesOf((await some.get(LIST)).body), ['server 1', 'server 2']);
  const power = { signal: 'start' };
  for (const [number, reads, instructs] of [
    [1, true, false],
    [2, true, true],
    [3, false, false],
    [900, false, false],
  ] as const) {
    const wanted = (yes: boolean): number => (yes ? 200 : 404);
    assert.equal((await some.get(at(number))).status, wanted(reads), `read ${number}`);
    const reply = await some.post(`${at(number)}/power`, power);
    assert.equal(reply.status, wanted(instructs), `power ${number}`);
    const output = await some.post(`${at(number)}/command`, { command: 'say hi' });
    assert.equal(output.status, wanted(instructs), `command ${number}`);
    const seen = await some.get(`/api/x1/game-servers/${uuidOf(number)}/console`);
    assert.equal(seen.status, wanted(instructs), `console ${number}`);
  }
  assert.deepEqual([...new Set(world.node.calls.map(({ uuid }) => uuid))].toSorted(), [
    uuidOf(1),
    uuidOf(2),
  ]);
  const none = await world.client({ servers: [] });
  assert.deepEqual(namesOf((await none.get(LIST)).body), []);
});

test('answers the same 404 for a server of another organisation, an identifier, an upper-case or malformed uuid', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  await addForeign(world);
  assert.equal(
    (await world.acme.get(at(1).toUpperCase().replace(LIST.toUpperCase(), LIST))).status,
    200,
  );
  const texts = new Set<string>();
  for (const slice of [
    uuidOf(900),
    uuidOf(77),
    '6f1c2f1e',
    `{${uuidOf(1)}}`,
    `urn:uuid:${uuidOf(1)}`,
    uuidOf(1).replaceAll('-', ''),
    `${uuidOf(1)}0`,
    '1',
    'null',
    '%00',
    "' or 1=1 --",
  ]) {
    const path = `${LIST}/${encodeURIComponent(slice)}`;
    for (const reply of [
      await world.acme.get(path),
      await world.acme.post(`${path}/power`, { signal: 'start' }),
      await world.acme.post(`${path}/command`, { command: 'x' }),
      await world.acme.get(`/api/x1/game-servers/${encodeURIComponent(slice)}/build`),
    ]) {
      assertRefused(reply, 404, 'not_found');
      texts.add(reply.text);
    }
  }
  assert.equal(texts.size, 1);
  assert.deepEqual(
    world.node.calls.filter(({ call }) => call.kind !== 'look'),
    [],
  );
});

test('shows the current state from the node in the detail, with a tag that changes with it', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  world.node.answer = () => stateAnswer('running');
  const first = await world.acme.get(at(1));
  assert.equal(dataOf(first.body)['state'], 'running');
  assert.deepEqual(dataOf(first.body)['resources'], {
    memory_bytes: 512,
    memory_limit_bytes: 1024,
    cpu_absolute: 12.345,
    disk_bytes: 7,
    network_rx_bytes: 8,
    network_tx_bytes: 9,
    uptime: 61_000,
  });
  const tag = first.headers.get('etag') ?? '';
  assert.equal((await world.acme.get(at(1), { 'if-none-match': tag })).status, 304);
  world.node.answer = () => stateAnswer('stopping');
  const second = await world.acme.get(at(1), { 'if-none-match': tag });
  assert.equal(second.status, 200);
  assert.equal(dataOf(second.body)['state'], 'stopping');
});

test('answers null for state and resources when they are unknown, and keeps the rest', async (t) => {
  const world = await start(t, { nodeTimeouts: IMPATIENT });
  await addServer(world.db, { number: 1 });
  await addServer(world.db, { number: 2, built: false });
  const unknown = async (number: number, why: string): Promise<void> => {
    const reply = await world.acme.get(at(number));
    assert.equal(reply.status, 200, why);
    const { state, resources, uuid } = dataOf(reply.body);
    assert.deepEqual(
      { state, resources, uuid },
      { state: null, resources: null, uuid: uuidOf(number) },
      why,
    );
  };
  world.node.answer = () => ({ kind: 'refused', reason: 'I do not know it.' });
  await unknown(1, 'the node refuses');
  world.node.answer = () => ({ kind: 'accepted' });
  await unknown(1, 'the node answers something else');
  world.node.answer = () => null;
  await unknown(1, 'the node hangs');
  world.node.calls.length = 0;
  await unknown(2, 'it is not provisioned');
  assert.deepEqual(world.node.calls, []);
  await world.node.link.close();
  await unknown(1, 'the node is not connected');
});

test('ignores an answer after the timeout', async (t) => {
  const world = await start(t, { nodeTimeouts: { ...IMPATIENT, readMs: 2_000 } });
  await addServer(world.db, { number: 1 });
  world.node.answer = () => stateAnswer('running');
  world.node.delayMs = 2_100;
  assert.equal(dataOf((await world.acme.get(at(1))).body)['state'], null);
  // It comes while another one is waited for.
  world.node.delayMs = 200;
  world.node.answer = () => stateAnswer('offline');
  assert.equal(dataOf((await world.acme.get(at(1))).body)['state'], 'offline');
});

test('shows in the build why a server is not ready, with its install log', async (t) => {
  const world = await start(t);
  const uuid = await addServer(world.db, { number: 1, built: false });
  const path = `/api/x1/game-servers/${uuid}/build`;
  assert.equal(dataOf((await world.acme.get(path)).body)['state'], 'waiting');
  await world.node.beat({
    uuid,
    state: 'failed',
    reason: 'It ended with code 1.',
    log: 'disk full',
  });
  const port = { ip: '198.51.100.10', port: 20_001 };
  assert.deepEqual(dataOf((await world.acme.get(path)).body), {
    uuid,
    state: 'failed',
    reason: 'It ended with code 1.',
    log: 'disk full',
    epoch: 1,
    node: 'node-1',
    node_connected: true,
    egg: 'eggs/test.json',
    suspended: false,
    own: false,
    rights: [...rightsOfAbilities(ABILITIES)],
    problem: null,
    allocation: port,
    allocations: [],
    suggested_filters: [
      { ...port, protocol: 'tcp', type: 'tcp-syn-proxy', name: 'TCP SYN proxy' },
      { ...port, protocol: 'udp', type: 'udp-stateful', name: 'UDP stateful' },
    ],
    open_while_running: false,
    ports_open: false,
  });
});

test('shows the problem of a server as its node reports it, also if the state is unknown', async (t) => {
  const world = await start(t, { nodeTimeouts: IMPATIENT });
  const uuid = await addServer(world.db, { number: 1 });
  const problem = async (): Promise<unknown> =>
    dataOf((await world.acme.get(`/api/x1/game-servers/${uuid}/build`)).body)['problem'];
  const why = 'It could not be started: Port 20001/tcp is in use.';
  world.node.answer = () => stateAnswer('offline', why);
  assert.equal(await problem(), why);
  world.node.answer = () => ({ kind: 'refused', reason: 'The engine does not answer.' });
  assert.equal(await problem(), 'The engine does not answer.');
  world.node.answer = () => null;
  assert.equal(await problem(), null);
});

test('returns the last console lines, and null if they are unknown', async (t) => {
  const world = await start(t, { nodeTimeouts: IMPATIENT });
  const uuid = await addServer(world.db, { number: 1 });
  const path = `/api/x1/game-servers/${uuid}/console`;
  world.node.answer = ({ call }) =>
    call.kind === 'lines'
      ? { kind: 'lines', lines: ['a', 'b', 'c', 'd'], lastNumber: 44 }
      : { kind: 'accepted' };
  assert.deepEqual((await world.acme.get(`${path}?lines=3`)).body, {
    data: { lines: ['b', 'c', 'd'], last_number: 44 },
  });
  const line = '\u001b[31mred\u001b[0m\u001b]0;title\u0007 \u001b[2Jtext';
  world.node.answer = () => ({ kind: 'lines', lines: [line], lastNumber: 45 });
  const linesOf = async (query: string): Promise<unknown> =>
    dataOf((await world.acme.get(`${path}${query}`)).body)['lines'];
  assert.deepEqual(await linesOf(''), ['red text']);
  assert.deepEqual(await linesOf('?colours=true'), ['\u001b[31mred\u001b[0m text']);
  assertRefused(await world.acme.get(`${path}?lines=0`), 422, 'invalid_request');
  assertRefused(await world.acme.get(`${path}?lines=1001`), 422, 'invalid_request');
  world.node.answer = () => null;
  assert.deepEqual((await world.acme.get(path)).body, {
    data: { lines: null, last_number: null },
  });
});

test('installs a server again for a key that may instruct it, and audits that', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  await addForeign(world);
  const path = (number: number) => `/api/x1/game-servers/${uuidOf(number)}/reinstall`;
  const reply = await world.acme.post(path(1), null);
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual((reply.body as { data: object }).data, { uuid: uuidOf(1), epoch: 2 });
  const { rows } = await sql`
    select actor, target from audit where action = 'server.reinstall'`.execute(world.db);
  assert.equal(rows.length, 1);
  assertRefused(await world.acme.post(path(900), null), 404, 'not_found');
  const reader = await world.client({ abilities: ['game-servers.read'] });
  assertRefused(await reader.post(path(1), null), 403, 'ability_missing');
});
