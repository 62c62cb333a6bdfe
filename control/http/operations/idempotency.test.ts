import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';
const RULES = `${IP}/rules`;
const rule = (port: number) => ({
  action: 'allow',
  protocol: 'tcp',
  destination_port: String(port),
});
const key = (value: string) => ({ 'idempotency-key': value });

test('answers a repeat identically and writes nothing', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const first = await acme.post(RULES, rule(80), key('a'));
  const again = await acme.post(RULES, rule(80), key('a'));
  assert.equal(first.status, 201);
  assert.equal(again.status, 201);
  assert.equal(again.text, first.text);
  assert.equal(
    again.headers.get('portcullis-generation'),
    first.headers.get('portcullis-generation'),
  );
  assert.equal(first.headers.get('idempotency-replayed'), null);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  const { rows } = await sql<{ rules: number; audits: number }>`
    select (select count(*) from rules) as rules,
           (select count(*) from audit where action = 'rule.create') as audits`.execute(db);
  assert.deepEqual(rows, [{ rules: 1, audits: 1 }]);
});

test('a refusal frees the key, and undoes what the request had begun', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await acme.post(RULES, rule(80));
  assertRefused(await acme.post(RULES, rule(80), key('exists')), 422, 'rule_exists');
  await acme.delete(RULES, { ids: [1] });
  assert.equal((await acme.post(RULES, rule(80), key('exists'))).status, 201);
  assertRefused(await acme.post(RULES, { action: 'drop' }, key('bad')), 422, 'invalid_request');
  assert.equal((await acme.post(RULES, rule(81), key('bad'))).status, 201);
  const fresh = await acme.post(
    '/api/v1/firewall/ips/203.0.113.77/rules',
    { action: 'deny', protocol: 'gre', destination_port: '1' },
    key('undo'),
  );
  assertRefused(fresh, 422, 'invalid_request');
  const { rows } = await sql`select from addresses where ip = '203.0.113.77'`.execute(db);
  assert.equal(rows.length, 0);
});

test('a repeat may spell the address differently, and a delete can be repeated', async (t) => {
  const { acme } = await startEnvironment(t);
  const spelt = (address: string) => `/api/v1/firewall/ips/${address}/rules`;
  await acme.post(spelt('2001:db8::10'), rule(80), key('a'));
  const again = await acme.post(spelt('2001:DB8:0::10'), rule(80), key('a'));
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  const remove = () =>
    acme.send('DELETE', spelt('2001:db8::10'), { json: { ids: [1] }, headers: key('b') });
  assert.match((await remove()).text, /"deleted":1/);
  assert.match((await remove()).text, /"deleted":1/);
});

test('another body or query with the same key is 422, byte for byte', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(RULES, rule(80), key('a'));
  const asked = await acme.post(`${RULES}?allow_losses=true`, rule(80), key('a'));
  assertRefused(asked, 422, 'idempotency_key_reused');
  assertRefused(await acme.post(RULES, rule(81), key('a')), 422, 'idempotency_key_reused');
});

test('scopes a key to the path and the API key', async (t) => {
  const world = await startEnvironment(t);
  const second = await world.client();
  for (const made of [
    await world.acme.post(RULES, rule(80), key('a')),
    await world.acme.post('/api/v1/firewall/ips/203.0.113.11/rules', rule(80), key('a')),
    await second.post(RULES, rule(81), key('a')),
    await world.other.post('/api/v1/firewall/ips/192.0.2.1/rules', rule(80), key('a')),
  ]) {
    assert.equal(made.status, 201);
    assert.equal(made.headers.get('idempotency-replayed'), null);
  }
});

test('answers 409 to a repeat during the first request, and the stored answer after it', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await acme.post(RULES, rule(1));
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: hasLock } = Promise.withResolvers<void>();
  const holder = db.transaction().execute(async (tx) => {
    await sql`select from addresses where ip = '203.0.113.10' for update`.execute(tx);
    hasLock();
    await released;
  });
  await locked;
  // One of the two waits for the row; the other finds the key claimed.
  const both = [acme.post(RULES, rule(80), key('a')), acme.post(RULES, rule(80), key('a'))];
  assertRefused(await Promise.race(both), 409, 'idempotency_in_progress');
  release();
  await holder;
  const done = (await Promise.all(both)).find(({ status }) => status === 201);
  assert.ok(done);
  assert.equal((await acme.post(RULES, rule(80), key('a'))).text, done.text);
});

test('executes exactly one of parallel repeats; the others get 409 or its answer', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => acme.post(RULES, rule(80), key('a'))),
  );
  const statuses = new Set(replies.map(({ status }) => status));
  assert.ok([...statuses].every((status) => status === 201 || status === 409));
  assert.equal(
    new Set(replies.filter(({ status }) => status === 201).map(({ text }) => text)).size,
    1,
  );
  const { rows } = await sql<{ count: number }>`select count(*) as count from rules`.execute(db);
  assert.equal(rows[0]?.count, 1);
});

test('a failure frees the key', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await sql
    .raw(`create function fail() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
    create trigger fail before insert on rules for each row execute function fail()`)
    .execute(db);
  assertRefused(await acme.post(RULES, rule(80), key('a')), 502, 'no_port_landed');
  await sql`drop trigger fail on rules`.execute(db);
  assert.equal((await acme.post(RULES, rule(80), key('a'))).status, 201);
});

test('checks the address before the key: no stored answer is returned for an address with a new holder', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await acme.post(RULES, rule(80), key('a'));
  await sql`update holdings set during = tstzrange(lower(during), now()) where organisation_id = 1`.execute(
    db,
  );
  assertRefused(await acme.post(RULES, rule(80), key('a')), 404, 'not_found');
});

test('rejects an invalid key by name', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const value of ['', 'with space', 'x'.repeat(256)]) {
    const document = assertRefused(
      await acme.post(RULES, rule(80), key(value)),
      422,
      'invalid_request',
    );
    const [error] = document['errors'] as { parameter: string }[];
    assert.equal(error?.parameter, 'Idempotency-Key');
  }
});

test('releases a key after 24 hours', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await acme.post(RULES, rule(80), key('a'));
  await acme.post(RULES, rule(81), key('b'));
  await sql`update idempotency_keys set created_at = created_at - interval '24 hours'`.execute(db);
  const fresh = await acme.post(RULES, rule(82), key('a'));
  assert.equal(fresh.status, 201);
  assert.equal(fresh.headers.get('idempotency-replayed'), null);
  assert.equal((await acme.post(RULES, rule(82), key('a'))).text, fresh.text);
});
