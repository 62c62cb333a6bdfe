import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, dataOf, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const OPERATOR = '/api/portal/operator';
const ORGANISATIONS = `${OPERATOR}/organisations`;
const HIVE = `${ORGANISATIONS}/hive`;
const ACME = `${ORGANISATIONS}/acme`;
const DEFAULTS = {
  rules_per_ip: 100,
  filters_per_ip: 25,
  max_ports_per_request: 101,
  attack_history_days: 90,
  configured_addresses: 10_000,
  requests_per_minute: 600,
  own_servers: 0,
  own_servers_memory: 0,
  own_servers_cpu: 0,
  own_servers_disk: 0,
};
const NOTHING = {
  thresholds: { pps: null, mbps: null, hold_seconds: null },
  mitigation: null,
  safelist: [],
};
const FREE = { prefix: '192.0.3.0/24', asn: 64_510 };

interface Holding {
  readonly id: number;
  readonly prefix: string;
  readonly service: number | null;
  readonly since: string;
  readonly until: string | null;
  readonly owner: string;
}

/** An operator, and an organisation of the portal with an ASN and a service. */
async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const operator = environment.session('operator');
  dataOf(await operator.put(HIVE, { name: 'Hive', flags: ['firewall_api'] }));
  dataOf(await operator.put(`${OPERATOR}/asns/64510`, { organisation: 'hive' }));
  dataOf(await operator.put(`${HIVE}/services/900`, { name: 'lobby' }));
  const patch = (path: string, json: object, headers: Readonly<Record<string, string>> = {}) =>
    operator.send('PATCH', path, { json, headers });
  const give = (holding: object, losses = '') =>
    operator.post(`${HIVE}/holdings${losses}`, holding);
  const list = async () => dataOf<Holding[]>(await operator.get(`${HIVE}/holdings`));
  const end = (id: number, losses = '') =>
    operator.send('DELETE', `${HIVE}/holdings/${id}${losses}`);
  const keyOfHive = async () => {
    const organisations = await environment.db
      .selectFrom('organisations')
      .select(['id', 'slug'])
      .execute();
    const organisationId = organisations.find(({ slug }) => slug === 'hive')?.id ?? 0;
    return environment.client({
      organisationId,
      abilities: ['firewall.read', 'firewall.manage'],
    });
  };
  return { ...environment, operator, patch, give, list, end, keyOfHive };
}

function made(reply: TestReply): Holding {
  assert.equal(reply.status, 201, reply.text);
  return dataOf<Holding>(reply);
}

test('an organisation is whole by PUT, changed by PATCH, and created once', async (t) => {
  const { operator, patch } = await start(t);
  const limits = { ...DEFAULTS, rules_per_ip: 50 };
  const changed = dataOf(
    await patch(HIVE, { limits: { rules_per_ip: 50 }, thresholds: { pps: 9 } }),
  );
  const shown = {
    slug: 'hive',
    name: 'Hive',
    owner: 'portal',
    external_id: null,
    prefixes: 0,
    services: 1,
  };
  const thresholds = { ...NOTHING.thresholds, pps: 9 };
  const flags = ['firewall_api'];
  assert.deepEqual(changed, { ...NOTHING, ...shown, flags, limits, thresholds, asns: [64_510] });
  const whole = dataOf(await operator.put(HIVE, { name: 'Hive' }));
  assert.deepEqual(whole, {
    ...NOTHING,
    ...shown,
    flags: [],
    limits: DEFAULTS,
    asns: [64_510],
  });
  const again = await operator.put(HIVE, { name: 'Other' }, { 'if-none-match': '*' });
  assertRefused(again, 412, 'precondition_failed');
  const read = (await operator.get(HIVE)).headers.get('etag') ?? '';
  dataOf(await patch(HIVE, { name: 'Hive 2' }, { 'if-match': read }));
  assertRefused(
    await patch(HIVE, { name: 'Hive 3' }, { 'if-match': read }),
    412,
    'precondition_failed',
  );
});

test('an ASN is given and taken, but not from under prefixes', async (t) => {
  const { operator, give, list, end } = await start(t);
  const asn = `${OPERATOR}/asns/64510`;
  const listed = await operator.get(`${OPERATOR}/asns?organisation=hive`);
  assert.deepEqual(dataOf(listed), [{ asn: 64_510, organisation: 'hive', owner: 'portal' }]);
  made(await give(FREE));
  assertRefused(await operator.put(asn, { organisation: 'acme' }), 422, 'conflict');
  assertRefused(await operator.send('DELETE', asn), 422, 'conflict');
  // The operator's is for prefixes of any organisation.
  dataOf(await operator.put(asn, {}));
  dataOf(await end((await list())[0]?.id ?? 0));
  dataOf(await operator.send('DELETE', asn));
  assertRefused(await operator.get(asn), 404, 'not_found');
});

test('gives a prefix and an address, which are held then, and ends them', async (t) => {
  const { db, patch, give, list, keyOfHive } = await start(t);
  const reply = await give(FREE);
  assert.match(reply.headers.get('portcullis-generation') ?? '', /^\d+$/);
  const { id, ...holding } = made(reply);
  assert.deepEqual(
    [holding.prefix, holding.until, holding.owner],
    ['192.0.3.0/24', null, 'portal'],
  );
  const until = '2099-01-01T00:00:00+00:00';
  const address = made(await give({ prefix: '198.51.100.77', service: 900, until }));
  assert.deepEqual([address.prefix, address.service], ['198.51.100.77/32', 900]);
  const key = await keyOfHive();
  const at = (ip: string) => key.get(`/api/v1/firewall/ips/${ip}`);
  assert.deepEqual(
    [(await at('192.0.3.9')).status, (await at('198.51.100.77')).status],
    [200, 200],
  );
  const end = { until: new Date(Date.now() - 1_000).toISOString() };
  const one = `${HIVE}/holdings/${id}`;
  // It began later than a second ago.
  assertRefused(await patch(one, end), 422, 'invalid_request');
  dataOf(await patch(one, { since: '2026-01-01T00:00:00+00:00', ...end }));
  assert.deepEqual(
    (await list()).map(({ prefix }) => prefix),
    ['198.51.100.77/32'],
  );
  assertRefused(await at('192.0.3.9'), 404, 'not_found');
  const trail = await db.selectFrom('audit').select(['action', 'actor_kind', 'target']).execute();
  const entry = trail.find(({ action }) => action === 'holding.change');
  assert.deepEqual([entry?.actor_kind, entry?.target], ['operator', '192.0.3.0/24']);
});

test('a holding is whole by PUT, keeps its start to the millisecond, and has its default', async (t) => {
  const { operator, db, patch, give } = await start(t);
  const { id } = made(await give({ ...FREE, default: 'deny', mitigation: 'off' }));
  const one = `${HIVE}/holdings/${id}`;
  const startOf = async () =>
    (
      await sql<{
        since: string;
      }>`select lower(during)::text as since from holdings where id = ${id}`.execute(db)
    ).rows;
  const began = await startOf();
  const changed = dataOf<Holding & { default: string }>(await patch(one, { asn: null }));
  assert.equal(changed.default, 'deny');
  assert.deepEqual(await startOf(), began);
  const { rows } = await sql`select from default_actions where deleted_generation is null`.execute(
    db,
  );
  assert.equal(rows.length, 1);
  const { since, ...whole } = dataOf<Holding>(await operator.put(one, { prefix: FREE.prefix }));
  assert.deepEqual(whole, {
    ...NOTHING,
    organisation: 'hive',
    id,
    prefix: FREE.prefix,
    asn: null,
    service: null,
    until: null,
    default: null,
    owner: 'portal',
  });
  assert.match(since, /^\d{4}-/);
  assert.deepEqual(await startOf(), began);
  const end = '2027-01-01T00:00:00.75+00:00';
  assert.deepEqual(
    dataOf<Holding>(await patch(one, { until: end })).until,
    '2027-01-01T00:00:00.750+00:00',
  );
  const { rows: ends } = await sql<{ until: string }>`
    select upper(during)::text as until from holdings where id = ${id}`.execute(db);
  assert.equal(ends[0]?.until, '2027-01-01 00:00:00.75+00');
  assertRefused(await operator.put(`${HIVE}/holdings/4711`, FREE), 404, 'not_found');
  assertRefused(await operator.put(`${ACME}/holdings/${id}`, FREE), 404, 'not_found');
});

test('gives prefixes under the ASN of the operator, under none, and to a service', async (t) => {
  const { operator, give, keyOfHive } = await start(t);
  dataOf(await operator.put(`${OPERATOR}/asns/64999`, {}));
  for (const holding of [
    { prefix: '192.0.3.0/24', asn: 64_999 },
    { prefix: '192.0.4.0/24' },
    { prefix: '192.0.5.0/24', service: 900 },
    { prefix: '192.0.6.1', service: 900 },
  ]) {
    made(await give(holding));
  }
  const key = await keyOfHive();
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
  const { give } = await start(t);
  const wanted = { prefix: '192.0.2.0/24', asn: 64_510 };
  const taken = assertRefused(await give(wanted), 422, 'conflict');
  assert.match(String(taken['detail']), /192\.0\.2\.0\/24 is other's since 2026-01-01/);
  const [since, until] = ['2025-01-01T00:00:00+00:00', '2026-01-01T00:00:00+00:00'];
  made(await give({ ...wanted, since, until }));
  const replies = await Promise.all(Array.from({ length: 4 }, () => give(FREE)));
  assert.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 422, 422, 422],
  );
});

test('ends a holding now by the clock of the service, also one that has just begun', async (t) => {
  const { give, list, end, acme, keyOfHive, db } = await start(t);
  const { id } = made(await give(FREE));
  dataOf(await end(id));
  assert.deepEqual(await list(), []);
  assertRefused(await end(id), 404, 'not_found');
  // One that was used stays for the history.
  const used = made(await give(FREE));
  const rule = { action: 'deny', protocol: 'udp', destination_port: '19' };
  const key = await keyOfHive();
  assert.equal((await key.post('/api/v1/firewall/ips/192.0.3.9/rules', rule)).status, 201);
  const refused = assertRefused(await end(used.id), 422, 'live_objects');
  assert.match(String(refused['detail']), /1 live firewall object, .* allow_losses=true/);
  dataOf(await end(used.id, '?allow_losses=true'));
  assert.deepEqual(await list(), []);
  const { rows } = await sql<{ ended: boolean }>`
    select upper(during) <= now() as ended from holdings where id = ${used.id}`.execute(db);
  assert.deepEqual(rows, [{ ended: true }]);
  assertRefused(await end(used.id), 422, 'conflict');
  assert.equal((await acme.get('/api/v1/firewall/ips/203.0.113.10')).status, 200);
});

test('refuses holdings that are not well-formed, and each by its field', async (t) => {
  const { give } = await start(t);
  const cases: [Record<string, unknown>, string][] = [
    [{ ...FREE, prefix: 'nonsense' }, '/prefix'],
    [{ ...FREE, prefix: '192.0.3.1/24' }, '/prefix'],
    [{ ...FREE, service: 900 }, '/asn'],
    [{ ...FREE, asn: 64_500 }, '/asn'],
    [{ prefix: '192.0.3.7', service: 501 }, '/service'],
    [{ ...FREE, until: '2020-01-01T00:00:00+00:00' }, '/until'],
  ];
  for (const [body, pointer] of cases) {
    const refused = assertRefused(await give(body), 422, 'invalid_request');
    assert.equal((refused['errors'] as { pointer: string }[])[0]?.pointer, pointer);
  }
});

test('takes no rules out of force unless it is asked to', async (t) => {
  const { acme, patch, give, keyOfHive } = await start(t);
  const rule = { action: 'deny', protocol: 'udp', destination_port: '19' };
  assert.equal((await acme.post('/api/v1/firewall/ips/203.0.113.10/rules', rule)).status, 201);
  const inside = { prefix: '203.0.113.0/27', asn: 64_510 };
  const refused = assertRefused(await give(inside), 422, 'live_objects');
  assert.match(String(refused['detail']), /of acme has 1 live firewall object/);
  const { id } = made(await give(inside, '?allow_losses=true'));
  const key = await keyOfHive();
  assert.equal((await key.post('/api/v1/firewall/ips/203.0.113.11/rules', rule)).status, 201);
  const one = `${HIVE}/holdings/${id}`;
  const end = { since: '2026-01-01T00:00:00+00:00', until: '2026-02-01T00:00:00+00:00' };
  assertRefused(await patch(one, end), 422, 'live_objects');
  dataOf(await patch(`${one}?allow_losses=true`, end));
  // One that begins later takes them out of force when a change makes it begin now.
  const later = { prefix: '203.0.113.8/29', since: '2099-01-01T00:00:00+00:00' };
  const begun = `${HIVE}/holdings/${made(await give(later)).id}`;
  const refusedNow = assertRefused(
    await patch(begun, { since: '2026-01-01T00:00:00+00:00' }),
    422,
    'live_objects',
  );
  assert.match(String(refusedNow['detail']), /of acme has 1 live firewall object/);
});

test('changes nothing that the fleet file owns, and nothing of another organisation', async (t) => {
  const { operator, patch } = await start(t);
  const holdings = async () => dataOf<Holding[]>(await operator.get(`${ACME}/holdings`));
  const before = await holdings();
  const id = before.find(({ prefix }) => prefix === '203.0.113.0/24')?.id;
  const service = { name: 'x', active: false };
  const writes: [Promise<TestReply>, number, string][] = [
    [operator.put(ACME, { name: 'x' }), 422, 'managed_by_fleet_file'],
    [patch(ACME, { mitigation: 'off' }), 422, 'managed_by_fleet_file'],
    [operator.put(`${ACME}/services/501`, service), 422, 'managed_by_fleet_file'],
    [operator.send('DELETE', `${OPERATOR}/asns/64500`), 422, 'managed_by_fleet_file'],
    [
      operator.put(`${OPERATOR}/asns/64500`, { organisation: 'hive' }),
      422,
      'managed_by_fleet_file',
    ],
    [operator.send('DELETE', `${ACME}/services/501`), 422, 'managed_by_fleet_file'],
    [patch(`${ACME}/holdings/${id}`, { until: null }), 422, 'managed_by_fleet_file'],
    [operator.send('DELETE', `${HIVE}/services/501`), 422, 'managed_by_fleet_file'],
    [operator.put(`${ORGANISATIONS}/nobody/services/77`, service), 422, 'invalid_request'],
    [operator.put(`${OPERATOR}/asns/0`, {}), 404, 'not_found'],
    [operator.put(`${OPERATOR}/asns/4294967296`, {}), 404, 'not_found'],
    [operator.get(`${HIVE}/services/501`), 404, 'not_found'],
    [operator.get(`${HIVE}/holdings/${id}`), 404, 'not_found'],
    [operator.put(`${ACME}/services/900`, service), 422, 'conflict'],
    [patch(`${ACME}/services/900`, service), 404, 'not_found'],
    [operator.send('DELETE', `${ACME}/services/900`), 404, 'not_found'],
    [operator.put(`${ORGANISATIONS}/-x`, { name: 'x' }), 404, 'not_found'],
  ];
  for (const [reply, status, code] of writes) assertRefused(await reply, status, code);
  assert.deepEqual(await holdings(), before);
});

test('gives an organisation of the fleet file more, which the file leaves alone', async (t) => {
  const { operator } = await start(t);
  dataOf(await operator.put(`${OPERATOR}/asns/64511`, { organisation: 'acme' }));
  const more = { prefix: '192.0.4.0/24', asn: 64_511 };
  assert.equal(made(await operator.post(`${ACME}/holdings`, more)).owner, 'portal');
});

test('keeps thresholds of an organisation, a service and a holding, and their safelist', async (t) => {
  const { db, patch, give } = await start(t);
  const wanted = { thresholds: { pps: 5_000 }, mitigation: 'observe', safelist: ['192.0.2.7/32'] };
  const thresholds = { ...NOTHING.thresholds, pps: 5_000 };
  const shown = { thresholds, mitigation: 'observe', safelist: ['192.0.2.7'] };
  const { id } = made(await give(FREE));
  for (const path of [HIVE, `${HIVE}/services/900`, `${HIVE}/holdings/${id}`]) {
    assert.partialDeepStrictEqual(dataOf<object>(await patch(path, wanted)), shown);
  }
  const stored = await db.selectFrom('holdings').select('detection').where('id', '=', id).execute();
  assert.deepEqual(stored[0]?.detection, {
    pps: 5_000,
    mbps: null,
    holdSeconds: null,
    mitigation: 'observe',
    safelist: ['192.0.2.7'],
  });
  const wide = { safelist: ['0.0.0.0/0'] };
  assertRefused(await patch(HIVE, wide), 422, 'invalid_request');
  const back = dataOf<object>(await patch(HIVE, { thresholds: null, mitigation: null }));
  assert.partialDeepStrictEqual(back, { ...NOTHING, safelist: ['192.0.2.7'] });
});

test('changes the filters that a service manages, and removes services that nothing needs', async (t) => {
  const { operator, db, patch, give, end } = await start(t);
  const one = `${HIVE}/services/900`;
  interface Service {
    readonly active: boolean;
    readonly managed_filters: readonly object[];
  }
  const filters = [{ type: 'tcp-syn-proxy', ports: '443, 80' }];
  const changed = dataOf<Service>(await patch(one, { managed_filters: filters }));
  assert.deepEqual(changed.managed_filters, [{ type: 'tcp-syn-proxy', ports: '80,443' }]);
  const kept = dataOf<Service>(await patch(one, { active: false }));
  assert.deepEqual([kept.active, kept.managed_filters.length], [false, 1]);
  const whole = dataOf<Service>(await operator.put(one, { name: 'lobby' }));
  assert.deepEqual([whole.active, whole.managed_filters.length], [true, 2]);
  const nowhere = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11:query';
  for (const wrong of [
    [{ type: 'nonsense', ports: null }],
    [{ type: 'tcp-syn-proxy', ports: '0' }],
    [{ type: 'tcp-syn-proxy', ports: nowhere }],
    [...filters, ...filters],
  ]) {
    assertRefused(await patch(one, { managed_filters: wrong }), 422, 'invalid_request');
  }
  const { id } = made(await give({ prefix: '192.0.3.7', service: 900 }));
  assertRefused(await operator.send('DELETE', one), 422, 'conflict');
  dataOf(await end(id));
  dataOf(await operator.send('DELETE', one));
  assert.equal(
    (await db.selectFrom('services').select('id').where('id', '=', 900).execute()).length,
    0,
  );
});
