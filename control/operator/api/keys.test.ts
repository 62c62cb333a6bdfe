import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { generateSecret } from '../../access/index.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { applyFleet } from '../fleet-file/apply/apply.ts';
import { mustParse, TEST_ACTOR } from '../fleet-file/testing.ts';

const ORGANISATIONS = '/api/portal/operator/organisations';
const HIVE = `${ORGANISATIONS}/hive`;
const KEYS = `${HIVE}/keys`;
const ADDRESS = '/api/v1/firewall/ips/198.18.5.7';
const PANEL = { name: 'panel', abilities: ['firewall.read'] };

interface Key {
  readonly id: number;
  readonly name: string;
  readonly abilities: readonly string[];
  readonly managed_servers: readonly string[] | null;
  readonly secret: string | null;
  readonly hint: string;
  readonly sources: readonly string[] | null;
  readonly owner: string;
  readonly revoked_at: string | null;
}

/** An operator, and an organisation that was made by hand and holds a prefix. */
async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const operator = environment.session('operator');
  dataOf(await operator.put(HIVE, { name: 'Hive', flags: ['firewall_api'] }));
  dataOf(await operator.post(`${HIVE}/holdings`, { prefix: '198.18.5.0/24' }));
  const statusOf = async (secret: string | null): Promise<number> =>
    (await environment.anonymous(`Bearer ${secret}`).get(ADDRESS)).status;
  const patch = (id: number, json: object, headers: Readonly<Record<string, string>> = {}) =>
    operator.send('PATCH', `${KEYS}/${id}`, { json, headers });
  return { ...environment, operator, statusOf, patch };
}

test('keys have numbers, may share a name, and show their secret once', async (t) => {
  const { operator, statusOf } = await start(t);
  const reply = await operator.post(KEYS, PANEL);
  const made = dataOf<Key>(reply);
  assert.equal(reply.status, 201);
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  assert.deepEqual([made.name, made.managed_servers, made.owner], ['panel', null, 'portal']);
  const other = dataOf<Key>(await operator.post(KEYS, PANEL));
  assert.notEqual(other.id, made.id);
  assert.deepEqual([await statusOf(made.secret), await statusOf(other.secret)], [200, 200]);
  const read = await operator.get(`${KEYS}/${made.id}`);
  assert.deepEqual(dataOf(read), {
    ...made,
    secret: null,
    last_used_at: Reflect.get(dataOf<object>(read), 'last_used_at'),
  });
  const listed = dataOf<Key[]>(await operator.get(KEYS));
  assert.deepEqual(
    listed.map(({ id, secret }) => [id, secret]),
    [
      [made.id, null],
      [other.id, null],
    ],
  );
  assertRefused(await operator.get(`${ORGANISATIONS}/acme/keys/${made.id}`), 404, 'not_found');
  assertRefused(await operator.put(`${KEYS}/999999`, PANEL), 404, 'not_found');
});

test('a key is changed in place and keeps its secret, or is given another', async (t) => {
  const { operator, patch, statusOf } = await start(t);
  const made = dataOf<Key>(await operator.post(KEYS, PANEL));
  const tag = (await operator.get(`${KEYS}/${made.id}`)).headers.get('etag') ?? '';
  const wider = { abilities: ['firewall.read', 'firewall.manage'] };
  const changed = await patch(made.id, wider, { 'if-match': tag });
  assert.deepEqual(dataOf<Key>(changed).abilities, ['firewall.manage', 'firewall.read']);
  assert.equal(dataOf<Key>(changed).secret, null);
  assertRefused(
    await patch(made.id, { name: 'x' }, { 'if-match': tag }),
    412,
    'precondition_failed',
  );
  assert.equal(dataOf<Key>(changed).hint, made.hint);
  const secret = generateSecret();
  const replaced = await patch(made.id, { secret });
  assert.ok(!replaced.text.includes(secret));
  assert.deepEqual([await statusOf(made.secret), await statusOf(secret)], [401, 200]);
  const whole = await operator.put(`${KEYS}/${made.id}`, { ...PANEL, sources: ['192.0.2.0/24'] });
  assert.deepEqual(dataOf<Key>(whole).sources, ['192.0.2.0/24']);
  assert.deepEqual(dataOf<Key>(whole).abilities, PANEL.abilities);
});

test('a key that its organisation may not have is refused at its place', async (t) => {
  const { operator, patch } = await start(t);
  const { id, secret } = dataOf<Key>(await operator.post(KEYS, PANEL));
  for (const [wrong, pointer] of [
    [{ abilities: ['attacks.read'] }, '/abilities/0'],
    [{ abilities: ['fly'] }, '/abilities/0'],
    [{ secret: 'hunter2' }, '/secret'],
    [{ prefixes: ['10.0.0.1/8'] }, '/prefixes/0'],
  ] as const) {
    for (const reply of [
      await operator.post(KEYS, { ...PANEL, ...wrong }),
      await patch(id, wrong),
    ]) {
      const { errors } = assertRefused(reply, 422, 'invalid_request') as {
        readonly errors?: readonly { readonly pointer: string }[];
      };
      assert.ok(errors?.[0]?.pointer.startsWith(pointer), reply.text);
      assert.ok(!reply.text.includes('hunter2'));
    }
  }
  assertRefused(await operator.post(KEYS, { ...PANEL, secret }), 422, 'invalid_request');
  assertRefused(await operator.post(`${ORGANISATIONS}/none/keys`, PANEL), 422, 'invalid_request');
});

test('removing a key revokes it for good, and it is listed still', async (t) => {
  const { db, operator, patch, statusOf } = await start(t);
  const { id, secret } = dataOf<Key>(await operator.post(KEYS, PANEL));
  dataOf(await operator.send('DELETE', `${KEYS}/${id}`));
  assert.equal(await statusOf(secret), 401);
  const [listed] = dataOf<Key[]>(await operator.get(KEYS));
  assert.ok(listed?.revoked_at);
  assertRefused(await operator.send('DELETE', `${KEYS}/${id}`), 422, 'conflict');
  assertRefused(await patch(id, { name: 'again' }), 422, 'conflict');
  const { rows } = await sql<{ action: string; detail: object }>`
    select action, detail from audit where target = ${`key:${id}`} order by id`.execute(db);
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['key.create', 'key.remove'],
  );
});

test('a key of the fleet file is changed there, and revoked here also', async (t) => {
  const { db, operator, statusOf } = await start(t);
  const { id, secret } = dataOf<Key>(await operator.post(KEYS, PANEL));
  await sql`update api_keys set owner = 'fleet' where id = ${id}`.execute(db);
  const path = `${KEYS}/${id}`;
  assertRefused(await operator.put(path, PANEL), 422, 'managed_by_fleet_file');
  dataOf(await operator.send('DELETE', path));
  assert.equal(await statusOf(secret), 401);
  const [revoked] = dataOf<Key[]>(await operator.get(KEYS));
  assert.ok(revoked?.revoked_at);
});

test('a file that adopts takes the oldest of keys that share a name, and the others stay as they are', async (t) => {
  const { operator, db, statusOf } = await start(t);
  for (const table of ['organisations', 'services', 'holdings', 'asns']) {
    await sql`update ${sql.table(table)} set owner = 'portal'`.execute(db);
  }
  const first = dataOf<Key>(await operator.post(KEYS, PANEL));
  const second = dataOf<Key>(await operator.post(KEYS, PANEL));
  const file = mustParse(`organisations:
  hive:
    name: Hive
    flags: [firewall_api]
    prefixes: [{ cidr: 198.18.5.0/24 }]
    keys: [{ name: panel, abilities: [firewall.read] }]
`);
  const options = { allowLosses: false, actor: TEST_ACTOR, adopt: true };
  for (const _again of [1, 2]) {
    assert.deepEqual((await applyFleet(db, file, options)).changes, []);
    const owners = dataOf<Key[]>(await operator.get(KEYS)).map(({ id, owner }) => [id, owner]);
    assert.deepEqual(Object.fromEntries(owners), { [first.id]: 'fleet', [second.id]: 'portal' });
  }
  assert.deepEqual([await statusOf(first.secret), await statusOf(second.secret)], [200, 200]);
});
