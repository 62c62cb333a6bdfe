import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Endpoint } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import type { Db } from '../db/database.ts';
import type { TestReply } from '../testing/client.ts';
import { ALL_ABILITIES, startEnvironment } from '../testing/fixture.ts';

/** Parts 7 and 8 of the interface, row by row, with the complete bodies that clients may rely on. */
const V1 = '/api/v1/firewall/ips';
const IP = `${V1}/203.0.113.10`;
const ASSIGNED = `${V1}/198.51.100.10`;

/** All but the stream of events, which needs no ability of its own and does not end (events.test.ts). */
const OPERATIONS: readonly { readonly row: Endpoint; readonly path: string }[] = [
  ...ENDPOINTS.map((row) => ({ row, path: pathOf(V1_PREFIX, row) })),
  ...X1_ENDPOINTS.filter((row) => !('stream' in row)).map((row) => ({
    row,
    path: pathOf(X1_PREFIX, row),
  })),
];

function pathOf(prefix: string, row: Endpoint): string {
  const path = row.path.replace('{ip}', '203.0.113.10');
  return prefix + path.replace(/\{\w+\}/, '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11');
}

function refusal(status: number, code: string, title: string, detail: string, errors?: object[]) {
  const document = { type: `/problems/${code}`, title, status, detail, code };
  return errors === undefined ? document : { ...document, errors };
}

function isExactly(reply: TestReply, expected: ReturnType<typeof refusal>): void {
  assert.deepEqual(reply.body, expected);
  assert.equal(reply.status, expected.status);
}

const tcp = (destination_port: string) => ({ action: 'allow', protocol: 'tcp', destination_port });
const udp = (port: string) => ({ type: 'udp-stateful', port });

/** A group of acme with a rule and a filter on the address. */
async function assignGroup(db: Db): Promise<void> {
  for (const statement of [
    sql`insert into groups (organisation_id, name, owner) values (1, 'baseline', 'portal')`,
    sql`insert into group_rules (group_id, action, protocol, port, created_generation)
        values (1, 'deny', 'udp', 19, 0)`,
    sql`insert into group_filters (group_id, type, port, created_generation) values (1, 'udp-stateful', 9, 0)`,
    sql`insert into group_assignments (group_id, holding_id, target, created_generation)
        values (1, 1, '203.0.113.10/32', 0)`,
  ]) {
    await statement.execute(db);
  }
}

test('403: every operation of an area whose flag is off, and no other', async (t) => {
  const world = await startEnvironment(t);
  await sql`update organisations set flags = '{}' where id = 1`.execute(world.db);
  const abilities = ALL_ABILITIES.filter((ability) => ability.startsWith('game-servers.'));
  const key = await world.client({ abilities });
  for (const { row, path } of OPERATIONS) {
    const reply = await key.send(row.method, path);
    if (row.flag === null) assert.notEqual(reply.status, 403, row.operationId);
    else {
      const detail = `This area is not enabled for the organisation (${row.flag}). The operator's staff enable it on request.`;
      isExactly(reply, refusal(403, 'area_not_enabled', 'Area not enabled', detail));
    }
  }
});

test('403: every operation to a key that lacks its ability and has all the others', async (t) => {
  const world = await startEnvironment(t);
  for (const { row, path } of OPERATIONS) {
    if (row.ability === null) continue;
    const abilities = ALL_ABILITIES.filter((ability) => ability !== row.ability);
    const key = await world.client({ abilities });
    const detail = `This key lacks the ability ${row.ability}. Use a key that has it.`;
    isExactly(
      await key.send(row.method, path),
      refusal(403, 'ability_missing', 'Ability missing', detail),
    );
  }
});

test('404: an address outside of the prefixes and services of the caller', async (t) => {
  const { acme } = await startEnvironment(t);
  isExactly(
    await acme.get(`${V1}/192.0.2.1`),
    refusal(
      404,
      'not_found',
      'Not found',
      'No such address among those this key may manage. It must lie in a prefix that the organisation announces, or be assigned to one of its services.',
    ),
  );
});

test('422: the same body for an unknown filter type and one that is not available on the address', async (t) => {
  const { acme } = await startEnvironment(t);
  const expected = refusal(
    422,
    'filter_unavailable',
    'Filter unavailable',
    'This filter type is not available on this address. The service of the address manages these itself, on the ports of its game servers or those it names: tcp-syn-proxy (on no port yet), udp-stateful (on no port yet). Read filters/available for those that are.',
  );
  isExactly(await acme.post(`${ASSIGNED}/filters`, { type: 'nothing', port: '1' }), expected);
  isExactly(await acme.post(`${ASSIGNED}/filters`, udp('1')), expected);
});

test('422: a rule identical to one on the address', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${IP}/rules`, tcp('80'));
  isExactly(
    await acme.post(`${IP}/rules`, tcp('80')),
    refusal(
      422,
      'rule_exists',
      'Rule exists',
      'The address already has a rule identical to this one on port 80; nothing was created.',
    ),
  );
});

test('422: one above each limit of part 8; a request at the limit succeeds', async (t) => {
  const { acme } = await startEnvironment(t);
  const exceeded = (detail: string, errors?: object[]) =>
    refusal(422, 'limit_exceeded', 'Limit exceeded', detail, errors);
  const ports = exceeded(
    'The port expression holds 102 ports, and a request may hold 101 (max_ports_per_request). Split it into several requests.',
  );
  isExactly(await acme.post(`${IP}/rules`, tcp('1-102')), ports);
  isExactly(await acme.post(`${IP}/filters`, udp('1-102')), ports);
  assert.equal((await acme.post(`${IP}/rules`, tcp('1-50, 2,40-100'))).status, 201);
  isExactly(
    await acme.post(`${IP}/rules`, tcp('101')),
    exceeded(
      'The address has 100 rules, and 1 more would exceed the limit of 100 (rules_per_ip). Delete some first; rules of firewall groups count too.',
    ),
  );
  assert.equal((await acme.post(`${IP}/filters`, udp('1-25'))).status, 201);
  isExactly(
    await acme.post(`${IP}/filters`, udp('26')),
    exceeded(
      'The address has 25 filters, and 1 more would exceed the limit of 25 (filters_per_ip). Delete some first; filters of firewall groups count too.',
    ),
  );
  for (const [path, field, items] of [
    ['rules', 'ids', Array.from({ length: 101 }, (_, i) => i + 9000)],
    ['filters', 'keys', Array.from({ length: 101 }, (_, i) => `udp-stateful:${i + 9000}`)],
  ] as const) {
    isExactly(
      await acme.delete(`${IP}/${path}`, { [field]: items }),
      exceeded(`Too much for one request: ${field} must name at most 100. Send it in parts.`, [
        { pointer: `/${field}`, detail: 'must name at most 100' },
      ]),
    );
    const some = await acme.delete(`${IP}/${path}`, { [field]: items.slice(1) });
    assert.equal(some.status, 200);
  }
});

test('accepts 101 ports in one request if the rule limit of the organisation allows it; meta shows the limits', async (t) => {
  const world = await startEnvironment(t);
  await sql`update organisations set rules_per_ip = 500, filters_per_ip = 3, max_ports_per_request = 200
            where id = 1`.execute(world.db);
  const acme = await world.client();
  const made = await acme.post(`${IP}/rules`, tcp('1-101'));
  assert.deepEqual(Reflect.get(Object(Reflect.get(Object(made.body), 'data')), 'created'), 101);
  const { meta } = (await acme.get(IP)).body as { meta: object };
  assert.deepEqual(meta, {
    rules_count: 101,
    filters_count: 0,
    limits: { rules_per_ip: 500, filters_per_ip: 3, max_ports_per_request: 200 },
  });
  assert.equal((await acme.post(`${IP}/rules`, tcp('101-300'))).status, 422);
  assert.equal((await acme.post(`${IP}/rules`, tcp('102-301'))).status, 201);
});

test('422: a delete of an object of a firewall group names the group and deletes nothing', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await assignGroup(db);
  await acme.post(`${IP}/rules`, tcp('80'));
  await acme.post(`${IP}/filters`, udp('10'));
  const owned = (what: string) =>
    refusal(
      422,
      'managed_by_group',
      'Managed by a group',
      `The ${what} is managed by the firewall group "baseline" (id 1) and can only be changed there; nothing was deleted.`,
    );
  isExactly(await acme.delete(`${IP}/rules`, { ids: [2, 1] }), owned('rule 1'));
  const keys = ['udp-stateful:10', 'udp-stateful:9'];
  isExactly(await acme.delete(`${IP}/filters`, { keys }), owned('filter udp-stateful:9'));
  const { meta } = (await acme.get(IP)).body as { meta: { rules_count: number } };
  assert.equal(meta.rules_count, 2);
});

test('502: the database refuses one of the ports, so none was written', async (t) => {
  const { acme, db, logged } = await startEnvironment(t);
  await sql
    .raw(`create function fail() returns trigger language plpgsql as $$ begin raise 'port fails'; end $$;
    create trigger fail before insert on rules for each row when (new.port = 81) execute function fail()`)
    .execute(db);
  isExactly(
    await acme.post(`${IP}/rules`, tcp('80,81')),
    refusal(
      502,
      'no_port_landed',
      'No port landed',
      'No port of this request could be stored, so nothing was created. Try again.',
    ),
  );
  const { meta } = (await acme.get(IP)).body as { meta: { rules_count: number } };
  assert.equal(meta.rules_count, 0);
  assert.match(logged(), /port fails/);
});

test('accepts every protocol in both families, and ports only with tcp and udp', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const path of [IP, `${V1}/2001:db8::10`]) {
    for (const protocol of ['tcp', 'udp', 'icmp', 'gre', 'esp', 'any']) {
      for (const action of ['allow', 'deny']) {
        const made = await acme.post(`${path}/rules`, { action, protocol });
        assert.equal(made.status, 201, `${path} ${action} ${protocol}`);
      }
      const port = await acme.post(`${path}/rules`, { ...tcp('80'), protocol });
      assert.equal(port.status, protocol === 'tcp' || protocol === 'udp' ? 201 : 422, protocol);
    }
  }
});

test('answers 422 in every write to unknown fields, query parameters and control characters', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const { row, path } of OPERATIONS.filter(({ row }) => row.body !== undefined)) {
    if (row.flag !== 'firewall_api') continue;
    const [body] = Object.values(row.bodyExamples ?? {});
    const bodies: [unknown, string][] = [
      [{ ...Object(body), more: 1 }, '/more'],
      [{ ...Object(body), 'tab\t': 1 }, '/tab\t'],
    ];
    for (const [json, pointer] of bodies) {
      const reply = await acme.send(row.method, path, { json });
      assert.equal(reply.status, 422, row.operationId);
      assert.ok(reply.text.includes(JSON.stringify(pointer)), `${row.operationId} ${reply.text}`);
    }
    const reply = await acme.send(row.method, `${path}?more=1`, { json: body ?? { ids: [1] } });
    assert.equal(reply.status, 422, row.operationId);
    assert.match(reply.text, /"parameter":"more"/);
  }
});

test('every read has an ETag and answers 304 without a body to a matching If-None-Match', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const { row, path } of OPERATIONS.filter(({ row }) => row.method === 'GET')) {
    if (row.flag !== 'firewall_api') continue;
    const etag = (await acme.get(path)).headers.get('etag') ?? '';
    assert.match(etag, /^"[^"]+"$/, row.operationId);
    const again = await acme.get(path, { 'if-none-match': etag });
    assert.deepEqual([again.status, again.text], [304, ''], row.operationId);
    assert.equal((await acme.get(path, { 'if-none-match': '*' })).status, 304);
    assert.equal((await acme.get(path, { 'if-none-match': '"other"' })).status, 200);
  }
});
