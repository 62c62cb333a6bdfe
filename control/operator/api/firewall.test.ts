import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { applyText, insertOwnRule } from '../fleet-file/testing.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const HIVE = `${OPERATOR_PREFIX}/organisations/hive`;
const GROUP = `${HIVE}/groups/web`;
const GEO = `${HIVE}/geo-rules`;
const BLOCKED = `${HIVE}/blocked`;
const MARKS = { ref: null, expires_at: null, note: null };
const UDP = { action: 'deny', protocol: 'udp', source_ip: null, ...MARKS };

/** An operator, and hive, which holds 192.0.3.0/24. */
async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await environment.client({ organisationId: null, abilities });
  dataOf(await operator.put(HIVE, { name: 'Hive', flags: ['firewall_api'] }));
  dataOf(await operator.post(`${HIVE}/holdings`, { prefix: '192.0.3.0/24' }));
  const patch = (path: string, json: object, headers: Readonly<Record<string, string>> = {}) =>
    operator.send('PATCH', path, { json, headers });
  const audited = async (action: string) => {
    const { rows } = await sql<{ words: string }>`
      select detail ->> 'words' as words from audit where action = ${action} order by id`.execute(
      environment.db,
    );
    return rows.map(({ words }) => words);
  };
  return { ...environment, operator, patch, audited };
}

function pointersOf(problem: unknown): string[] {
  const { errors } = problem as { readonly errors: readonly { readonly pointer: string }[] };
  return errors.map(({ pointer }) => pointer);
}

test('a group is one object: whole by PUT, changed by PATCH, created once', async (t) => {
  const { operator, patch, audited } = await start(t);
  const body = {
    rules: [{ action: 'deny', protocol: 'udp', destination_port: '19, 1900', note: 'old' }],
    addresses: ['192.0.3.7', '192.0.3.128/25'],
  };
  const made = await operator.put(GROUP, body, { 'if-none-match': '*' });
  assert.equal(made.status, 201, made.text);
  assert.notEqual(made.headers.get('portcullis-generation'), null);
  const rules = ['19', '1900'].map((port) => ({ ...UDP, destination_port: port, note: 'old' }));
  assert.deepEqual(dataOf(made), {
    organisation: 'hive',
    name: 'web',
    rules,
    filters: [],
    addresses: ['192.0.3.7/32', '192.0.3.128/25'],
    owner: 'portal',
  });
  assertRefused(
    await operator.put(GROUP, body, { 'if-none-match': '*' }),
    412,
    'precondition_failed',
  );
  const read = await operator.get(GROUP);
  const tag = read.headers.get('etag') ?? '';
  const changed = await patch(
    GROUP,
    { rules: rules.slice(1), addresses: ['192.0.3.7'] },
    { 'if-match': tag },
  );
  assert.deepEqual(dataOf<{ addresses: string[] }>(changed).addresses, ['192.0.3.7/32']);
  assertRefused(
    await patch(GROUP, { filters: [] }, { 'if-match': tag }),
    412,
    'precondition_failed',
  );
  dataOf(await operator.put(GROUP, { filters: [{ type: 'udp-stateful', port: 9987 }] }));
  assert.deepEqual(await audited('group.change'), [
    '- deny udp 19, off 192.0.3.128/25',
    '- deny udp 1900, + filter udp-stateful:9987, off 192.0.3.7',
  ]);
  assert.equal((await operator.send('DELETE', GROUP)).status, 200);
  assert.deepEqual(dataOf(await operator.get(`${HIVE}/groups`)), []);
});

test('a group is refused with the place of what is wrong, on what is not held, and where it conflicts', async (t) => {
  const { operator, db } = await start(t);
  const rules = [
    { action: 'deny', protocol: 'gre', destination_port: 1 },
    { action: 'deny', protocol: 'tcp', destination_port: '1-65535' },
    { action: 'deny', protocol: 'tcp', destination_port: 'Survival:query' },
    { action: 'deny', protocol: 'esp', expires_at: '2020-01-01T00:00:00Z' },
  ];
  const filters = [{ type: 'magic', port: 1 }];
  const [wrong, over] = [rules.slice(0, 3), rules.slice(3)];
  const refused = await operator.put(GROUP, { rules: wrong, filters });
  assert.deepEqual(pointersOf(assertRefused(refused, 422, 'invalid_request')), [
    '/rules/0/destination_port',
    '/rules/1/destination_port',
    '/rules/2/destination_port',
    '/filters/0/type',
  ]);
  const expired = assertRefused(await operator.put(GROUP, { rules: over }), 422, 'invalid_request');
  assert.deepEqual(pointersOf(expired), ['/rules/0/expires_at']);
  const elsewhere = await operator.put(GROUP, { addresses: ['192.0.3.1', '198.18.0.1'] });
  const notHeld = assertRefused(elsewhere, 422, 'invalid_request');
  assert.deepEqual(pointersOf(notHeld), ['/addresses/1']);
  assert.match(elsewhere.text, /hive does not hold 198\.18\.0\.1\./);
  await insertOwnRule(db, '192.0.3.9', { action: 'deny', protocol: 'udp', port: 19 });
  const conflict = await operator.put(GROUP, {
    rules: [{ action: 'deny', protocol: 'udp', destination_port: 19 }],
    addresses: ['192.0.3.0/24'],
  });
  assert.match(conflict.text, /192\.0\.3\.9: it has the rule \\"deny udp 19\\" of its own/);
  assert.deepEqual(dataOf(await operator.get(`${HIVE}/groups`)), []);
});

test('a geo rule that drops other countries is another one', async (t) => {
  const { operator, patch, audited } = await start(t);
  const made = await operator.post(GEO, {
    action: 'deny',
    asns: [64_999, 64_496],
    addresses: ['192.0.3.1'],
  });
  assert.equal(made.status, 201, made.text);
  const { id, ...rest } = dataOf<{ id: number; asns: number[] }>(made);
  assert.deepEqual(rest.asns, [64_496, 64_999]);
  const moved = dataOf<{ id: number }>(await patch(`${GEO}/${id}`, { addresses: ['192.0.3.2'] }));
  assert.equal(moved.id, id);
  const other = dataOf<{ id: number; addresses: string[] }>(
    await patch(`${GEO}/${id}`, { countries: ['XX'] }),
  );
  assert.notEqual(other.id, id);
  assert.deepEqual(other.addresses, ['192.0.3.2/32']);
  assert.deepEqual(await audited('geo-rule.change'), [
    'off 192.0.3.1, on 192.0.3.2',
    'becomes deny XX AS64496 AS64999',
  ]);
  assertRefused(await operator.get(`${GEO}/${id}`), 404, 'not_found');
  const wrong = await operator.post(GEO, { action: 'only', countries: ['UK'], addresses: [] });
  assert.deepEqual(pointersOf(assertRefused(wrong, 422, 'invalid_request')), ['/countries/0']);
  assert.equal((await operator.send('DELETE', `${GEO}/${other.id}`)).status, 200);
  assert.deepEqual(dataOf(await operator.get(GEO)), []);
});

test('blocked sources of a target are one list, which keeps what a caller gave an end', async (t) => {
  const { operator, patch, audited, db } = await start(t);
  const one = `${BLOCKED}/${encodeURIComponent('192.0.3.0/25')}`;
  const ends = '2099-01-01T00:00:00+00:00';
  const sources = [
    { source: '198.51.100.7' },
    { source: '198.51.100.0/25', note: 'scans', expires_at: ends },
  ];
  const made = await operator.put(one, { sources }, { 'if-none-match': '*' });
  assert.equal(made.status, 201, made.text);
  const listed = [
    { source: '198.51.100.7/32', note: '', expires_at: null },
    { source: '198.51.100.0/25', note: 'scans', expires_at: ends },
  ];
  const { sources: shown } = dataOf<{ sources: unknown[] }>(made);
  assert.deepEqual(new Set(shown), new Set(listed));
  dataOf(await patch(one, { sources: [listed[1], { source: '198.51.100.9' }] }));
  dataOf(await operator.put(`${BLOCKED}/all`, { sources: [{ source: '198.51.100.66' }] }));
  assert.deepEqual(await audited('blocked-list.change'), ['- 198.51.100.7, + 198.51.100.9']);
  const wrong = await operator.put(one, {
    sources: [{ source: '0.0.0.0/0' }, { source: '2001:db8::1' }],
  });
  assert.deepEqual(pointersOf(assertRefused(wrong, 422, 'invalid_request')), [
    '/sources/0/source',
    '/sources/1/source',
  ]);
  const { rows } = await sql`
    select from blocked_sources where deleted_generation is null and expires_at is not null`.execute(
    db,
  );
  assert.equal(rows.length, 1);
  assert.equal((await operator.send('DELETE', one)).status, 200);
  const left = dataOf<{ target: string }[]>(await operator.get(BLOCKED));
  assert.deepEqual(
    left.map(({ target }) => target),
    ['all'],
  );
});

test('objects of the fleet file are not changed by hand, and what was made by hand stays beside them', async (t) => {
  const { operator, db } = await start(t);
  await sql`delete from api_keys where organisation_id is not null`.execute(db);
  const text = (more: string) => `organisations:
  filed:
    name: Filed
    prefixes: [{ cidr: 198.18.0.0/24 }]
    groups: [{ name: web, rules: [{ action: deny, protocol: gre }], addresses: [${more}] }]
    geo_rules: [{ action: deny, countries: [XX], addresses: [${more}] }]
    blocked_sources: [{ sources: [192.0.2.66] }]
edges: [{ name: fra1, devices: [x] }]`;
  await applyText(db, text('198.18.0.1'));
  const filed = `${OPERATOR_PREFIX}/organisations/filed`;
  for (const path of ['groups/web', 'blocked/all']) {
    assertRefused(await operator.send('DELETE', `${filed}/${path}`), 422, 'managed_by_fleet_file');
  }
  dataOf(
    await operator.put(`${HIVE}/groups/web`, { rules: [{ action: 'deny', protocol: 'gre' }] }),
  );
  const { changes } = await applyText(db, text('198.18.0.2'));
  assert.deepEqual(
    changes.map(({ subject, words }) => `${subject}: ${words}`),
    [
      'group web (filed): off 198.18.0.1, on 198.18.0.2',
      'geo rule deny XX (filed): off 198.18.0.1, on 198.18.0.2',
    ],
  );
  assert.deepEqual((await applyText(db, text('198.18.0.2'))).changes, []);
  // Blocked sources have two sides: those by hand stand beside those of the file, whichever came first.
  const blocked = `${filed}/blocked/all`;
  const both = { sources: [{ source: '192.0.2.67' }, { source: '192.0.2.66' }] };
  const taken = assertRefused(await operator.put(blocked, both), 422, 'conflict');
  assert.deepEqual(pointersOf(taken), ['/sources/1/source']);
  const beside = { sources: [{ source: '192.0.2.67' }] };
  const etag = (await operator.get(blocked)).headers.get('etag') ?? '';
  const changed = await operator.put(blocked, beside, { 'if-match': etag });
  assertRefused(changed, 422, 'managed_by_fleet_file');
  const made = await operator.put(blocked, beside, { 'if-none-match': '*' });
  assert.deepEqual([made.status, dataOf<{ owner: string }>(made).owner], [201, 'portal']);
  dataOf(await operator.put(blocked, { sources: [{ source: '192.0.2.68' }] }));
  assert.deepEqual((await applyText(db, text('198.18.0.2'))).changes, []);
  assert.equal((await operator.send('DELETE', blocked)).status, 200);
  assertRefused(await operator.send('DELETE', blocked), 422, 'managed_by_fleet_file');
  const { changes: carved } = await applyText(
    db,
    text('198.18.0.2').replace(
      '/24 }]',
      '/24 }]\n    services: [{ id: 77, name: s, addresses: [{ ip: 198.18.0.2 }] }]',
    ),
  );
  assert.deepEqual(
    carved.map(({ subject, words }) => `${subject}: ${words}`).filter((one) => one.startsWith('g')),
    ['group web (filed): on 198.18.0.2', 'geo rule deny XX (filed): on 198.18.0.2'],
  );
});
