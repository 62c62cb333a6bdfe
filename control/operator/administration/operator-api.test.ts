import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { createJoinKey } from '@portcullis/link/join-key.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import type { Db } from '../../db/database.ts';
import { applyText } from '../fleet-file/testing.ts';
import { assertRefused, dataOf, type TestClient, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const API = OPERATOR_PREFIX;
const HIVE = `${API}/organisations/hive`;
const NODES = `${API}/nodes`;
const SERVERS = `${API}/game-servers`;
const LIMITS = { memory: 1_024, cpu: 100, disk: 2_048 };
const SERVER = {
  organisation: 'hive',
  service: 900,
  external_id: 'whmcs-4711',
  name: 'Survival',
  egg: 'eggs/flying-squid.json',
  limits: LIMITS,
};

interface Server {
  readonly uuid: string;
  readonly node: string;
  readonly external_id: string | null;
  readonly suspended: boolean;
  readonly limits: typeof LIMITS;
  readonly variables: Readonly<Record<string, string>>;
  readonly allocations: readonly { readonly ip: string; readonly port: number }[];
  readonly build: { readonly state: string };
  readonly owner: string;
}

async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const operator = await environment.client({
    organisationId: null,
    abilities: ['operator.read', 'operator.manage'],
  });
  return { ...environment, operator };
}

/** The customer hive with a service, and a node that offers an address. */
async function startWithCustomer(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await start(t);
  const { operator, db } = environment;
  dataOf(await operator.put(HIVE, { name: 'Hive', external_id: 'whmcs-17' }));
  dataOf(await operator.put(`${HIVE}/services/900`, { name: 'lobby' }));
  const offer = { memory: 4_096, addresses: ['198.51.100.20'], ports: '25565-25566' };
  dataOf(await operator.put(`${NODES}/big`, offer));
  await connect(db, 'big');
  return environment;
}

async function connect(db: Db, name: string): Promise<void> {
  const engine = JSON.stringify({ kind: 'docker', version: '27', problem: null });
  await sql`update nodes set last_seen_at = now(), engine = ${engine}::jsonb where name = ${name}`.execute(
    db,
  );
}

function one(reply: TestReply): Server {
  const [server, ...others] = [dataOf<Server | Server[]>(reply)].flat();
  assert.ok(server);
  assert.deepEqual(others, []);
  return server;
}

async function auditedBy(db: Db): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select action || ' ' || target as line from audit
     where actor_kind = 'operator' and actor like 'test (%)' order by id`.execute(db);
  return rows.map(({ line }) => line);
}

/** Sends a write twice under one key: the second answer must be the first. */
async function twice(
  client: TestClient,
  method: string,
  path: string,
  json?: object,
): Promise<TestReply> {
  const send = () =>
    client.send(method, path, {
      headers: { 'idempotency-key': `${method} ${path}`.replaceAll(' ', '-') },
      ...(json !== undefined && { json }),
    });
  const first = await send();
  const again = await send();
  assert.equal(again.headers.get('idempotency-replayed'), 'true', again.text);
  assert.equal(again.status, first.status);
  const secrets = /"(secret|command)":"[^"]+"/;
  assert.equal(again.text, first.text.replace(secrets, '"$1":null'));
  return first;
}

test('a billing system makes a customer with prefix, key, service and server, and ends it', async (t) => {
  const { operator, db, anonymous } = await startWithCustomer(t);
  dataOf(await operator.put(HIVE, { name: 'Hive', external_id: 'whmcs-17' }));
  dataOf(await operator.put(HIVE, { name: 'Hive 2', flags: ['firewall_api'] }));
  const found = dataOf<{ slug: string; name: string; flags: string[] }[]>(
    await operator.get(`${API}/organisations?external_id=whmcs-17`),
  );
  assert.deepEqual(
    found.map(({ slug, name, flags }) => [slug, name, flags]),
    [['hive', 'Hive 2', ['firewall_api']]],
  );
  dataOf(await twice(operator, 'POST', `${HIVE}/holdings`, { prefix: '198.18.5.0/24' }));
  const key = dataOf<{ id: number; secret: string }>(
    await twice(operator, 'POST', `${HIVE}/keys`, { name: 'panel', abilities: ['firewall.read'] }),
  );
  const panel = anonymous(`Bearer ${key.secret}`);
  assert.equal((await panel.get('/api/v1/firewall/ips/198.18.5.7')).status, 200);

  const server = one(await twice(operator, 'POST', SERVERS, SERVER));
  assert.equal(server.node, 'big');
  assert.deepEqual(
    server.allocations.map(({ ip, port }) => [ip, port]),
    [['198.51.100.20', 25_565]],
  );
  // The same order without its Idempotency-Key makes no second one.
  assert.equal(one(await operator.post(SERVERS, SERVER)).uuid, server.uuid);
  const differs = await operator.post(SERVERS, { ...SERVER, limits: { ...LIMITS, memory: 2_048 } });
  assert.match(assertRefused(differs, 422, 'conflict')['detail'] as string, /memory 1024 -> 2048/);

  const path = `${SERVERS}/${server.uuid}`;
  const more = { limits: { ...LIMITS, memory: 2_048 }, variables: { MOTD: 'welcome' } };
  const changed = one(await operator.send('PATCH', path, { json: more }));
  assert.deepEqual([changed.limits.memory, changed.variables], [2_048, { MOTD: 'welcome' }]);
  assert.equal(one(await twice(operator, 'POST', `${path}/suspend`)).suspended, true);
  assert.equal(one(await operator.post(`${path}/suspend`, undefined)).suspended, true);
  assert.equal(one(await twice(operator, 'POST', `${path}/unsuspend`)).suspended, false);
  assert.equal(one(await twice(operator, 'POST', `${path}/reinstall`)).build.state, 'waiting');
  assert.equal(one(await operator.get(`${SERVERS}?external_id=whmcs-4711`)).uuid, server.uuid);
  const early = await operator.send('DELETE', HIVE);
  assert.match(
    assertRefused(early, 422, 'conflict')['detail'] as string,
    /1 game server and 1 holding/,
  );
  dataOf(await twice(operator, 'DELETE', path));
  assertRefused(await operator.get(path), 404, 'not_found');

  const [holding] = dataOf<{ id: number }[]>(await operator.get(`${HIVE}/holdings`));
  dataOf(await operator.send('DELETE', `${HIVE}/holdings/${holding?.id}`));
  dataOf(await operator.send('DELETE', HIVE));
  const keys = dataOf<{ id: number; revoked_at: string | null }[]>(
    await operator.get(`${HIVE}/keys`),
  );
  assert.deepEqual(
    keys.map(({ id, revoked_at }) => [id, revoked_at === null]),
    [[key.id, false]],
  );
  const trail = (await auditedBy(db)).join('\n');
  for (const line of [
    'organisation.create organisation:hive',
    'service.create service:900',
    'node.create node:big',
    'holding.create 198.18.5.0/24',
    `key.create key:${key.id}`,
    `server.create server:${server.uuid}`,
    `server.change server:${server.uuid}`,
    `server.suspend server:${server.uuid}`,
    `server.unsuspend server:${server.uuid}`,
    `server.reinstall server:${server.uuid}`,
    `server.remove server:${server.uuid}`,
    'organisation.remove organisation:hive',
  ]) {
    assert.equal(trail.split(line).length, 2, `${line} once in\n${trail}`);
  }
});

test('a refusal of a place names each node and what it lacks', async (t) => {
  const { operator, db } = await startWithCustomer(t);
  dataOf(await operator.put(`${NODES}/away`, { memory: 65_536, addresses: ['198.51.100.21'] }));
  dataOf(await operator.put(`${NODES}/bare`, {}));
  await connect(db, 'bare');
  const big = { ...SERVER, external_id: null, limits: { ...LIMITS, memory: 8_192 } };
  const refused = assertRefused(await operator.post(SERVERS, big), 422, 'no_capacity');
  assert.equal(
    refused['detail'],
    'No node has room for it: away is not connected; bare lists no address from which a port could be given; big has 4096 of 4096 MiB of memory left, and 8192 are needed.',
  );
  for (const name of ['a', 'b'])
    dataOf(await operator.post(SERVERS, { ...SERVER, external_id: name }));
  const third = await operator.post(SERVERS, { ...SERVER, external_id: 'c', node: 'big' });
  assert.match(
    assertRefused(third, 422, 'no_capacity')['detail'] as string,
    /big has no free port/,
  );
  const taken = { ...SERVER, external_id: 'd', node: 'big', name: 'Fourth' };
  const port = [{ ip: '198.51.100.20', port: 25_566 }];
  const clash = await operator.post(SERVERS, { ...taken, allocations: port });
  assert.deepEqual(assertRefused(clash, 422, 'conflict')['errors'], [
    { pointer: '/allocations/0', detail: '198.51.100.20 port 25566 is that of Survival.' },
  ]);
  const wrong = { ...taken, node: 'none', egg: '../../etc/passwd' };
  assertRefused(await operator.post(SERVERS, wrong), 422, 'invalid_request');
  const egg = await operator.post(SERVERS, {
    ...taken,
    node: 'bare',
    egg: '/etc/passwd',
    allocations: port,
  });
  assert.match(
    assertRefused(egg, 422, 'invalid_request')['detail'] as string,
    /no egg \/etc\/passwd in the library/,
  );
});

test('a server may have an egg of its own, and its variables keep to the rules', async (t) => {
  const { operator } = await startWithCustomer(t);
  const { data: eggs } = (await operator.get(`${API}/eggs`)).body as { data: { name: string }[] };
  assert.ok(eggs.some(({ name }) => name === 'eggs/flying-squid.json'));
  const document = {
    meta: { version: 'PTDL_v2' },
    name: 'Own',
    docker_images: { main: '~own' },
    startup: './run',
    config: { startup: '{"done": "up"}', stop: 'stop', files: '{}' },
    scripts: { installation: null },
    variables: [
      {
        name: 'Seats',
        env_variable: 'SEATS',
        default_value: '8',
        rules: 'required|integer|max:16',
      },
    ],
  };
  const own = { ...SERVER, egg: 'own', egg_document: document };
  const refused = assertRefused(
    await operator.post(SERVERS, { ...own, variables: { SEATS: 64 } }),
    422,
    'invalid_request',
  );
  assert.equal((refused['errors'] as { pointer: string }[])[0]?.pointer, '/variables/SEATS');
  const server = one(await operator.post(SERVERS, { ...own, variables: { SEATS: 12 } }));
  assert.deepEqual(server.variables, { SEATS: '12' });
  const renamed = one(
    await operator.send('PATCH', `${SERVERS}/${server.uuid}`, { json: { name: 'Renamed' } }),
  );
  assert.deepEqual(renamed.variables, { SEATS: '12' });
});

test('edges, nodes and collectors are made with the command by which their host joins', async (t) => {
  const { operator, db } = await start(t);
  const fleet = `${API}/fleet`;
  dataOf(await operator.put(`${API}/edges/fra1`, { devices: ['eth0'] }));
  dataOf(
    await operator.put(`${API}/edges/fra1`, { devices: ['eth1'], serves: ['203.0.113.0/24'] }),
  );
  dataOf(await operator.put(`${API}/nodes/n1`, {}));
  const exporters = [{ ip: '192.0.2.1', sampling_rate: 1_000, prefixes: 'all' }];
  dataOf(await operator.put(`${API}/collectors/c1`, { listen: '0.0.0.0:6343', exporters }));
  const { rows } = await sql<{ line: string }>`
    select name || ' ' || site || ' ' || devices::text || ' ' || serves::text || ' ' || owner as line from edges`.execute(
    db,
  );
  assert.deepEqual(rows, [{ line: 'fra1 fra1 {eth1} {203.0.113.0/24} portal' }]);
  for (const [kind, name] of [
    ['edges', 'fra1'],
    ['nodes', 'n1'],
    ['collectors', 'c1'],
  ]) {
    const made = await twice(operator, 'POST', `${fleet}/${kind}/${name}/join`, { approve: true });
    const { command } = dataOf<{ command: string }>(made);
    const token = new RegExp(
      `^portcullis ${kind?.slice(0, -1)} join https://portcullis.example (\\S+)$`,
    ).exec(command)?.[1];
    assert.ok(token !== undefined, command);
    const key = createJoinKey();
    const agent = kind?.slice(0, -1) as 'edge' | 'node' | 'collector';
    const join = { kind: agent, token, ...key.prove(agent, token) };
    const host = () =>
      operator.post('/api/portal/agents/join', join, { 'sec-fetch-site': 'same-origin' });
    assert.deepEqual(dataOf(await host()), { name, credential: null });
    const wrong = { fingerprint: createJoinKey().fingerprint };
    const refused = await operator.post(`${fleet}/${kind}/${name}/approve`, wrong);
    assert.match(
      JSON.stringify(assertRefused(refused, 404, 'not_found')),
      new RegExp(`${key.fingerprint} at 127.0.0.1`),
    );
    const approved = dataOf<{ addresses: string[] }>(
      await operator.post(`${fleet}/${kind}/${name}/approve`, { fingerprint: key.fingerprint }),
    );
    assert.deepEqual(approved.addresses, ['127.0.0.1']);
    assert.ok(dataOf<{ credential: string }>(await host()).credential.length > 20);
    dataOf(await operator.send('DELETE', `${API}/${kind}/${name}?allow_losses=true`));
  }
  const bad = await operator.put(`${API}/edges/x`, {
    devices: ['eth0'],
    serves: ['203.0.113.0/33'],
  });
  assert.match(JSON.stringify(assertRefused(bad, 422, 'invalid_request')['errors']), /serves\/0/);
});

test('what the fleet file owns is shown, refused and named', async (t) => {
  const { operator, db } = await start(t);
  await sql`delete from api_keys where organisation_id is not null`.execute(db);
  await applyText(
    db,
    `organisations:
  hive: { name: Hive, services: [{ id: 900, name: s, addresses: [{ ip: 198.51.100.10 }] }], prefixes: [{ cidr: 198.18.5.0/24 }] }
edges: [{ name: fra1, devices: [eth0] }]
nodes: [{ name: n1 }]
collectors: [{ name: c1, listen: "0.0.0.0:6343", exporters: [{ ip: 192.0.2.1, prefixes: all }] }]
game_servers:
- { uuid: 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11, organisation: hive, service: 900, name: s, node: n1, egg: test.json,
    limits: { memory: 1024, cpu: 100, disk: 2048 }, allocation: { ip: 198.51.100.10, port: 25565 } }
`,
    true,
  );
  const uuid = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
  const [holding] = dataOf<{ id: number }[]>(await operator.get(`${HIVE}/holdings`));
  const exporters = [{ ip: '192.0.2.9', prefixes: 'all' }];
  const attempts: readonly (readonly [string, string, object?])[] = [
    ['PUT', HIVE, { name: 'Mine' }],
    ['DELETE', HIVE],
    ['PUT', `${HIVE}/services/900`, { name: 'mine', active: false }],
    ['DELETE', `${HIVE}/holdings/${holding?.id}`],
    ['PUT', `${API}/edges/fra1`, { devices: ['lo'] }],
    ['PUT', `${API}/nodes/n1`, {}],
    ['PUT', `${API}/collectors/c1`, { listen: '0.0.0.0:1', exporters }],
    ['DELETE', `${API}/edges/fra1`],
    ['PATCH', `${SERVERS}/${uuid}`, { name: 'mine' }],
    ['POST', `${SERVERS}/${uuid}/suspend`],
    ['POST', `${SERVERS}/${uuid}/reinstall`],
    ['DELETE', `${SERVERS}/${uuid}`],
  ];
  for (const [method, path, json] of attempts) {
    const reply = await operator.send(method, path, json === undefined ? {} : { json });
    const { detail } = assertRefused(reply, 422, 'managed_by_fleet_file');
    assert.match(
      String(detail),
      /belongs to the fleet file: change it there\. It is fleet\.yaml\./,
    );
  }
  assert.equal(one(await operator.get(`${SERVERS}/${uuid}`)).owner, 'fleet');
});

test('a key of the operator opens its rows and no other, by its abilities and sources', async (t) => {
  const { client, acme, db } = await start(t);
  const reader = await client({ organisationId: null, abilities: ['operator.read'] });
  const elsewhere = await client({
    organisationId: null,
    abilities: ['operator.read'],
    sources: ['192.0.2.0/24'],
  });
  for (const { method, path, operationId, operator, body } of OPERATOR_ENDPOINTS.map(
    (row): { body?: object } & typeof row => row,
  )) {
    const url = API + path.replaceAll(/\{\w+\}/g, '1');
    const json = body === undefined ? {} : { json: {} };
    assertRefused(await acme.send(method, url, json), 403, 'ability_missing');
    assertRefused(await elsewhere.send(method, url, json), 401, 'unauthenticated');
    const reply = await reader.send(method, url, json);
    if (operator === 'operator.manage') assertRefused(reply, 403, 'ability_missing');
    else assert.ok(reply.status === 200 || reply.status === 404, `${operationId}: ${reply.text}`);
  }
  for (const path of ['/api/v1/game-servers', '/api/x1/caller', '/api/x1/events']) {
    assertRefused(await reader.get(path), 403, 'ability_missing');
  }
  assertRefused(await reader.get('/api/portal/operator/organisations'), 401, 'unauthenticated');
  await assert.rejects(
    client({ organisationId: null, abilities: ['firewall.read'] }),
    /no ability/,
  );
  await assert.rejects(client({ abilities: ['operator.manage'] }), /no ability/);
  await assert.rejects(
    sql`update api_keys set abilities = '{operator.manage}' where organisation_id = 1`.execute(db),
    /check/,
  );
});
