import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import { assertRefused, type TestClient, type TestReply } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';

const V1 = '/api/v1/firewall/ips';
const X1 = '/api/x1/firewall/ips';
const DENY = { action: 'deny', protocol: 'any' };
const rulesOf = (reply: TestReply) => (reply.body as { data: { rules: unknown[] } }).data.rules;

test('a new holder starts empty, and the old one can neither read nor write', async (t) => {
  const { acme, other, db } = await startEnvironment(t);
  const ip = '203.0.113.10';
  await acme.post(`${V1}/${ip}/rules`, DENY);
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    values (2, '203.0.113.10/32', tstzrange(now(), null), 64501, 'fleet')`.execute(db);
  assertRefused(await acme.get(`${V1}/${ip}`), 404, 'not_found');
  assertRefused(await acme.delete(`${V1}/${ip}/rules`, { ids: [1] }), 404, 'not_found');
  assert.deepEqual(rulesOf(await other.get(`${V1}/${ip}`)), []);
  assert.deepEqual(rulesOf(await other.get(`${X1}/${ip}`)), []);
  const deleted = await other.delete(`${V1}/${ip}/rules`, { ids: [1] });
  assert.deepEqual((deleted.body as { data: unknown }).data, { deleted: 0, ids: [] });
  assert.equal((await other.post(`${V1}/${ip}/rules`, DENY)).status, 201);
  assert.equal((await other.get(X1)).text.includes(ip), true);
  assert.equal((await acme.get(X1)).text.includes(`"${ip}"`), false);
});

const WAITING_WRITES: readonly [string, (acme: TestClient, ip: string) => Promise<TestReply>][] = [
  ['a rule', (acme, ip) => acme.post(`${V1}/${ip}/rules`, { action: 'allow', protocol: 'tcp' })],
  ['a filter', (acme, ip) => acme.post(`${V1}/${ip}/filters`, { type: 'udp-stateful', port: '2' })],
  ['a deletion of rules', (acme, ip) => acme.delete(`${V1}/${ip}/rules`, { ids: [1] })],
  [
    'a deletion of filters',
    (acme, ip) => acme.delete(`${V1}/${ip}/filters`, { keys: ['udp-stateful:1'] }),
  ],
  ['a replacement', (acme, ip) => acme.put(`${X1}/${ip}`, { rules: [], filters: [] })],
  [
    'an idempotent rule',
    (acme, ip) => acme.post(`${V1}/${ip}/rules`, DENY, { 'idempotency-key': 'waited' }),
  ],
];

test('rejects a write that waited while the holding ended, on an address with and without objects', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await acme.post(`${V1}/203.0.113.10/rules`, DENY);
  await acme.post(`${V1}/203.0.113.10/filters`, { type: 'udp-stateful', port: '1' });
  const before = await writtenState(db);
  for (const [name, write] of WAITING_WRITES) {
    for (const ip of ['203.0.113.10', '203.0.113.20']) {
      const reply = await writeWhileEnding(db, () => write(acme, ip));
      assert.equal(reply.status, 404, `${name} on ${ip}: ${reply.text}`);
      assertRefused(reply, 404, 'not_found');
      assert.deepEqual(await writtenState(db), before, `${name} on ${ip}`);
      await sql`update holdings set during = '[2026-01-01,)' where organisation_id = 1`.execute(db);
    }
  }
});

/** Starts the write, which waits for the row of a holding that then ends. */
async function writeWhileEnding(db: Db, write: () => Promise<TestReply>): Promise<TestReply> {
  return db
    .transaction()
    .execute(async (tx) => {
      await sql`
        update holdings set during = tstzrange(lower(during), now()) where organisation_id = 1`.execute(
        tx,
      );
      const reply = write();
      await untilSomebodyWaits(tx);
      return { reply };
    })
    .then(({ reply }) => reply);
}

async function untilSomebodyWaits(tx: Tx): Promise<void> {
  for (let tries = 0; tries < 5000; tries++) {
    await sql`select pg_stat_clear_snapshot()`.execute(tx);
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      tx,
    );
    if (rows.length > 0) return;
  }
  throw new Error('the write never waited');
}

/** All rows that a write leaves. */
async function writtenState(db: Db): Promise<unknown> {
  const { rows } = await sql`
    select (select jsonb_agg(to_jsonb(a) order by id) from addresses a) as addresses,
           (select jsonb_agg(to_jsonb(r) order by id) from rules r) as rules,
           (select jsonb_agg(to_jsonb(f) order by id) from filters f) as filters,
           (select count(*) from idempotency_keys) as answers,
           (select count(*) from audit where actor_kind = 'key') as audits, generation from fleet`.execute(
    db,
  );
  return rows;
}

test('audits every write with caller, change, source address and generation, but no rejected ones', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const path = `${V1}/203.0.113.10`;
  await acme.post(`${path}/rules`, { ...DENY }, { 'x-request-id': 'audited-1' });
  await acme.post(`${path}/rules`, DENY);
  await acme.post(`${path}/filters`, { type: 'udp-stateful', port: '9' });
  await acme.delete(`${path}/rules`, { ids: [1] });
  await acme.delete(`${path}/filters`, { keys: ['udp-stateful:9'] });
  await acme.put(`${X1}/203.0.113.10`, { rules: [DENY], filters: [] });
  const { rows } = await sql<{ action: string; generation: number }>`
    select action, generation from audit where target = '203.0.113.10' order by id`.execute(db);
  assert.deepEqual(
    rows.map(({ action, generation }) => `${action} ${generation}`),
    ['rule.create 1', 'filter.create 2', 'rule.delete 3', 'filter.delete 4', 'address.replace 5'],
  );
  const first = await sql`
    select organisation_id, actor_kind, actor, host(source) as source, request_id, detail
      from audit where target = '203.0.113.10' order by id limit 1`.execute(db);
  assert.deepEqual(first.rows, [
    {
      organisation_id: 1,
      actor_kind: 'key',
      actor: 'test (1)',
      source: '127.0.0.1',
      request_id: 'audited-1',
      detail: {
        action: 'deny',
        protocol: 'any',
        source: null,
        ids: [1],
        requested: 1,
        created: [],
        deleted: { rules: [], filters: [] },
      },
    },
  ]);
});

test('counts an address as configured only while it has own objects', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const path = `${V1}/203.0.113.10`;
  const configured = async () =>
    (await sql<{ configured: boolean }>`select configured from addresses`.execute(db)).rows[0]
      ?.configured;
  await acme.post(`${path}/rules`, DENY);
  await acme.post(`${path}/filters`, { type: 'udp-stateful', port: '9' });
  await acme.delete(`${path}/rules`, { ids: [1] });
  assert.equal(await configured(), true);
  await acme.delete(`${path}/filters`, { keys: ['udp-stateful:9'] });
  assert.equal(await configured(), false);
});

test('writes without effect leave no trace in the database', async (t) => {
  const { acme, db } = await startEnvironment(t);
  for (const ip of ['203.0.113.10', '2001:db8::1']) {
    const path = `${V1}/${ip}`;
    assert.equal((await acme.delete(`${path}/rules`, { ids: [1] })).status, 200);
    assert.equal((await acme.delete(`${path}/filters`, { keys: ['udp-stateful:1'] })).status, 200);
    assert.equal((await acme.put(`${X1}/${ip}`, { rules: [], filters: [] })).status, 200);
  }
  const { rows } = await sql<{ addresses: number; generation: number; audits: number }>`
    select (select count(*) from addresses) as addresses, (select generation from fleet) as generation,
           (select count(*) from audit where actor_kind = 'key') as audits`.execute(db);
  assert.deepEqual(rows, [{ addresses: 0, generation: 0, audits: 0 }]);
});
