import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createTestClient, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const KEYS = '/api/portal/organisations/acme/keys';
const OPERATOR = '/api/portal/operator';
const LIMITS = {
  rules_per_ip: 50,
  filters_per_ip: 5,
  max_ports_per_request: 101,
  attack_history_days: 90,
  configured_addresses: 100,
  requests_per_minute: 600,
  own_servers: 0,
  own_servers_memory: 0,
  own_servers_cpu: 0,
  own_servers_disk: 0,
};

interface Key {
  readonly id: number;
  readonly name: string;
  readonly hint: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

test('creates a key that works and is shown once, and revokes it', async (t) => {
  const { session, url } = await startEnvironment(t);
  const admin = session('admin');
  const wanted = { name: 'ci', abilities: ['firewall.read'], prefixes: ['203.0.113.0/28'] };
  const made = await admin.post(KEYS, wanted);
  assert.equal(made.headers.get('cache-control'), 'no-store');
  const { id, secret } = dataOf<{ id: number; secret: string }>(made);
  const client = createTestClient(url, `Bearer ${secret}`);
  assert.equal((await client.get('/api/v1/firewall/ips/203.0.113.10')).status, 200);
  assertRefused(await client.get('/api/v1/firewall/ips/203.0.113.99'), 404, 'not_found');
  const listed = await admin.get(KEYS);
  assert.ok(!listed.text.includes(secret));
  const key = dataOf<Key[]>(listed).find((one) => one.id === id);
  assert.equal(key?.hint, secret.slice(0, 10));
  const wrong = { ...wanted, abilities: [], expires_at: '2020-01-01T00:00:00+00:00' };
  const refused = assertRefused(await admin.post(KEYS, wrong), 422, 'invalid_request');
  assert.deepEqual(
    (refused['errors'] as { pointer: string }[]).map(({ pointer }) => pointer),
    ['/abilities', '/expires_at'],
  );
  dataOf(await admin.send('DELETE', `${KEYS}/${id}`));
  const after = dataOf<Key[]>(await admin.get(KEYS)).find((one) => one.id === id);
  assert.notEqual(after?.revoked_at, null);
});

test('revokes no key of another organisation', async (t) => {
  const { session, db, other } = await startEnvironment(t);
  const { id } = await db
    .selectFrom('api_keys')
    .select('id')
    .where('organisation_id', '=', 2)
    .executeTakeFirstOrThrow();
  assertRefused(await session('owner').send('DELETE', `${KEYS}/${id}`), 404, 'not_found');
  assert.equal((await other.get('/api/v1/game-servers')).status, 200);
});

test('lets the operator make an organisation, and not change one of the fleet file', async (t) => {
  const { session } = await startEnvironment(t);
  const operator = session('operator');
  const wanted = { name: 'Hive', flags: ['firewall_api'], limits: LIMITS };
  dataOf(await operator.put(`${OPERATOR}/organisations/hive`, wanted));
  const narrower = { ...wanted, flags: [], limits: { ...LIMITS, rules_per_ip: 10 } };
  const saved = dataOf<Record<string, unknown>>(
    await operator.put(`${OPERATOR}/organisations/hive`, narrower),
  );
  assert.deepEqual([saved['flags'], saved['limits']], [[], narrower.limits]);
  const fleet = await operator.put(`${OPERATOR}/organisations/acme`, wanted);
  assertRefused(fleet, 422, 'managed_by_fleet_file');
  const all = dataOf<{ slug: string; asns: number[] }[]>(
    await operator.get(`${OPERATOR}/organisations`),
  );
  const acme = all.find(({ slug }) => slug === 'acme');
  const holdings = dataOf<unknown[]>(await operator.get(`${OPERATOR}/organisations/acme/holdings`));
  assert.deepEqual([acme?.asns, holdings.length], [[64500], 3]);
});

test('shows the operator the fleet, and what was done by whom', async (t) => {
  const { session, db, acme } = await startEnvironment(t);
  await db.insertInto('nodes').values({ name: 'node-1', owner: 'fleet' }).execute();
  const operator = session('operator');
  const fleet = dataOf<{ nodes: { name: string }[] }>(await operator.get(`${OPERATOR}/fleet`));
  assert.deepEqual(
    fleet.nodes.map(({ name }) => name),
    ['node-1'],
  );
  const rule = { action: 'deny', protocol: 'udp', destination_port: '19' };
  await acme.post('/api/v1/firewall/ips/203.0.113.10/rules', rule);
  const found = await operator.get(`${OPERATOR}/audit?search=RULE.create&organisation=acme`);
  const [entry, ...others] = dataOf<{ target: string; actor_kind: string }[]>(found);
  assert.deepEqual([entry?.target, entry?.actor_kind, others], ['203.0.113.10', 'key', []]);
  assert.deepEqual(dataOf(await operator.get(`${OPERATOR}/audit?search=%25`)), []);
  const page = await operator.get(`${OPERATOR}/audit?per_page=1`);
  const { next } = (page.body as { links: { next: string } }).links;
  const older = dataOf<{ id: number }[]>(await operator.get(`${OPERATOR}/audit${next}`));
  assert.ok((older[0]?.id ?? 0) < (dataOf<{ id: number }[]>(page)[0]?.id ?? 0));
});
