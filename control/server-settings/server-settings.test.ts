import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { launchParts } from '@portcullis/core/game-servers/eggs/launch-parts.ts';
import { launchDigests } from '@portcullis/link/launch-digests.ts';
import { sql } from 'kysely';
import { PASSWORD, SAME_SITE } from '../accounts/testing.ts';
import { TEST_EGG } from '../operator/fleet-file/testing.ts';
import { loadAssignment } from '../game-servers/nodes/store.ts';
import { stateAnswer, TestNode } from '../game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '../game-servers/testing/servers.ts';
import {
  assertRefused,
  createSessionClient,
  dataOf,
  type TestClient,
  type TestReply,
} from '../testing/client.ts';
import { startEnvironment, type TestEnvironment } from '../testing/fixture.ts';

const SERVER = `/api/x1/game-servers/${uuidOf(1)}`;
const PATH = `${SERVER}/settings`;
const ACME = '/api/portal/organisations/acme/x1';

interface Settings {
  readonly name: string;
  readonly image: { readonly used: string; readonly chosen: string | null };
  readonly variables: readonly { readonly env: string; readonly value: string }[];
  readonly fixed: readonly { readonly pointer: string; readonly reason: string }[];
  readonly crashes: object;
}

interface World extends TestEnvironment {
  readonly node: TestNode;
}

/** A server of acme with an egg that has variables, on a node that accepts everything. */
async function start(t: TestContext, owner: 'portal' | 'fleet' = 'portal'): Promise<World> {
  const env = await startEnvironment(t);
  const node = await new TestNode(env.nodes, 'node-1', await addNode(env.db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(env.db, { number: 1, egg: TEST_EGG.egg, owner });
  await sql`update game_servers set variables = '{"PASSWORD": "secret"}'`.execute(env.db);
  return { ...env, node };
}

function change(client: TestClient, body: object, path = PATH): Promise<TestReply> {
  return client.send('PATCH', path, { json: body });
}

const valueOf = (reply: TestReply, env: string): string | undefined =>
  dataOf<Settings>(reply).variables.find((one) => one.env === env)?.value;

async function friendWith(env: TestEnvironment, ...rights: string[]): Promise<TestClient> {
  const email = `${rights.join('-')}@example.net`;
  const path = `${ACME}/game-servers/${uuidOf(1)}/people`;
  const invited = await env.session('owner').post(path, { email, rights });
  const token = /#(\S+)$/.exec(dataOf<{ url: string }>(invited).url)?.[1] ?? '';
  const json = { token, name: 'Friend', password: PASSWORD };
  const accepted = await env
    .anonymous()
    .send('POST', '/api/portal/links/accept', { json, headers: SAME_SITE });
  const cookie = /^__Host-portcullis=([^;]*)/.exec(accepted.headers.get('set-cookie') ?? '')?.[1];
  return createSessionClient(env.url, cookie ?? '');
}

test('an owner reads what may be set and changes it, and the node is given it', async (t) => {
  const { acme, db, session } = await start(t);
  const read = await acme.get(PATH);
  const { variables, fixed, image } = dataOf<Settings>(read);
  assert.deepEqual(
    variables.map(({ env, value }) => [env, value]),
    [
      ['SLOTS', '8'],
      ['MOTD', ''],
    ],
  );
  assert.deepEqual(fixed, []);
  assert.deepEqual(image, { used: 'first', chosen: null, labels: ['first', 'second'] });
  const written = await change(acme, {
    name: 'Renamed',
    image: 'second',
    start_with_host: 'always',
    stop_seconds: 90,
    crashes: { tries: 3 },
    variables: { SLOTS: 16, MOTD: 'Hello' },
  });
  assert.equal(written.status, 200, written.text);
  assert.match(written.text, /next start: image, MOTD, SLOTS|next start: image, SLOTS, MOTD/);
  assert.equal(valueOf(written, 'SLOTS'), '16');
  const assigned = await loadAssignment(db, uuidOf(1));
  const {
    name,
    image: label,
    startWithHost,
    stopAfterMs,
    crashes,
    variables: given,
  } = assigned ?? {};
  assert.deepEqual(
    { name, label, startWithHost, stopAfterMs, crashes, given },
    {
      name: 'Renamed',
      label: 'second',
      startWithHost: 'always',
      stopAfterMs: 90_000,
      crashes: { restart: true, withinMs: 60_000, tries: 3 },
      given: { PASSWORD: 'secret', SLOTS: '16', MOTD: 'Hello' },
    },
  );
  const reset = await change(acme, { image: null, variables: { MOTD: null } });
  assert.equal(valueOf(reset, 'MOTD'), '');
  assert.equal(dataOf<Settings>(reset).image.chosen, null);
  const activity = await session('owner').get(`${ACME}/game-servers/${uuidOf(1)}/activity`);
  assert.match(activity.text, /"action":"settings".*"changed":"[^"]*MOTD/);
  assert.doesNotMatch(activity.text, /Hello/);
});

test('rules of the egg, hidden variables and unknown images are refused, and then nothing changes', async (t) => {
  const { acme, db } = await start(t);
  const stored = (): Promise<unknown> => loadAssignment(db, uuidOf(1));
  const before = await stored();
  const refusals: readonly (readonly [body: object, pointer: string])[] = [
    [{ variables: { SLOTS: '65' } }, '/variables/SLOTS'],
    [{ variables: { SLOTS: 'many' } }, '/variables/SLOTS'],
    [{ variables: { SLOTS: '' } }, '/variables/SLOTS'],
    [{ name: 'Other', variables: { MOTD: 'a\nb' } }, '/variables/MOTD'],
    [{ variables: { MOTD: `a\u2028b` } }, '/variables/MOTD'],
    [{ variables: { PASSWORD: 'mine' } }, '/variables/PASSWORD'],
    [{ variables: { PASSWORD: null } }, '/variables/PASSWORD'],
    [{ variables: { SERVER_PORT: '1' } }, '/variables/SERVER_PORT'],
    [{ variables: { constructor: 'x' } }, '/variables/constructor'],
    [{ image: 'third' }, '/image'],
    [{ image: 'test:2' }, '/image'],
    [{ crashes: { tries: 11 } }, '/crashes/tries'],
    [{ stop_seconds: 3_601 }, '/stop_seconds'],
    [{ name: '' }, '/name'],
  ];
  for (const [body, pointer] of refusals) {
    const reply = await change(acme, body);
    assertRefused(reply, 422, 'invalid_request');
    assert.ok(reply.text.includes(pointer), `${pointer}: ${reply.text}`);
  }
  for (const body of [{ egg: 'eggs/other.json' }, { limits: { memory: 1 } }, { suspended: false }])
    assertRefused(await change(acme, body), 422, 'invalid_request');
  assertRefused(
    await acme.send('PATCH', PATH, { json: { variables: JSON.parse('{"__proto__": "x"}') } }),
    422,
    'invalid_request',
  );
  assert.deepEqual(await stored(), before);
  assert.doesNotMatch((await acme.get(PATH)).text, /secret|PASSWORD/);
});

test('an image of the operator leaves none to choose, and stays', async (t) => {
  const { acme, db } = await start(t);
  await sql`update game_servers set docker_image = '~own:1'`.execute(db);
  const { fixed } = dataOf<Settings>(await acme.get(PATH));
  assert.deepEqual(
    fixed.map(({ pointer }) => pointer),
    ['/image'],
  );
  assertRefused(await change(acme, { image: 'second' }), 422, 'invalid_request');
  assert.equal((await change(acme, { variables: { MOTD: 'x' } })).status, 200);
  assert.equal((await loadAssignment(db, uuidOf(1)))?.dockerImage, '~own:1');
});

test('two who change at once never overwrite each other silently', async (t) => {
  const { acme } = await start(t);
  const ifMatch = (await acme.get(PATH)).headers.get('etag') ?? '';
  const conditional = (body: object, tag: string) =>
    acme.send('PATCH', PATH, { json: body, headers: { 'if-match': tag } });
  const first = await conditional({ variables: { MOTD: 'first' } }, ifMatch);
  assert.equal(first.status, 200, first.text);
  assertRefused(
    await conditional({ variables: { MOTD: 'second' } }, ifMatch),
    412,
    'precondition_failed',
  );
  assert.equal(valueOf(await acme.get(PATH), 'MOTD'), 'first');
  const next = await conditional({ name: 'Third' }, first.headers.get('etag') ?? '');
  assert.equal(next.status, 200, next.text);
});

test('each setting needs its right, and what one lacks is said where it is read', async (t) => {
  const world = await start(t);
  const path = `${ACME}/game-servers/${uuidOf(1)}/settings`;
  const reader = await friendWith(world, 'startup.read');
  assert.equal((await reader.get(path)).status, 200);
  for (const body of [{ name: 'x' }, { image: 'second' }, { variables: { MOTD: 'x' } }]) {
    assertRefused(await change(reader, body, path), 403, 'ability_missing');
  }
  const { fixed } = dataOf<Settings>(await reader.get(path));
  const reasons = new Map(fixed.map(({ pointer, reason }) => [pointer, reason]));
  assert.match(reasons.get('/name') ?? '', /settings\.rename/);
  assert.match(reasons.get('/image') ?? '', /startup\.docker-image/);
  assert.match(reasons.get('/variables/MOTD') ?? '', /startup\.update/);
  const updater = await friendWith(world, 'startup.read', 'startup.update');
  assert.equal((await change(updater, { variables: { MOTD: 'x' } }, path)).status, 200);
  assertRefused(await change(updater, { name: 'x' }, path), 403, 'ability_missing');
  const other = await friendWith(world, 'control.console');
  assertRefused(await other.get(path), 403, 'ability_missing');
  const readOnly = await world.client({ abilities: ['game-servers.read', 'game-servers.manage'] });
  assertRefused(await readOnly.get(PATH), 403, 'ability_missing');
  assertRefused(await world.other.get(PATH), 404, 'not_found');
  assertRefused(await change(world.other, { name: 'mine' }), 404, 'not_found');
});

test('what the fleet file states is changed there, and the rest is of the people', async (t) => {
  const { acme, db } = await start(t, 'fleet');
  const named = await change(acme, { name: 'Mine', variables: { MOTD: 'x' } });
  assertRefused(named, 422, 'managed_by_fleet_file');
  assert.match(named.text, /"\/name"/);
  await sql`update game_servers set variables = variables || '{"SLOTS": "9"}'`.execute(db);
  assertRefused(await change(acme, { variables: { SLOTS: 10 } }), 422, 'managed_by_fleet_file');
  const { fixed } = dataOf<Settings>(await acme.get(PATH));
  assert.deepEqual(
    fixed.map(({ pointer }) => pointer),
    ['/name', '/variables/SLOTS'],
  );
  for (const motd of ['one', 'two']) {
    const reply = await change(acme, { variables: { MOTD: motd }, start_with_host: 'never' });
    assert.equal(reply.status, 200, reply.text);
  }
  const { rows } = await sql<{ own: string[] }>`
    select set_by_people as own from game_servers`.execute(db);
  assert.deepEqual(rows[0]?.own, ['/start_with_host', '/variables/MOTD']);
});

test('what waits for a restart is what differs from the launch, as its node says', async (t) => {
  const { acme, db, node } = await start(t);
  const waiting = async (): Promise<unknown> =>
    Reflect.get(Object((await acme.get(PATH)).body), 'meta');
  assert.deepEqual(await waiting(), { state: null, at_next_start: null });
  const assignment = await loadAssignment(db, uuidOf(1));
  assert.ok(assignment);
  const launched = launchDigests(launchParts(TEST_EGG.egg, assignment));
  node.answer = () => stateAnswer('running', null, launched);
  assert.deepEqual(await waiting(), { state: 'running', at_next_start: [] });
  await change(acme, { image: 'second', variables: { MOTD: 'x' }, stop_seconds: 5 });
  assert.deepEqual(await waiting(), {
    state: 'running',
    at_next_start: ['/image', '/variables/MOTD'],
  });
  node.answer = () => stateAnswer('running');
  assert.deepEqual(await waiting(), { state: 'running', at_next_start: null });
  node.answer = () => stateAnswer('offline');
  assert.deepEqual(await waiting(), { state: 'offline', at_next_start: [] });
});

test('an install anew says what becomes of the files, until it is built', async (t) => {
  const { acme, client, db, node } = await start(t);
  const wanted = async () => (await loadAssignment(db, uuidOf(1)))?.emptyFiles;
  assert.equal((await acme.post(`${SERVER}/reinstall?files=bin`, {})).status, 200);
  assert.equal(await wanted(), 'bin');
  await node.beat({ uuid: uuidOf(1), epoch: 2, state: 'failed' });
  assert.equal(await wanted(), 'bin');
  assert.equal((await acme.post(`${SERVER}/reinstall`, {})).status, 200);
  assert.equal(await wanted(), null);
  assert.equal((await acme.post(`${SERVER}/reinstall?files=delete`, {})).status, 200);
  await node.beat({ uuid: uuidOf(1), epoch: 4, state: 'built' });
  assert.equal(await wanted(), null);
  assertRefused(await acme.post(`${SERVER}/reinstall?files=burn`, {}), 422, 'invalid_request');
  const manager = await client({ abilities: ['game-servers.read', 'game-servers.manage'] });
  for (const files of ['bin', 'delete']) {
    const refused = await manager.post(`${SERVER}/reinstall?files=${files}`, {});
    assertRefused(refused, 403, 'ability_missing');
  }
  assert.equal((await manager.post(`${SERVER}/reinstall`, {})).status, 200);
});
