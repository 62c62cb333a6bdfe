import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const ADDRESS = '/api/x1/firewall/ips/203.0.113.10';
const DRY = `${ADDRESS}?dry_run=true`;
const allow = (destination_port: string) => ({
  action: 'allow',
  protocol: 'tcp',
  destination_port,
});
const udp = (port: string) => ({ type: 'udp-stateful', port });

interface Planned {
  readonly created: { readonly rules: readonly number[]; readonly filters: readonly string[] };
  readonly difference: {
    readonly changes: readonly { readonly operation: string; readonly text: string }[];
    readonly notes: readonly string[];
  };
}
const lines = ({ difference }: Planned) =>
  difference.changes.map(({ operation, text }) => `${operation} ${text}`);
const counts = ({ difference: { changes: _changes, notes: _notes, ...numbers } }: Planned) =>
  numbers;

test('a dry run answers the difference that the same request makes, and writes nothing', async (t) => {
  const { acme, db, client } = await startEnvironment(t);
  const state = async () =>
    (
      await sql`select (select count(*) from addresses) as addresses, (select count(*) from audit) as audited,
                       (select generation from fleet) as generation`.execute(db)
    ).rows;
  const empty = await state();
  const first = { rules: [allow('80,443'), { ...allow('22'), ref: 'ssh' }], filters: [udp('9')] };
  const planned = dataOf<Planned>(await acme.put(DRY, first));
  assert.deepEqual(lines(planned), [
    'add allow tcp 80,443',
    'add allow tcp 22 (ssh)',
    'add udp-stateful 9: connections through it open again',
  ]);
  assert.deepEqual(planned.created, { rules: [], filters: [] });
  assert.deepEqual(await state(), empty);

  assert.deepEqual(lines(dataOf<Planned>(await acme.put(ADDRESS, first))), lines(planned));
  const before = await state();
  const next = {
    default: 'deny',
    rules: [allow('443'), { ...allow('22'), ref: null }, { action: 'deny', protocol: 'udp' }],
    filters: [{ ...udp('9'), settings: { source_pps: 100 } }],
  };
  const reply = await acme.put(DRY, next);
  assert.equal(reply.headers.get('portcullis-generation'), null);
  const second = dataOf<Planned>(reply);
  assert.deepEqual(lines(second), [
    'add deny udp',
    'remove allow tcp 80',
    'change allow tcp 22 (ssh): no ref, without an end',
    'change udp-stateful 9: settings',
  ]);
  assert.deepEqual(counts(second), { created: 1, deleted: 1, changed: 2, unchanged: 1 });
  assert.match(second.difference.notes.join(), /^deny udp changes no verdict now: the default/);
  assert.deepEqual(await state(), before);
  const reader = await client({ abilities: ['firewall.read'] });
  assert.deepEqual(lines(dataOf<Planned>(await reader.put(DRY, next))), lines(second));
  assertRefused(await reader.put(ADDRESS, next), 403, 'ability_missing');
  assertRefused(await reader.put(`${ADDRESS}?dry_run=false`, next), 403, 'ability_missing');
});

test('a dry run is refused as the request is', async (t) => {
  const { acme, other, db, client } = await startEnvironment(t);
  const none = { rules: [], filters: [] };
  assertRefused(await other.put(DRY, none), 404, 'not_found');
  assertRefused(await acme.put(`${ADDRESS}?dry_run=maybe`, none), 422, 'invalid_request');
  assertRefused(
    await (await client({ abilities: ['attacks.read'] })).put(DRY, none),
    403,
    'ability_missing',
  );
  await sql`update organisations set rules_per_ip = 2, configured_addresses = 1 where id = 1`.execute(
    db,
  );
  const limited = await client();
  for (const [body, code] of [
    [{ ...none, rules: [allow('1-3')] }, 'limit_exceeded'],
    [{ ...none, filters: [{ type: 'nothing', port: '1' }] }, 'filter_unavailable'],
    [{ ...none, rules: [allow('1'), allow('1')] }, 'invalid_request'],
    [
      { ...none, rules: [{ ...allow('1'), expires_at: '2020-01-01T00:00:00Z' }] },
      'invalid_request',
    ],
  ] as const) {
    const [planned, real] = [await limited.put(DRY, body), await limited.put(ADDRESS, body)];
    assertRefused(planned, 422, code);
    assert.equal(
      (planned.body as { detail: string }).detail,
      (real.body as { detail: string }).detail,
    );
  }
  assert.equal(
    (await limited.put(ADDRESS.replace('10', '11'), { ...none, rules: [allow('1')] })).status,
    200,
  );
  assertRefused(await limited.put(DRY, { ...none, rules: [allow('1')] }), 422, 'limit_exceeded');
});
