import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, dataOf } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';

const HOOKS = '/api/portal/organisations/acme/webhooks';
const WANTED = { name: 'pager', url: 'https://hooks.example.net/a', events: ['attack.opened'] };

interface Hook {
  readonly id: number;
  readonly url: string;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly pending: number;
  readonly previous_secret_until: string | null;
}
interface Delivery {
  readonly id: number;
  readonly message_id: string;
  readonly event: string;
  readonly state: string;
}

test('creates, changes and deletes a webhook, and shows a secret once', async (t) => {
  const { session, db } = await startEnvironment(t);
  const admin = session('admin');
  const made = await admin.post(HOOKS, WANTED);
  assert.equal(made.headers.get('cache-control'), 'no-store');
  const { id, secret } = dataOf<{ id: number; secret: string }>(made);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const change = { ...WANTED, name: 'other', enabled: false };
  const changed = dataOf<Hook>(await admin.put(`${HOOKS}/${id}`, change));
  assert.equal(changed.enabled, false);
  assert.match(changed.disabled_reason ?? '', /disabled in the portal/);
  const enabled = dataOf<Hook>(await admin.put(`${HOOKS}/${id}`, { ...WANTED, enabled: true }));
  assert.deepEqual([enabled.enabled, enabled.disabled_reason], [true, null]);
  const second = dataOf<{ secret: string }>(await admin.send('POST', `${HOOKS}/${id}/secret`));
  assert.notEqual(second.secret, secret);
  const listed = await admin.get(HOOKS);
  const [hook] = dataOf<Hook[]>(listed);
  assert.notEqual(hook?.previous_secret_until, null);
  assert.ok(!listed.text.includes(secret) && !listed.text.includes(second.secret));
  dataOf(await admin.send('DELETE', `${HOOKS}/${id}`));
  assert.deepEqual(dataOf(await admin.get(HOOKS)), []);
  const audited = await db.selectFrom('audit').select(['action', 'detail']).orderBy('id').execute();
  assert.deepEqual(
    audited.map(({ action }) => action).filter((action) => action.startsWith('webhook.')),
    ['webhook.create', 'webhook.change', 'webhook.change', 'webhook.rotate', 'webhook.delete'],
  );
  assert.ok(!JSON.stringify(audited).includes('whsec_'));
});

test('takes no address that is not public, and says where', async (t) => {
  const { session } = await startEnvironment(t);
  const admin = session('admin');
  for (const url of ['http://127.0.0.1/', 'http://[::1]/', 'ftp://example.net/', 'nonsense']) {
    const refused = assertRefused(
      await admin.post(HOOKS, { ...WANTED, url }),
      422,
      'invalid_request',
    );
    const [error] = refused['errors'] as { pointer: string }[];
    assert.equal(error?.pointer, '/url');
  }
  assertRefused(await admin.post(HOOKS, { ...WANTED, events: [] }), 422, 'invalid_request');
  const twice = { ...WANTED, events: ['attack.opened', 'attack.opened'] };
  assertRefused(await admin.post(HOOKS, twice), 422, 'invalid_request');
});

test('has ten webhooks at most, also when they are made at once', async (t) => {
  const { session } = await startEnvironment(t);
  const admin = session('admin');
  const replies = await Promise.all(Array.from({ length: 13 }, () => admin.post(HOOKS, WANTED)));
  assert.equal(replies.filter(({ status }) => status === 201).length, 10);
  for (const reply of replies.filter(({ status }) => status !== 201)) {
    assertRefused(reply, 422, 'limit_exceeded');
  }
});

test('shows webhooks to administrators of their organisation only', async (t) => {
  const { session, db } = await startEnvironment(t);
  await db
    .insertInto('webhooks')
    .values({
      organisation_id: 2,
      name: 'x',
      url: 'https://x.example/',
      kinds: [],
      secret: Buffer.alloc(32),
    })
    .execute();
  assertRefused(await session('member').get(HOOKS), 403, 'role_missing');
  assertRefused(await session('stranger').get(HOOKS), 404, 'not_found');
  const owner = session('owner');
  assert.deepEqual(dataOf(await owner.get(HOOKS)), []);
  for (const path of ['1/test', '1/secret', '1/deliveries/1/redeliver']) {
    assertRefused(await owner.send('POST', `${HOOKS}/${path}`), 404, 'not_found');
  }
  assertRefused(await owner.send('DELETE', `${HOOKS}/1`), 404, 'not_found');
  assertRefused(await owner.put(`${HOOKS}/1`, { ...WANTED, enabled: true }), 404, 'not_found');
  assertRefused(await owner.get(`${HOOKS}/1/deliveries`), 404, 'not_found');
});

test('queues an event for the webhooks of its organisation that want it, and tests one', async (t) => {
  const { session, db } = await startEnvironment(t);
  const admin = session('admin');
  const { id } = dataOf<{ id: number }>(await admin.post(HOOKS, WANTED));
  const paused = dataOf<{ id: number }>(await admin.post(HOOKS, WANTED));
  await admin.put(`${HOOKS}/${paused.id}`, { ...WANTED, enabled: false });
  const event = (organisation_id: number, kind: string) =>
    db.insertInto('events').values({ organisation_id, kind, target: '203.0.113.10' }).execute();
  await event(1, 'attack.opened');
  await event(1, 'attack.ended');
  await event(2, 'attack.opened');
  await admin.send('POST', `${HOOKS}/${id}/test`);
  const list = `${HOOKS}/${id}/deliveries`;
  const listed = dataOf<Delivery[]>(await admin.get(list));
  assert.deepEqual(
    listed.map(({ event: kind, state }) => [kind, state]),
    [
      ['webhook.test', 'pending'],
      ['attack.opened', 'pending'],
    ],
  );
  const page = await admin.get(`${list}?per_page=1`);
  const next = (page.body as { links: { next: string } }).links.next;
  const [older] = dataOf<Delivery[]>(await admin.get(`${list}${next}`));
  assert.equal(older?.event, 'attack.opened');
  const again = `${list}/${older.id}/redeliver`;
  assertRefused(await admin.send('POST', again), 422, 'invalid_request');
  await admin.put(`${HOOKS}/${id}`, { ...WANTED, enabled: false });
  const failed = dataOf<Delivery[]>(await admin.get(`${list}?state=failed`));
  assert.equal(failed.length, 2, 'what waits is given up');
  assertRefused(await admin.send('POST', again), 422, 'invalid_request');
  await admin.put(`${HOOKS}/${id}`, { ...WANTED, enabled: true });
  dataOf(await admin.send('POST', again));
  const [newest] = dataOf<Delivery[]>(await admin.get(`${list}?state=pending`));
  assert.equal(newest?.message_id, older.message_id);
  const none = dataOf<Delivery[]>(await admin.get(`${HOOKS}/${paused.id}/deliveries`));
  assert.deepEqual(none, []);
});

test('bounds what waits, and counts what is skipped', async (t) => {
  const { session, db } = await startEnvironment(t);
  const admin = session('admin');
  const { id } = dataOf<{ id: number }>(await admin.post(HOOKS, WANTED));
  const events = Array.from({ length: 1_002 }, () => ({
    organisation_id: 1,
    kind: 'attack.opened',
    target: '203.0.113.10',
  }));
  await db.insertInto('events').values(events).execute();
  const [hook] = dataOf<Hook[]>(await admin.get(HOOKS));
  assert.equal(hook?.pending, 1_000);
  const skipped = await admin.get(`${HOOKS}/${id}/deliveries?state=skipped`);
  assert.equal(dataOf<Delivery[]>(skipped).length, 2);
  assertRefused(await admin.send('POST', `${HOOKS}/${id}/test`), 422, 'limit_exceeded');
});
