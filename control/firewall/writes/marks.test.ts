import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { silentEvents } from '../../fleet/testing.ts';
import { advanceHoldings } from '../../fleet/timers/holdings.ts';
import { assertRefused, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const X1 = '/api/x1/firewall/ips/203.0.113.10';
const V1 = '/api/v1/firewall/ips/203.0.113.10';
const ssh = { action: 'allow', protocol: 'tcp', destination_port: '22' };
const deny = { action: 'deny', protocol: 'any' };
const SOON = new Date(Date.now() + 3_600_000).toISOString();

interface Read {
  readonly data: {
    readonly rules: readonly {
      readonly id: number;
      readonly ref: string | null;
      readonly expires_at: string | null;
    }[];
  };
}
const rulesOf = (reply: TestReply) => (reply.body as Read).data.rules;

test('a ref names a rule over replaces: an equal rule keeps its id, another one its note and tags', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const rule = { ...ssh, ref: 'ssh', note: 'of the office', tags: ['ops'] };
  assert.equal((await acme.post(`${X1}/rules`, { rules: [rule, deny] })).status, 201);
  const first = await acme.get(X1);
  assert.deepEqual(
    rulesOf(first).map(({ ref }) => ref),
    ['ssh', null],
  );
  assert.deepEqual(Object.keys(rulesOf(await acme.get(V1))[0] ?? {}).includes('ref'), false);

  // What is read changes nothing when it is sent back, and neither does the same without refs.
  for (const body of [(first.body as Read).data, { rules: [ssh, deny], filters: [] }]) {
    assert.match((await acme.put(X1, body)).text, /Nothing was changed/);
    assert.deepEqual(rulesOf(await acme.get(X1)), rulesOf(first));
  }
  const swapped = [ssh, { ...deny, ref: 'ssh' }];
  assert.match((await acme.put(X1, { rules: swapped, filters: [] })).text, /name or the end of 2/);
  assert.deepEqual(
    rulesOf(await acme.get(X1)).map(({ id, ref }) => [id, ref]),
    [
      [rulesOf(first)[0]?.id, null],
      [rulesOf(first)[1]?.id, 'ssh'],
    ],
  );
  await acme.put(X1, { rules: [{ ...ssh, ref: 'ssh' }, deny], filters: [] });

  const elsewhere = { ...ssh, source_ip: '192.0.2.7', ref: 'ssh' };
  await acme.put(X1, { rules: [elsewhere, deny], filters: [] });
  const [moved, kept] = rulesOf(await acme.get(X1));
  assert.equal(kept?.id, rulesOf(first)[1]?.id);
  const { rows } = await sql`select ref, note, tags from rules where id = ${moved?.id}`.execute(db);
  assert.deepEqual(rows, [{ ref: 'ssh', note: 'of the office', tags: ['ops'] }]);
  const audited = await sql`select from audit where action = 'rule.mark'`.execute(db);
  assert.equal(audited.rows.length, 2);
});

test('refuses a ref that names two rules, or one that is there, and an end in the past', async (t) => {
  const { acme } = await startEnvironment(t);
  const add = (...rules: object[]) => acme.post(`${X1}/rules`, { rules });
  const twice = [
    { ...ssh, ref: 'a' },
    { ...deny, ref: 'a' },
  ];
  assert.match(String(assertRefused(await add(...twice), 422, 'invalid_request').detail), /twice/);
  const ports = { ...ssh, destination_port: '22,80', ref: 'a' };
  assert.match((await add(ports)).text, /would become 2, one a port/);
  assert.match((await add({ ...ssh, expires_at: '2026-01-01T00:00:00Z' })).text, /over already/);
  assert.equal((await add({ ...ssh, ref: 'a' })).status, 201);
  assertRefused(await add({ ...deny, ref: 'a' }), 422, 'rule_exists');
});

test('an undo brings back a rule with its name and end, and no rule whose time is over', async (t) => {
  const { acme, db, session } = await startEnvironment(t);
  const portal = session('member');
  const base = '/api/portal/organisations/acme/firewall/ips/203.0.113.10';
  await acme.post(`${X1}/rules`, { rules: [{ ...ssh, ref: 'ci', expires_at: SOON }] });
  const deletion = await acme.put(X1, { rules: [{ ...deny, ref: 'ci' }], filters: [] });
  const generation = Number(deletion.headers.get('portcullis-generation'));
  assert.equal((await portal.post(`${base}/undo`, { generation })).status, 200);
  const [back, ...others] = rulesOf(await acme.get(X1));
  assert.deepEqual([back?.ref, others], ['ci', []]);
  assert.ok(back?.expires_at);
  // The name is another rule's by now.
  const again = await acme.put(X1, { rules: [], filters: [] });
  await acme.put(X1, { rules: [{ ...deny, ref: 'ci' }], filters: [] });
  const undone = { generation: Number(again.headers.get('portcullis-generation')) };
  assert.equal((await portal.post(`${base}/undo`, undone)).status, 200);
  assert.deepEqual(
    rulesOf(await acme.get(X1)).map(({ ref }) => ref),
    [null, 'ci'],
  );
  await sql`update rules set expires_at = now() where expires_at is not null`.execute(db);
  await acme.put(X1, { rules: [], filters: [] });
  const restored = await portal.post(`${base}/restore`, { generation: generation - 1 });
  assert.match(restored.text, /Nothing was changed/);
});

test('an expired rule is ended by a generation of its own; /api/v1 does not change when one ends', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const passing = { ...ssh, ref: 'ci', expires_at: SOON };
  await acme.post(`${X1}/rules`, { rules: [passing] });
  const [read] = rulesOf(await acme.get(X1));
  assert.ok(Math.abs(Date.parse(read?.expires_at ?? '') - Date.parse(SOON)) < 1_000);
  const waitMs = await advanceHoldings(db, silentEvents());
  assert.ok(waitMs !== null && waitMs > 3_000_000 && waitMs <= 3_601_000, String(waitMs));
  assert.equal(rulesOf(await acme.get(X1)).length, 1);

  await sql`update rules set expires_at = now() - interval '1 second'`.execute(db);
  await advanceHoldings(db, silentEvents());
  assert.deepEqual(rulesOf(await acme.get(X1)), []);
  const { rows } = await sql`
    select g.cause, c.target, a.configured from generations g join changes c using (generation), addresses a
     where g.cause = 'rule.expire'`.execute(db);
  assert.deepEqual(rows, [{ cause: 'rule.expire', target: '203.0.113.10/32', configured: false }]);
  assert.equal((await acme.post(`${X1}/rules`, { rules: [{ ...ssh, ref: 'ci' }] })).status, 201);
});
