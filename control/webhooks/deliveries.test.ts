import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../db/testing.ts';
import {
  addWebhook,
  deliveriesOf,
  happen,
  seedOrganisations,
  settled,
  startDeliveries,
  until,
} from './testing/hooks.ts';
import { isAuthentic, startReceiver } from './testing/receiver.ts';

async function database(t: TestContext) {
  const database = await testDatabase(t);
  await seedOrganisations(database.db);
  return database;
}

test('delivers an event with a signature that the specification verifies', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t);
  const { id, secret } = await addWebhook(db, receiver.url);
  startDeliveries(t, database_);
  await happen(db);
  const [message] = await receiver.got(1);
  assert.ok(message);
  assert.ok(isAuthentic(message, secret));
  assert.ok(!isAuthentic({ ...message, text: `${message.text} ` }, secret));
  assert.ok(!isAuthentic(message, `whsec_${Buffer.alloc(32).toString('base64')}`));
  assert.equal(message.headers['content-type'], 'application/json');
  assert.equal(message.body.type, 'attack.opened');
  const data = { organisation: 'acme', target: '203.0.113.10', attack: 3 };
  assert.deepEqual(message.body.data, data);
  const [delivery] = await settled(db, id);
  assert.equal(delivery?.state, 'delivered');
  assert.equal(delivery.log[0]?.response_status, 204);
});

test('signs with the previous secret too, until it ends', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t);
  const { id, secret } = await addWebhook(db, receiver.url);
  startDeliveries(t, database_);
  const rotated = Buffer.alloc(32, 'new');
  await sql`update webhooks set secret = ${rotated}, previous_secret = secret,
    previous_until = now() + interval '1 hour' where id = ${id}`.execute(db);
  await happen(db);
  const [first] = await receiver.got(1);
  assert.ok(first && isAuthentic(first, secret));
  assert.ok(isAuthentic(first, `whsec_${rotated.toString('base64')}`));
  await sql`update webhooks set previous_until = now() where id = ${id}`.execute(db);
  await happen(db);
  const [, second] = await receiver.got(2);
  assert.ok(second && !isAuthentic(second, secret));
});

test('delivers to the organisation of the event only', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receivers = [await startReceiver(t), await startReceiver(t)] as const;
  await addWebhook(db, receivers[0].url);
  const { id } = await addWebhook(db, receivers[1].url, { organisationId: 2 });
  startDeliveries(t, database_);
  await happen(db, 1, 2);
  await settled(db, id);
  await happen(db);
  const [message] = await receivers[0].got(1);
  assert.equal(message?.body.data['organisation'], 'acme');
  assert.deepEqual(
    receivers[1].received.map(({ body }) => body.data['organisation']),
    ['other'],
  );
});

test('tries again what failed, with the same id, and logs each attempt', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  let failures = 2;
  const receiver = await startReceiver(t, (response) => {
    response.writeHead(failures-- > 0 ? 503 : 200).end('x'.repeat(1_000_000));
  });
  const { id } = await addWebhook(db, receiver.url);
  startDeliveries(t, database_, { retryMs: () => 10 });
  await happen(db);
  const [delivery] = await settled(db, id);
  assert.equal(delivery?.state, 'delivered');
  assert.deepEqual(
    delivery.log.map(({ response_status, error }) => [response_status, error]),
    [
      [503, 'HTTP 503.'],
      [503, 'HTTP 503.'],
      [200, null],
    ],
  );
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual(new Set(ids).size, 1);
});

test('disables a webhook that delivered nothing, with the reason, and gives up what waits', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t, (response) => response.writeHead(500).end());
  const { id } = await addWebhook(db, receiver.url);
  await happen(db);
  await sql`insert into webhook_deliveries (webhook_id, event_id, due_at)
    select webhook_id, event_id, now() + interval '1 hour' from webhook_deliveries`.execute(db);
  startDeliveries(t, database_, { retryMs: (attempt) => (attempt < 3 ? 10 : null) });
  const deliveries = await settled(db, id);
  assert.deepEqual(
    deliveries.map(({ state, log }) => [state, log.length]),
    [
      ['failed', 3],
      ['failed', 0],
    ],
  );
  const webhook = await db.selectFrom('webhooks').selectAll().executeTakeFirstOrThrow();
  assert.match(webhook.disabled_reason ?? '', /attack.opened failed in 3 attempts.*HTTP 500/);
  const audited = await db.selectFrom('audit').select(['action', 'actor_kind']).execute();
  assert.deepEqual(audited, [{ action: 'webhook.disable', actor_kind: 'system' }]);
  await happen(db);
  assert.equal((await settled(db, id)).length, 2, 'a disabled webhook queues nothing');
});

test('keeps a webhook that delivered something meanwhile, and disables one whose receiver is gone', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const flaky = await startReceiver(t, (response, { body }) => {
    response.writeHead(body.type === 'webhook.test' ? 200 : 500).end();
  });
  const { id } = await addWebhook(db, flaky.url);
  await happen(db);
  await sql`update webhook_deliveries set due_at = now() + interval '1 hour'`.execute(db);
  await sql`
    with tested as (insert into events (organisation_id, kind, target) values (1, 'webhook.test', 'x') returning id)
    insert into webhook_deliveries (webhook_id, event_id) select ${id}, id from tested`.execute(db);
  startDeliveries(t, database_, { retryMs: (attempt) => (attempt < 3 ? 10 : null) });
  await flaky.got(1);
  await until(async () => (await deliveriesOf(db, id))[1]?.state === 'delivered');
  await sql`update webhook_deliveries set due_at = now() where state = 'pending'`.execute(db);
  await sql`select pg_notify('portcullis_webhooks', '')`.execute(db);
  await settled(db, id);
  const gone = await startReceiver(t, (response) => response.writeHead(410).end());
  const other = await addWebhook(db, gone.url, { organisationId: 2 });
  await happen(db, 1, 2);
  const [delivery] = await settled(db, other.id);
  assert.equal(delivery?.attempts, 1);
  const webhooks = await db.selectFrom('webhooks').selectAll().orderBy('id').execute();
  const [kept, disabled] = webhooks.map((one) => one.disabled_reason);
  assert.equal(kept, null);
  assert.match(disabled ?? '', /410/);
});

test('follows no redirect, and does not wait for a hanging receiver or an endless answer', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t, (response, { path }) => {
    if (path === '/redirect') response.writeHead(307, { location: '/elsewhere' }).end();
    if (path === '/endless') {
      response.writeHead(200);
      const more = setInterval(() => response.write('x'.repeat(65_536)), 1);
      response.on('close', () => clearInterval(more));
    }
    if (path === '/stalled') response.writeHead(200).write('x');
  });
  const ids: Record<string, number> = {};
  for (const path of ['/redirect', '/endless', '/stalled', '/silent']) {
    ids[path] = (await addWebhook(db, receiver.url.replace('/hook', path))).id;
  }
  startDeliveries(t, database_, { retryMs: () => null, timeoutMs: 5_000 });
  await happen(db);
  const outcome = async (path: string) => (await settled(db, ids[path] ?? 0))[0]?.log[0];
  assert.match((await outcome('/redirect'))?.error ?? '', /HTTP 307: redirects are not followed/);
  assert.equal((await outcome('/endless'))?.error, null);
  assert.equal((await outcome('/stalled'))?.error, null);
  assert.match((await outcome('/silent'))?.error ?? '', /No answer within 5 s/);
  assert.ok(receiver.received.every(({ path }) => path !== '/elsewhere'));
});

test('connects to no private address, also not behind a name', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t);
  const { port } = new URL(receiver.url);
  const resolve = async () => ['10.0.0.1', '127.0.0.1', '::1', '169.254.169.254'];
  const urls = [receiver.url, `http://private.example:${port}/`];
  const ids = await Promise.all(urls.map(async (url) => (await addWebhook(db, url)).id));
  startDeliveries(t, database_, { retryMs: () => null, networks: [], resolve, timeoutMs: 300 });
  await happen(db);
  const errors = [];
  for (const id of ids) errors.push((await settled(db, id))[0]?.log[0]?.error);
  assert.match(errors[0] ?? '', /public addresses only/);
  assert.match(errors[1] ?? '', /private.example has no public address/);
  assert.equal(receiver.received.length, 0);
});

test('resolves a name once and connects to what it checked, so that a name that changes gains nothing', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t);
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return ['10.0.0.1', '127.0.0.1'];
  };
  const url = receiver.url.replace('127.0.0.1', 'hooks.example');
  const { id } = await addWebhook(db, url);
  startDeliveries(t, database_, { resolve });
  await happen(db);
  assert.equal((await settled(db, id))[0]?.state, 'delivered');
  assert.deepEqual(asked, ['hooks.example']);
  assert.equal(receiver.received[0]?.headers.host, new URL(url).host);
});

test('delivers once with several replicas', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t);
  const { id } = await addWebhook(db, receiver.url);
  for (let replica = 0; replica < 3; replica++) startDeliveries(t, database_);
  await happen(db, 60);
  await settled(db, id);
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual([ids.length, new Set(ids).size], [60, 60]);
});

test('lets a hanging receiver delay itself and nobody else', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const hanging = await startReceiver(t, () => {});
  const good = await startReceiver(t);
  await addWebhook(db, hanging.url);
  const { id } = await addWebhook(db, good.url, { organisationId: 2 });
  await happen(db, 900);
  // None of the attempts at the hanging one can end before the other has everything.
  for (let replica = 0; replica < 3; replica++)
    startDeliveries(t, database_, { timeoutMs: 300_000 });
  await hanging.got(4);
  await happen(db, 20, 2);
  await settled(db, id);
  assert.equal(good.received.length, 20);
  assert.equal(hanging.received.length, 4, 'of all replicas together');
});

test('repeats an attempt that a stop broke off', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  let isHanging = true;
  const receiver = await startReceiver(t, (response) => {
    if (!isHanging) response.writeHead(200).end();
  });
  const { id } = await addWebhook(db, receiver.url);
  const first = startDeliveries(t, database_);
  await happen(db);
  await receiver.got(1);
  await first.stop();
  isHanging = false;
  startDeliveries(t, database_);
  const [delivery] = await settled(db, id);
  assert.deepEqual([delivery?.state, delivery?.attempts, delivery?.released], ['delivered', 2, 1]);
  assert.equal(delivery?.log.length, 1);
});

test('loses nothing when its process is killed', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  let isHanging = true;
  const receiver = await startReceiver(t, (response) => {
    if (!isHanging) response.writeHead(200).end();
  });
  const { id } = await addWebhook(db, receiver.url);
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('testing/process.ts', import.meta.url)), database_.url],
    { stdio: 'inherit' },
  );
  const exited = once(child, 'exit');
  await happen(db, 6);
  await receiver.got(1);
  child.kill('SIGKILL');
  await exited;
  await until(async () => {
    const { rows } =
      await sql`select from pg_stat_activity where application_name = 'killed'`.execute(db);
    return rows.length === 0;
  });
  isHanging = false;
  // As if the lease had ended.
  await sql`update webhook_deliveries set due_at = now(), claimed_until = now()
    where state = 'pending'`.execute(db);
  startDeliveries(t, database_);
  const deliveries = await settled(db, id);
  assert.deepEqual(
    deliveries.map(({ state }) => state),
    Array.from({ length: 6 }, () => 'delivered'),
  );
});

test('delivers at once what comes while it looks for the next time', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t);
  await addWebhook(db, receiver.url);
  startDeliveries(t, database_);
  // One after the other, so that each comes at another moment of the look that the one before caused.
  for (let count = 1; count <= 100; count++) {
    await happen(db);
    await receiver.got(count);
  }
});

test('writes to Discord and Slack what people read there', async (t) => {
  const database_ = await database(t);
  const { db } = database_;
  const receiver = await startReceiver(t);
  const { port } = new URL(receiver.url);
  await addWebhook(db, `http://discord.com:${port}/api/webhooks/1/x`);
  await addWebhook(db, `http://hooks.slack.com:${port}/services/T/B/x`);
  startDeliveries(t, database_, { resolve: async () => ['127.0.0.1'] });
  await happen(db);
  const got = await receiver.got(2);
  const bodyAt = (path: string) =>
    JSON.stringify(got.find((message) => message.path.startsWith(path))?.body);
  assert.match(bodyAt('/api/webhooks'), /"content":"[^"]*203\.0\.113\.10/);
  assert.match(bodyAt('/services'), /"text":"[^"]*203\.0\.113\.10/);
});
