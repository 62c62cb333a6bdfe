import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { loadAssignments } from '../../game-servers/nodes/store.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
const PATH = `${OPERATOR_PREFIX}/game-servers/${UUID}`;
const NODES = `${OPERATOR_PREFIX}/nodes`;
const WHOLE = {
  organisation: 'acme',
  service: 501,
  name: 'Survival',
  node: 'n1',
  egg: 'eggs/flying-squid.json',
  limits: { memory: 1_024, cpu: 100, disk: 2_048 },
  allocation: { ip: '198.51.100.20', port: 25_565 },
};

const DEFAULTS = { swap: 0, io: 500, cores: null, oom: true, entries: 0, ports: 0 };

interface Server {
  readonly name: string;
  readonly node: string;
  readonly egg_digest: string;
  readonly external_id: string | null;
  readonly limits: Readonly<Record<string, number>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly allocations: readonly object[];
  readonly suspended: boolean;
}

async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await environment.client({ organisationId: null, abilities });
  for (const node of ['n1', 'n2']) dataOf(await operator.put(`${NODES}/${node}`, {}));
  const patch = (json: object, query = '', headers: Readonly<Record<string, string>> = {}) =>
    operator.send('PATCH', `${PATH}${query}`, { json, headers });
  return { ...environment, operator, patch };
}

test('PUT makes a server of a chosen uuid with all defaults, and only once with If-None-Match', async (t) => {
  const { operator, db } = await start(t);
  const made = await operator.put(PATH, WHOLE, { 'if-none-match': '*' });
  assert.equal(made.status, 201, made.text);
  const { limits, allocations, suspended } = dataOf<Server>(made);
  assert.deepEqual(limits, { ...DEFAULTS, ...WHOLE.limits });
  const only = { ...WHOLE.allocation, protocols: null, variable: null, name: null };
  assert.deepEqual([allocations, suspended], [[only], false]);
  const again = await operator.put(PATH, { ...WHOLE, name: 'Other' }, { 'if-none-match': '*' });
  assertRefused(again, 412, 'precondition_failed');
  const { rows } = await sql<{ line: string }>`
    select action || ' ' || o.slug as line from audit left join organisations o on o.id = organisation_id
     where target = ${`server:${UUID}`}`.execute(db);
  assert.deepEqual(rows, [{ line: 'server.create acme' }]);
});

test('PUT is the whole server: what is left out has its default again', async (t) => {
  const { operator } = await start(t);
  const full = {
    ...WHOLE,
    limits: { ...WHOLE.limits, swap: -1 },
    variables: { MOTD: 'hello' },
    suspended: true,
  };
  assert.equal((await operator.put(PATH, full)).status, 201);
  const { limits, variables, suspended } = dataOf<Server>(await operator.put(PATH, WHOLE));
  assert.deepEqual([limits['swap'], variables, suspended], [0, {}, false]);
});

test('PATCH changes what it names down to a limit and a variable, by the state that was read', async (t) => {
  const { operator, patch, db } = await start(t);
  const made = await operator.put(PATH, { ...WHOLE, variables: { MOTD: 'hello' } });
  const etag = made.headers.get('etag') ?? '';
  const changed = await patch(
    { limits: { swap: 512 }, variables: { MAX_PLAYERS: 7 }, external_id: 'whmcs-1' },
    '',
    { 'if-match': etag },
  );
  const server = dataOf<Server>(changed);
  assert.deepEqual(server.limits, { ...DEFAULTS, ...WHOLE.limits, swap: 512 });
  assert.deepEqual(server.variables, { MOTD: 'hello', MAX_PLAYERS: '7' });
  assert.equal(server.external_id, 'whmcs-1');
  assertRefused(
    await patch({ name: 'Late' }, '', { 'if-match': etag }),
    412,
    'precondition_failed',
  );
  const reset = dataOf<Server>(await patch({ limits: { swap: null }, variables: { MOTD: null } }));
  assert.deepEqual([reset.limits['swap'], reset.variables], [0, { MAX_PLAYERS: '7' }]);
  assertRefused(await patch({ limits: { swap: -2 } }), 422, 'invalid_request');
  dataOf(await patch({ limits: { swap: 64 } }));
  const { rows } = await sql<{ id: number }>`select id from nodes where name = 'n1'`.execute(db);
  const [assignment] = await loadAssignments(db, rows[0]?.id ?? 0);
  assert.equal(assignment?.limits.swap, 64);
});

test('a patch keeps the egg that a server has, and one of its name takes that of the library', async (t) => {
  const { operator, patch, db } = await start(t);
  const { egg_digest: shipped } = dataOf<Server>(await operator.put(PATH, WHOLE));
  const older = 'b'.repeat(64);
  await sql`insert into eggs select ${older}, egg from eggs where digest = ${shipped}`.execute(db);
  await sql`update game_servers set egg_digest = ${older}`.execute(db);
  assert.equal(dataOf<Server>(await patch({ name: 'Kept' })).egg_digest, older);
  type Read = Server & { owner: string; build: object; set_by_people: object };
  const read = dataOf<Read>(await operator.get(PATH));
  const { owner: _o, build: _b, set_by_people: _s, ...whole } = read;
  assert.equal(dataOf<Server>(await operator.put(PATH, without(whole, 'uuid'))).egg_digest, older);
  assert.equal(dataOf<Server>(await patch({ egg_digest: null })).egg_digest, shipped);
  const gone = await patch({ egg_digest: 'c'.repeat(64) });
  assert.match(assertRefused(gone, 422, 'invalid_request')['detail'] as string, /no stored egg/);
});

test('a move to another node loses files, and says so before it is done', async (t) => {
  const { operator, patch, db } = await start(t);
  dataOf(await operator.put(PATH, WHOLE));
  await sql`update game_servers set build_state = 'built', identifier = 'x'`.execute(db);
  const refused = assertRefused(await patch({ node: 'n2' }), 422, 'live_objects');
  assert.match(
    refused['detail'] as string,
    /built anew on n2, without its files.*allow_losses=true/,
  );
  const moved = dataOf<Server>(await patch({ node: 'n2' }, '?allow_losses=true'));
  assert.equal(moved.node, 'n2');
  dataOf(await operator.send('DELETE', PATH));
  assertRefused(await operator.get(PATH), 404, 'not_found');
});

test('a server names what there is', async (t) => {
  const { operator, patch } = await start(t);
  const pointerOf = async (more: object): Promise<string | undefined> => {
    const refused = await operator.put(PATH, { ...WHOLE, ...more });
    assert.equal(refused.status, 422, refused.text);
    const { errors } = refused.body as { errors?: { pointer: string }[] };
    return errors?.[0]?.pointer;
  };
  assert.equal(await pointerOf({ organisation: 'nobody' }), '/organisation');
  assert.equal(await pointerOf({ service: 999 }), '/service');
  assert.equal(await pointerOf({ node: 'n9' }), '/node');
  assert.equal(await pointerOf({ egg: 'none' }), '/egg');
  assert.equal(await pointerOf({ variables: { COLOUR: 'red' } }), '/variables/COLOUR');
  assert.equal(await pointerOf({ open_while_running: ['rcon'] }), '/open_while_running/0');
  assert.equal(await pointerOf({ allocation: undefined }), '');
  assert.equal(await pointerOf({ allocations: [WHOLE.allocation] }), '');
  dataOf(await operator.put(PATH, WHOLE));
  const port = [{ ip: '198.51.100.20', port: 25_566 }];
  assert.equal(dataOf<Server>(await patch({ allocations: port })).allocations.length, 1);
  const one = { ip: '198.51.100.20', port: 25_567 };
  assert.deepEqual(dataOf<Server>(await patch({ allocation: one })).allocations, [
    { ...one, protocols: null, variable: null, name: null },
  ]);
});

function without(object: object, name: string): object {
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== name));
}

test('an operator sets every limit, an image and a startup line of its own, and nodes are sent them', async (t) => {
  const { operator, patch, db } = await start(t);
  const limits = { ...DEFAULTS, memory: 0, cpu: 0, disk: 0, io: 10, cores: '0-1,3', oom: false };
  const more = { limits: { ...limits, entries: 100, ports: 3 }, startup: './run {{SERVER_PORT}}' };
  const made = await operator.put(PATH, { ...WHOLE, ...more, docker_image: '~game:2' });
  assert.deepEqual(dataOf<Server>(made).limits, more.limits);
  const { rows } = await sql<{ id: number }>`select id from nodes where name = 'n1'`.execute(db);
  const [assignment] = await loadAssignments(db, rows[0]?.id ?? 0);
  const { ports: _, ...sent } = more.limits;
  assert.deepEqual(assignment?.limits, sent);
  assert.deepEqual([assignment.dockerImage, assignment.startup], ['~game:2', more.startup]);
  for (const wrong of [
    { limits: { io: 9 } },
    { limits: { cores: '3-1' } },
    { limits: { cores: '0;reboot' } },
    { limits: { entries: -1 } },
    { limits: { ports: 65 } },
    { docker_image: '-v /:/host' },
    { startup: 'a\nb' },
  ]) {
    assertRefused(await patch(wrong), 422, 'invalid_request');
  }
});

test('a server mounts what its node has for its egg, and a node keeps what servers mount', async (t) => {
  const { operator, patch, db } = await start(t);
  const mount = { name: 'maps', source: '/srv/maps', target: '/home/container/maps' };
  const node = (mounts: readonly object[]) => operator.put(`${NODES}/n1`, { mounts });
  for (const wrong of [
    { ...mount, source: '/srv/../etc' },
    { ...mount, source: 'srv' },
    { ...mount, target: '/home/container' },
    { ...mount, target: '/proc/sys' },
    { ...mount, target: '/' },
  ]) {
    assertRefused(await node([wrong]), 422, 'invalid_request');
  }
  assertRefused(await node([mount, { ...mount, source: '/other' }]), 422, 'invalid_request');
  dataOf(await node([mount, { ...mount, name: 'rust', eggs: ['eggs/rust.json'] }]));
  dataOf(await operator.put(PATH, WHOLE));
  for (const name of ['none', 'rust']) {
    assertRefused(await patch({ mounts: [name] }), 422, 'invalid_request');
  }
  dataOf(await patch({ mounts: ['maps'] }));
  const { rows } = await sql<{ id: number }>`select id from nodes where name = 'n1'`.execute(db);
  const [assignment] = await loadAssignments(db, rows[0]?.id ?? 0);
  const { name: _, ...sent } = mount;
  assert.deepEqual(assignment?.mounts, [{ ...sent, readOnly: true }]);
  assertRefused(await node([]), 422, 'conflict');
  // Of an agent that says what it offers, it is asked for no more.
  const reports = (mounts: object | null) =>
    sql`update nodes set engine = ${JSON.stringify({ kind: 'docker', version: '1', mounts })}::jsonb`.execute(
      db,
    );
  await reports([]);
  const refused = assertRefused(await patch({ name: 'Other' }), 422, 'conflict');
  assert.match(refused['detail'] as string, /does not offer \/srv\/maps.*--mounts/);
  await reports([{ path: '/srv/maps', readOnly: true }]);
  dataOf(await patch({ name: 'Other' }));
  await reports(null);
  assertRefused(await patch({ name: 'Older', limits: { memory: 0 } }), 422, 'conflict');
});
