import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { SERVER_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import { sql } from 'kysely';
import { SAME_SITE, PASSWORD } from '../accounts/testing.ts';
import { addNode, addServer, uuidOf } from '../game-servers/testing/servers.ts';
import { TestNode } from '../game-servers/testing/node.ts';
import {
  assertRefused,
  createSessionClient,
  dataOf,
  type TestClient,
  type TestReply,
} from '../testing/client.ts';
import { startEnvironment, type TestEnvironment } from '../testing/fixture.ts';

const SERVERS = '/api/portal/organisations/acme';
const x1 = (number: number): string => `${SERVERS}/x1/game-servers/${uuidOf(number)}`;
const v1 = (number: number): string => `${SERVERS}/v1/game-servers/${uuidOf(number)}`;
const FRIEND = 'friend@example.net';
const CONSOLE = ['control.console', 'control.restart'];

interface World extends TestEnvironment {
  readonly node: TestNode;
}

/** Two servers of acme on a node that accepts everything. */
async function start(t: TestContext): Promise<World> {
  const env = await startEnvironment(t);
  const node = await new TestNode(env.nodes, 'node-1', await addNode(env.db, 'node-1')).join();
  t.after(() => node.link.close());
  for (const number of [1, 2]) await addServer(env.db, { number });
  return { ...env, node };
}

function tokenOf(reply: TestReply): string {
  return /#(\S+)$/.exec(dataOf<{ url: string }>(reply).url)?.[1] ?? '';
}

/** Accepts an invitation with a new account; its session. */
async function accept(env: TestEnvironment, token: string): Promise<TestClient> {
  const json = { token, name: 'Friend', password: PASSWORD };
  const reply = await env
    .anonymous()
    .send('POST', '/api/portal/links/accept', { json, headers: SAME_SITE });
  assert.equal(reply.status, 200, reply.text);
  const cookie = /^__Host-portcullis=([^;]*)/.exec(reply.headers.get('set-cookie') ?? '')?.[1];
  return createSessionClient(env.url, cookie ?? '');
}

async function befriend(env: TestEnvironment, rights = CONSOLE): Promise<TestClient> {
  const invited = { email: FRIEND, rights };
  return accept(env, tokenOf(await env.session('admin').post(`${x1(1)}/people`, invited)));
}

async function idOf(env: TestEnvironment, email = FRIEND): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select id from people where email = ${email}`.execute(env.db);
  return rows[0]?.id ?? 0;
}

test('a friend restarts and reads the console of one server, and reaches nothing else of the organisation', async (t) => {
  const world = await start(t);
  const friend = await befriend(world);
  const who = dataOf<{ organisations: object[] }>(await friend.get('/api/portal/session'));
  assert.deepEqual(who.organisations, [
    { slug: 'acme', name: 'Acme Hosting', role: 'guest', owner: 'fleet' },
  ]);
  const list = await friend.get(`${SERVERS}/x1/game-servers`);
  assert.deepEqual(
    dataOf<{ uuid: string }[]>(list).map(({ uuid }) => uuid),
    [uuidOf(1)],
  );
  assert.equal((await friend.get(`${x1(1)}/console`)).status, 200);
  assert.equal((await friend.post(`${v1(1)}/power`, { signal: 'restart' })).status, 200);
  assert.equal((await friend.post(`${v1(1)}/command`, { command: 'say hi' })).status, 200);
  for (const signal of ['stop', 'kill', 'start']) {
    const refused = await friend.post(`${v1(1)}/power`, { signal });
    assertRefused(refused, 403, 'ability_missing');
    assert.match(refused.text, /control\.(?:start|stop)/);
  }
  assertRefused(await friend.post(`${x1(1)}/reinstall`, {}), 403, 'ability_missing');
  assertRefused(await friend.get(`${x1(1)}/people`), 403, 'ability_missing');
  for (const path of [v1(2), `${x1(2)}/console`, `${x1(2)}/build`]) {
    assertRefused(await friend.get(path), 404, 'not_found');
  }
  for (const path of ['/x1/firewall/ips', '/v1/attacks', '/members', '/keys', '/webhooks']) {
    const reply = await friend.get(`${SERVERS}${path}`);
    assert.equal(reply.status, 403, `${path}: ${reply.text}`);
  }
  assert.deepEqual([...new Set(world.node.calls.map(({ uuid }) => uuid))], [uuidOf(1)]);
});

test('rights that were taken away end at once: for requests, for an open stream, for invitations made by them', async (t) => {
  const world = await start(t);
  const friend = await befriend(world, [...CONSOLE, 'user.create']);
  const another = await friend.post(`${x1(1)}/people`, {
    email: 'other@example.net',
    rights: ['control.restart'],
  });
  const token = tokenOf(another);
  const path = `${x1(1)}/people/${await idOf(world)}`;
  const owner = world.session('owner');
  assert.equal(
    (await owner.send('PUT', path, { json: { rights: ['control.restart'] } })).status,
    200,
  );
  assertRefused(await friend.get(`${x1(1)}/console`), 403, 'ability_missing');
  const read = await world
    .anonymous()
    .send('POST', '/api/portal/links/read', { json: { token }, headers: SAME_SITE });
  assertRefused(read, 404, 'not_found');
  assert.equal((await owner.send('DELETE', path)).status, 200);
  assertRefused(await friend.post(`${v1(1)}/power`, { signal: 'restart' }), 404, 'not_found');
  assertRefused(await friend.get(`${SERVERS}/x1/game-servers`), 404, 'not_found');
  assertRefused(await owner.send('DELETE', path), 404, 'not_found');
});

test('nobody gives, changes or takes rights that he lacks, and a bad list says where', async (t) => {
  const world = await start(t);
  const friend = await befriend(world, [
    'control.restart',
    'user.create',
    'user.update',
    'user.delete',
  ]);
  const more = await friend.post(`${x1(1)}/people`, {
    email: 'x@example.net',
    rights: ['control.restart', 'file.read'],
  });
  assertRefused(more, 422, 'invalid_request');
  assert.match(more.text, /\/rights\/1/);
  const unknown = await friend.post(`${x1(1)}/people`, {
    email: 'x@example.net',
    rights: ['constructor'],
  });
  assertRefused(unknown, 422, 'invalid_request');
  const own = `${x1(1)}/people/${await idOf(world)}`;
  const all = { rights: [...SERVER_RIGHTS] };
  assertRefused(await friend.send('PUT', own, { json: all }), 422, 'invalid_request');
  const owner = world.session('owner');
  const strong = tokenOf(
    await owner.post(`${x1(1)}/people`, { email: 'strong@example.net', ...all }),
  );
  await accept(world, strong);
  const path = `${x1(1)}/people/${await idOf(world, 'strong@example.net')}`;
  for (const method of ['PUT', 'DELETE'] as const) {
    const reply = await friend.send(
      method,
      path,
      method === 'PUT' ? { json: { rights: CONSOLE } } : {},
    );
    assertRefused(reply, 403, 'ability_missing');
  }
  assertRefused(
    await world
      .session('member')
      .post(`${x1(1)}/people`, { email: 'y@example.net', rights: CONSOLE }),
    403,
    'ability_missing',
  );
});

test('an invitation by a key counts only while the key could make it', async (t) => {
  const world = await start(t);
  const abilities = ['game-servers.read', 'game-servers.manage', 'game-servers.settings'] as const;
  const key = await world.client({ abilities: [...abilities], servers: [uuidOf(1)] });
  const people = `/api/x1/game-servers/${uuidOf(1)}/people`;
  const invited = { email: FRIEND, rights: CONSOLE };
  const token = tokenOf(await key.post(people, invited));
  assertRefused(
    await key.post(`/api/x1/game-servers/${uuidOf(2)}/people`, invited),
    404,
    'not_found',
  );
  const listed = dataOf<{ invitations: { id: number }[] }>(await key.get(people));
  assert.equal(listed.invitations.length, 1);
  await sql`update api_keys set abilities = '{game-servers.read,game-servers.settings}' where servers is not null`.execute(
    world.db,
  );
  const read = () =>
    world
      .anonymous()
      .send('POST', '/api/portal/links/read', { json: { token }, headers: SAME_SITE });
  assertRefused(await read(), 404, 'not_found');
  await sql`update api_keys set abilities = ${[...abilities]}::text[] where servers is not null`.execute(
    world.db,
  );
  assert.equal((await read()).status, 200);
  await sql`update api_keys set revoked_at = now() where servers is not null`.execute(world.db);
  assertRefused(await read(), 404, 'not_found');
});

test('activity says who did what by which door, joins repetitions, and is capped', async (t) => {
  const world = await start(t);
  const friend = await befriend(world);
  for (let n = 0; n < 3; n++) await friend.post(`${v1(1)}/power`, { signal: 'restart' });
  await world.acme.post(`/api/v1/game-servers/${uuidOf(1)}/command`, { command: 'say hi' });
  const read = async (query = '') => {
    const reply = await world.session('owner').get(`${x1(1)}/activity${query}`);
    return reply.body as { data: Record<string, unknown>[]; meta: { next: number | null } };
  };
  const { data } = await read();
  assert.deepEqual(
    data.map(({ door, action, detail, times }) => ({ door, action, detail, times })),
    [
      { door: 'api', action: 'command', detail: { command: 'say hi' }, times: 1 },
      { door: 'portal', action: 'power', detail: { signal: 'restart' }, times: 3 },
      {
        door: 'portal',
        action: 'people.invite',
        detail: { email: FRIEND, rights: ['websocket.connect', ...CONSOLE] },
        times: 1,
      },
    ],
  );
  assert.equal(data[1]?.['actor'], FRIEND);
  await sql`
    insert into server_activity (server, at, actor_kind, actor, door, action)
    select ${uuidOf(1)}, now() - interval '2 minutes', 'user', 'flood ' || n, 'portal', 'power'
      from generate_series(1, 6000) n`.execute(world.db);
  for (let n = 0; n < 120; n++) {
    await world.acme.post(`/api/v1/game-servers/${uuidOf(1)}/command`, { command: `say ${n}` });
  }
  const { rows } = await sql<{ kept: number }>`
    select count(*)::int as kept from server_activity`.execute(world.db);
  assert.equal(rows[0]?.kept, 5_000);
  const first = await read('?limit=2');
  assert.equal(first.data.length, 2);
  const next = await read(`?limit=2&before=${first.meta.next}`);
  assert.equal(next.data[0]?.['detail'] !== undefined, true);
  assert.ok(Number(next.data[0]?.['id']) < Number(first.data[1]?.['id']));
});
