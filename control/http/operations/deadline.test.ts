import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';
const RULE = { action: 'allow', protocol: 'tcp', destination_port: '80' };
/** A loaded machine answers within it what waits for nothing. */
const WITHIN = { deadlineMs: 4_000 };

test('a database that does not answer ends a read and a write with 503, and the write leaves nothing', async (t) => {
  const { acme, db } = await startEnvironment(t, WITHIN);
  assert.equal((await acme.get(IP)).status, 200);
  await db.transaction().execute(async (tx) => {
    await sql`lock table addresses in access exclusive mode`.execute(tx);
    const [read, write] = await Promise.all([acme.get(IP), acme.post(`${IP}/rules`, RULE)]);
    for (const reply of [read, write]) {
      assertRefused(reply, 503, 'unavailable');
      assert.equal(reply.headers.get('retry-after'), '5');
    }
  });
  // Locks the row behind the abandoned write, which has ended then.
  await sql`select from fleet for update`.execute(db);
  const { rows } = await sql`select from rules`.execute(db);
  assert.equal(rows.length, 0);
  assert.equal((await acme.post(`${IP}/rules`, RULE)).status, 201);
});

test('a commit without an answer is an unknown outcome, which the Idempotency-Key tells later', async (t) => {
  const { acme, db } = await startEnvironment(t, WITHIN);
  await sql
    .raw(`create function wait() returns trigger language plpgsql as $$
          begin perform pg_sleep(6); return null; end $$;
          create constraint trigger wait after insert on rules initially deferred
          for each row execute function wait()`)
    .execute(db);
  const key = { 'idempotency-key': 'slow' };
  assertRefused(await acme.post(`${IP}/rules`, RULE, key), 503, 'outcome_unknown');
  await sql`drop trigger wait on rules`.execute(db);
  // The key is released a moment after the table, and says "in a moment" until then.
  let reply = await acme.post(`${IP}/rules`, RULE, key);
  while (reply.status === 409) reply = await acme.post(`${IP}/rules`, RULE, key);
  assert.equal(reply.status, 201, reply.text);
  assert.equal(reply.headers.get('idempotency-replayed'), 'true');
});
