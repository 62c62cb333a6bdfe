import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { assertRefused, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const V1 = '/api/v1/firewall/ips';
const IP = `${V1}/203.0.113.10`;
const ASSIGNED = `${V1}/198.51.100.10`;
const RECONNECT =
  'A stateful filter forces all connections going through its port to reconnect, so clients may be disconnected (players of a live game server drop).';

interface FilterBody {
  readonly key: string;
  readonly managed_by_group: { readonly name: string } | null;
}
const filtersOf = (reply: TestReply) =>
  (reply.body as { data: { filters: FilterBody[] } }).data.filters;
const rulesOf = (reply: TestReply) =>
  (reply.body as { data: { rules: { id: number; managed_by_group: unknown }[] } }).data.rules;

const udp = (port: string) => ({ type: 'udp-stateful', port });

test('applies a filter to every port, warns of reconnects, reads it back and deletes it by key', async (t) => {
  const { acme } = await startEnvironment(t);
  const made = await acme.post(`${IP}/filters`, udp('27015-27016'));
  assert.equal(made.status, 201);
  const body = made.body as { data: unknown; message: string };
  assert.deepEqual(body.data, { type: 'udp-stateful', created: 2 });
  assert.ok(
    body.message.startsWith(`2 filters were accepted. ${RECONNECT} Changes take 3-5 minutes`),
  );
  const read = await acme.get(IP);
  assert.deepEqual(filtersOf(read), [
    {
      key: 'udp-stateful:27015',
      type: 'udp-stateful',
      name: 'UDP stateful',
      port: 27015,
      managed_by_group: null,
    },
    {
      key: 'udp-stateful:27016',
      type: 'udp-stateful',
      name: 'UDP stateful',
      port: 27016,
      managed_by_group: null,
    },
  ]);
  const keys = [filtersOf(read)[0]?.key, 'udp-stateful:1', 'rubbish'];
  const deleted = await acme.delete(`${IP}/filters`, { keys });
  assert.equal(deleted.status, 200);
  assert.deepEqual((deleted.body as { data: unknown }).data, { deleted: 1 });
  assert.deepEqual(
    filtersOf(await acme.get(IP)).map(({ key }) => key),
    ['udp-stateful:27016'],
  );
});

test('omits managed filters from the catalogue of an assigned address', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const catalogue = async (path: string) =>
    ((await acme.get(`${path}/filters/available`)).body as { data: { type: string }[] }).data.map(
      ({ type }) => type,
    );
  const all = FILTERS.map(({ type }): string => type);
  const without = (...types: string[]) => all.filter((type) => !types.includes(type));
  assert.deepEqual(await catalogue(IP), all);
  assert.deepEqual(await catalogue(ASSIGNED), without('tcp-syn-proxy', 'udp-stateful'));
  await sql`update services set managed_filters = '[{"type":"tcp-syn-proxy","ports":null}]'`.execute(
    db,
  );
  assert.deepEqual(await catalogue(ASSIGNED), without('tcp-syn-proxy'));
  assertRefused(await acme.get(`${V1}/192.0.2.1/filters/available`), 404, 'not_found');
});

test('refuses equal filters, exceeded limits and bad ports, and creates nothing', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${IP}/filters`, udp('27015'));
  const equal = assertRefused(
    await acme.post(`${IP}/filters`, udp('27014-27016')),
    422,
    'filter_exists',
  );
  assert.equal(
    equal['detail'],
    'The address already has this filter on port 27015; nothing was created.',
  );
  assertRefused(await acme.post(`${IP}/filters`, udp('1-25')), 422, 'limit_exceeded');
  assertRefused(await acme.post(`${IP}/filters`, udp('1-65535')), 422, 'limit_exceeded');
  assertRefused(await acme.post(`${IP}/filters`, udp('x')), 422, 'invalid_request');
  assertRefused(await acme.post(`${IP}/filters`, { type: 'udp-stateful' }), 422, 'invalid_request');
  assertRefused(await acme.delete(`${IP}/filters`, { keys: [] }), 422, 'invalid_request');
  assert.equal(filtersOf(await acme.get(IP)).length, 1);
});

/** A group of acme with a rule and a filter, on the address and on its prefix. */
async function assignGroup(db: Db): Promise<void> {
  await sql`insert into groups (organisation_id, name, owner) values (1, 'baseline', 'portal')`.execute(
    db,
  );
  await sql`
    insert into group_rules (group_id, action, protocol, port, source, created_generation)
    values (1, 'deny', 'udp', 19, null, 0), (1, 'deny', 'any', null, '2001:db8:9::/48', 0)`.execute(
    db,
  );
  await sql`insert into group_filters (group_id, type, port, created_generation) values (1, 'udp-stateful', 9, 0)`.execute(
    db,
  );
  await sql`
    insert into group_assignments (group_id, holding_id, target, created_generation)
    values (1, 1, '203.0.113.0/24', 0), (1, 1, '203.0.113.10/32', 0)`.execute(db);
}

test('shows rules and filters of a group once on the address, where they conflict', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await assignGroup(db);
  const own = await acme.post(`${IP}/rules`, { action: 'deny', protocol: 'tcp' });
  assert.equal(own.status, 201);
  const read = await acme.get(IP);
  const group = { id: 1, name: 'baseline' };
  assert.deepEqual(
    rulesOf(read).map((rule) => rule.managed_by_group),
    [group, null],
  );
  assert.deepEqual(
    filtersOf(read).map((filter) => [filter.key, filter.managed_by_group]),
    [['udp-stateful:9', group]],
  );
  assertRefused(
    await acme.post(`${IP}/rules`, { action: 'deny', protocol: 'udp', destination_port: '19' }),
    422,
    'rule_exists',
  );
  assertRefused(await acme.post(`${IP}/filters`, udp('9')), 422, 'filter_exists');
  assert.equal(rulesOf(await acme.get(IP)).length, 2);
});
