import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, dataOf, type TestReply } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';

const ORGANISATIONS = '/api/portal/operator/organisations';
const HIVE = `${ORGANISATIONS}/hive`;
const ACME = `${ORGANISATIONS}/acme`;
const LIMITS = {
  rules_per_ip: 50,
  filters_per_ip: 5,
  max_ports_per_request: 101,
  attack_history_days: 90,
  configured_addresses: 100,
  requests_per_minute: 600,
};
const NOTHING = { pps: null, mbps: null, hold_seconds: null, mitigation: null, safelist: [] };

interface Holding {
  readonly id: number;
  readonly prefix: string;
  readonly service_id: number | null;
  readonly since: string;
  readonly until: string | null;
  readonly owner: string;
  readonly thresholds: Record<string, unknown>;
}
interface Organisation {
  readonly slug: string;
  readonly asns: readonly number[];
  readonly holdings: readonly Holding[];
  readonly services: readonly {
    readonly id: number;
    readonly active: boolean;
    readonly managed_filters: readonly { readonly type: string; readonly ports: string | null }[];
    readonly thresholds: Record<string, unknown>;
  }[];
  readonly thresholds: Record<string, unknown>;
}

/** An operator, and an organisation of the portal with an ASN and a service. */
async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const operator = environment.session('operator');
  const made = { name: 'Hive', flags: ['firewall_api'], limits: LIMITS };
  dataOf(await operator.put(HIVE, made));
  const put = (path: string) => operator.send('PUT', `${HIVE}/${path}`);
  dataOf(await put('asns/64510'));
  dataOf(await operator.put(`${HIVE}/services/900`, { name: 'lobby', active: true }));
  return { ...environment, operator };
}

function only(reply: TestReply): Organisation {
  const [organisation, ...others] = dataOf<Organisation[]>(reply);
  assert.ok(organisation);
  assert.deepEqual(others, []);
  return organisation;
}

test('gives a prefix and an address, which are held then, and ends them', async (t) => {
  const { operator, db, client } = await start(t);
  const prefix = { prefix: '192.0.3.0/24', asn: 64510 };
  const reply = await operator.post(`${HIVE}/holdings`, prefix);
  assert.equal(reply.status, 201);
  assert.match(reply.headers.get('portcullis-generation') ?? '', /^\d+$/);
  const made = only(reply).holdings[0];
  assert.deepEqual([made?.prefix, made?.until, made?.owner], ['192.0.3.0/24', null, 'portal']);
  const address = { prefix: '198.51.100.77', service_id: 900, until: '2099-01-01T00:00:00+00:00' };
  const { holdings } = only(await operator.post(`${HIVE}/holdings`, address));
  assert.equal(holdings.find(({ service_id }) => service_id === 900)?.prefix, '198.51.100.77/32');
  const { id: organisationId } = await db
    .selectFrom('organisations')
    .select('id')
    .where('slug', '=', 'hive')
    .executeTakeFirstOrThrow();
  const key = await client({ organisationId, abilities: ['firewall.read', 'firewall.manage'] });
  const at = (ip: string) => key.get(`/api/v1/firewall/ips/${ip}`);
  assert.deepEqual(
    [(await at('192.0.3.9')).status, (await at('198.51.100.77')).status],
    [200, 200],
  );
  const end = { until: new Date(Date.now() - 1_000).toISOString() };
  const one = `${HIVE}/holdings/${made?.id}`;
  // It began later than a second ago.
  assertRefused(await operator.put(one, end), 422, 'invalid_request');
  const past = { since: '2026-01-01T00:00:00+00:00', ...end };
  const ended = only(await operator.put(one, past));
  assert.deepEqual(
    ended.holdings.map(({ prefix: shown }) => shown),
    ['198.51.100.77/32'],
  );
  assertRefused(await at('192.0.3.9'), 404, 'not_found');
  const trail = await db.selectFrom('audit').select(['action', 'actor_kind', 'target']).execute();
  const entry = trail.find(({ action }) => action === 'holding.change');
  assert.deepEqual([entry?.actor_kind, entry?.target], ['operator', '192.0.3.0/24']);
});

test('gives prefixes under the ASN of the operator, under none, and to a service', async (t) => {
  const { operator, db, client } = await start(t);
  await sql`insert into asns values (64999, null, 'portal')`.execute(db);
  const give = async (holding: object) =>
    only(await operator.post(`${HIVE}/holdings`, holding)).holdings.length;
  assert.deepEqual(
    [
      await give({ prefix: '192.0.3.0/24', asn: 64999 }),
      await give({ prefix: '192.0.4.0/24' }),
      await give({ prefix: '192.0.5.0/24', service_id: 900 }),
      await give({ prefix: '192.0.6.1', service_id: 900 }),
    ],
    [1, 2, 3, 4],
  );
  const theirs = await operator.send('PUT', `${HIVE}/asns/64999`);
  assertRefused(theirs, 422, 'conflict');
  assert.match(theirs.text, /the operator's/);
  const organisations = await db.selectFrom('organisations').select(['id', 'slug']).execute();
  const organisationId = organisations.find(({ slug }) => slug === 'hive')?.id ?? 0;
  const key = await client({ organisationId, abilities: ['firewall.read', 'firewall.manage'] });
  const held = dataOf<{ prefixes: Record<string, unknown>[]; addresses: { ip: string }[] }>(
    await key.get('/api/x1/firewall/ips'),
  );
  assert.deepEqual(
    held.prefixes.map(({ prefix, asn, service_id: service }) => [prefix, asn, service]),
    [
      ['192.0.3.0/24', 64_999, null],
      ['192.0.4.0/24', null, null],
      ['192.0.5.0/24', null, 900],
    ],
  );
  assert.deepEqual(
    held.addresses.map(({ ip }) => ip),
    ['192.0.6.1'],
  );
  // Its service manages filters, on every address of the prefix.
  const managed = await key.get('/api/v1/firewall/ips/192.0.5.77');
  assert.equal(managed.status, 200);
});

test('lets nobody hold what another holds at that time, and says who does', async (t) => {
  const { operator } = await start(t);
  const wanted = { prefix: '192.0.2.0/24', asn: 64510 };
  const taken = assertRefused(await operator.post(`${HIVE}/holdings`, wanted), 422, 'conflict');
  assert.match(String(taken['detail']), /192\.0\.2\.0\/24 is other's since 2026-01-01/);
  const before = {
    ...wanted,
    since: '2025-01-01T00:00:00+00:00',
    until: '2026-01-01T00:00:00+00:00',
  };
  only(await operator.post(`${HIVE}/holdings`, before));
  const replies = await Promise.all(
    Array.from({ length: 4 }, () =>
      operator.post(`${HIVE}/holdings`, { prefix: '192.0.3.0/24', asn: 64510 }),
    ),
  );
  assert.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 422, 422, 422],
  );
});

test('ends a holding now by the clock of the service, also one that has just begun', async (t) => {
  const { operator } = await start(t);
  const made = only(
    await operator.post(`${HIVE}/holdings`, { prefix: '192.0.3.0/24', asn: 64510 }),
  );
  const { id } = made.holdings.find(({ prefix }) => prefix === '192.0.3.0/24') ?? { id: 0 };
  const ended = only(await operator.put(`${HIVE}/holdings/${id}`, { end_now: true }));
  assert.deepEqual(
    ended.holdings.filter(({ prefix }) => prefix === '192.0.3.0/24'),
    [],
  );
});

test('refuses holdings that are not well-formed, and each by its field', async (t) => {
  const { operator } = await start(t);
  const cases: [Record<string, unknown>, string, string?][] = [
    [{ prefix: 'nonsense', asn: 64510 }, '/prefix'],
    [{ prefix: '192.0.3.1/24', asn: 64510 }, '/prefix'],
    [{ prefix: '192.0.3.0/24', asn: 64510, service_id: 900 }, '/asn'],
    [{ prefix: '192.0.3.0/24', asn: 64500 }, '/asn', 'conflict'],
    [{ prefix: '192.0.3.7', service_id: 501 }, '/service_id', 'conflict'],
    [{ prefix: '192.0.3.0/24', asn: 64510, until: '2020-01-01T00:00:00+00:00' }, '/until'],
  ];
  for (const [body, pointer, code = 'invalid_request'] of cases) {
    const refused = assertRefused(await operator.post(`${HIVE}/holdings`, body), 422, code);
    assert.equal((refused['errors'] as { pointer: string }[])[0]?.pointer, pointer);
  }
});

test('takes no rules out of force unless it is asked to', async (t) => {
  const { operator, acme, db, client } = await start(t);
  const rule = { action: 'deny', protocol: 'udp', destination_port: '19' };
  assert.equal((await acme.post('/api/v1/firewall/ips/203.0.113.10/rules', rule)).status, 201);
  const inside = { prefix: '203.0.113.0/27', asn: 64510 };
  const refused = assertRefused(
    await operator.post(`${HIVE}/holdings`, inside),
    422,
    'live_objects',
  );
  assert.match(String(refused['detail']), /1 live firewall object of acme/);
  only(await operator.post(`${HIVE}/holdings`, { ...inside, allow_losses: true }));
  const { id: organisationId } = await db
    .selectFrom('organisations')
    .select('id')
    .where('slug', '=', 'hive')
    .executeTakeFirstOrThrow();
  const key = await client({ organisationId, abilities: ['firewall.read', 'firewall.manage'] });
  assert.equal((await key.post('/api/v1/firewall/ips/203.0.113.11/rules', rule)).status, 201);
  const { holdings } = only(
    await operator.put(HIVE, { name: 'Hive', flags: ['firewall_api'], limits: LIMITS }),
  );
  const one = `${HIVE}/holdings/${holdings[0]?.id}`;
  const end = { since: '2026-01-01T00:00:00+00:00', until: '2026-02-01T00:00:00+00:00' };
  assertRefused(await operator.put(one, end), 422, 'live_objects');
  assertRefused(await operator.send('DELETE', one), 422, 'conflict');
  only(await operator.put(one, { ...end, allow_losses: true }));
});

test('removes a holding that was never used', async (t) => {
  const { operator } = await start(t);
  const wanted = { prefix: '192.0.3.0/24', asn: 64510 };
  const [made] = only(await operator.post(`${HIVE}/holdings`, wanted)).holdings;
  assert.deepEqual(
    only(await operator.send('DELETE', `${HIVE}/holdings/${made?.id}`)).holdings,
    [],
  );
  only(await operator.post(`${HIVE}/holdings`, wanted));
  assertRefused(await operator.send('DELETE', `${HIVE}/asns/64510`), 422, 'conflict');
});

test('changes nothing that the fleet file owns, and nothing of another organisation', async (t) => {
  const { operator } = await start(t);
  const acme = dataOf<Organisation[]>(await operator.get(ORGANISATIONS)).find(
    ({ slug }) => slug === 'acme',
  );
  const prefix = acme?.holdings.find(({ prefix: shown }) => shown === '203.0.113.0/24');
  const service = { name: 'x', active: false };
  const writes: [Promise<TestReply>, number, string][] = [
    [operator.put(`${ACME}/services/501`, service), 422, 'managed_by_fleet_file'],
    [operator.send('DELETE', `${ACME}/asns/64500`), 422, 'managed_by_fleet_file'],
    [operator.send('DELETE', `${ACME}/services/501`), 422, 'managed_by_fleet_file'],
    [operator.put(`${ACME}/holdings/${prefix?.id}`, { until: null }), 422, 'managed_by_fleet_file'],
    [
      operator.put(`${ACME}/thresholds`, { scope: 'organisation', ...NOTHING }),
      422,
      'managed_by_fleet_file',
    ],
    [operator.put(`${HIVE}/holdings/${prefix?.id}`, { until: null }), 404, 'not_found'],
    [operator.send('DELETE', `${HIVE}/asns/64500`), 404, 'not_found'],
    [operator.put(`${HIVE}/services/501`, service), 422, 'conflict'],
    [operator.send('PUT', `${HIVE}/asns/64500`), 422, 'conflict'],
    [
      operator.put(`${HIVE}/thresholds`, { scope: 'service', id: 501, ...NOTHING }),
      404,
      'not_found',
    ],
    [operator.send('PUT', `${ORGANISATIONS}/nobody/asns/64511`), 404, 'not_found'],
    [operator.send('PUT', `${HIVE}/asns/0`), 404, 'not_found'],
    [operator.send('PUT', `${HIVE}/asns/4294967296`), 404, 'not_found'],
  ];
  for (const [reply, status, code] of writes) assertRefused(await reply, status, code);
  const after = dataOf<Organisation[]>(await operator.get(ORGANISATIONS));
  assert.deepEqual(
    after.find(({ slug }) => slug === 'acme'),
    acme,
  );
});

test('gives an organisation of the fleet file more, which the file leaves alone', async (t) => {
  const { operator } = await start(t);
  only(await operator.send('PUT', `${ACME}/asns/64511`));
  const { holdings } = only(
    await operator.post(`${ACME}/holdings`, { prefix: '192.0.4.0/24', asn: 64511 }),
  );
  assert.equal(holdings.find(({ prefix }) => prefix === '192.0.4.0/24')?.owner, 'portal');
});

test('keeps thresholds of an organisation, a service and a holding, and their safelist', async (t) => {
  const { operator, db } = await start(t);
  const wanted = { ...NOTHING, pps: 5_000, mitigation: 'observe', safelist: ['192.0.2.7/32'] };
  const set = (body: object) => operator.put(`${HIVE}/thresholds`, body);
  const shown = { ...wanted, safelist: ['192.0.2.7'] };
  assert.deepEqual(only(await set({ scope: 'organisation', ...wanted })).thresholds, shown);
  assert.deepEqual(
    only(await set({ scope: 'service', id: 900, ...wanted })).services[0]?.thresholds,
    shown,
  );
  const [made] = only(
    await operator.post(`${HIVE}/holdings`, { prefix: '192.0.3.0/24', asn: 64510 }),
  ).holdings;
  assert.deepEqual(made?.thresholds, NOTHING);
  assert.deepEqual(
    only(await set({ scope: 'holding', id: made.id, ...wanted })).holdings[0]?.thresholds,
    shown,
  );
  const stored = await db
    .selectFrom('holdings')
    .select('detection')
    .where('id', '=', made.id)
    .execute();
  assert.deepEqual(stored[0]?.detection, {
    pps: 5_000,
    mbps: null,
    holdSeconds: null,
    mitigation: 'observe',
    safelist: ['192.0.2.7'],
  });
  const wide = { ...wanted, safelist: ['0.0.0.0/0'] };
  assertRefused(await set({ scope: 'organisation', ...wide }), 422, 'invalid_request');
  assertRefused(await set({ scope: 'service', ...wanted }), 422, 'invalid_request');
});

test('changes the filters that a service manages, and removes services that nothing needs', async (t) => {
  const { operator, db } = await start(t);
  const one = `${HIVE}/services/900`;
  const body = { name: 'lobby', active: true };
  const filters = [{ type: 'tcp-syn-proxy', ports: '443, 80' }];
  const { services } = only(await operator.put(one, { ...body, managed_filters: filters }));
  assert.deepEqual(services[0]?.managed_filters, [{ type: 'tcp-syn-proxy', ports: '80,443' }]);
  const kept = only(await operator.put(one, { ...body, active: false })).services[0];
  assert.deepEqual([kept?.active, kept?.managed_filters.length], [false, 1]);
  for (const wrong of [
    [{ type: 'nonsense', ports: null }],
    [{ type: 'tcp-syn-proxy', ports: '0' }],
    [...filters, ...filters],
  ]) {
    const reply = await operator.put(one, { ...body, managed_filters: wrong });
    assertRefused(reply, 422, 'invalid_request');
  }
  const address = { prefix: '192.0.3.7', service_id: 900 };
  const [made] = only(await operator.post(`${HIVE}/holdings`, address)).holdings;
  assertRefused(await operator.send('DELETE', one), 422, 'conflict');
  only(await operator.send('DELETE', `${HIVE}/holdings/${made?.id}`));
  assert.deepEqual(only(await operator.send('DELETE', one)).services, []);
  assert.equal(
    (await db.selectFrom('services').select('id').where('id', '=', 900).execute()).length,
    0,
  );
});

test('removes agents of the portal that nothing needs', async (t) => {
  const { operator, db } = await start(t);
  const edge = (name: string, owner: 'fleet' | 'portal', isInService: boolean) => ({
    name,
    owner,
    site: 'fra',
    devices: ['eth0'],
    serves: ['0.0.0.0/0'],
    sees: 'both' as const,
    fragments: 'reassemble' as const,
    management: '[]',
    in_service: isInService,
  });
  await db
    .insertInto('edges')
    .values([
      edge('fra1', 'fleet', false),
      edge('fra2', 'portal', true),
      edge('fra3', 'portal', false),
    ])
    .execute();
  await db.insertInto('nodes').values({ name: 'node-1', owner: 'portal' }).execute();
  const remove = (path: string) => operator.send('DELETE', `/api/portal/operator/${path}`);
  assertRefused(await remove('edges/fra1'), 422, 'managed_by_fleet_file');
  assertRefused(await remove('edges/fra2'), 422, 'conflict');
  assertRefused(await remove('edges/none'), 404, 'not_found');
  dataOf(await remove('edges/fra3'));
  dataOf(await remove('nodes/node-1'));
  const fleet = dataOf<{ edges: { name: string; devices: string[] }[]; nodes: unknown[] }>(
    await operator.get('/api/portal/operator/fleet'),
  );
  assert.deepEqual(
    fleet.edges.map(({ name, devices }) => [name, devices]),
    [
      ['fra1', ['eth0']],
      ['fra2', ['eth0']],
    ],
  );
  assert.deepEqual(fleet.nodes, []);
});
