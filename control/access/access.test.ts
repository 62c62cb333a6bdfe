import assert from 'node:assert/strict';
import { before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import type { Db } from '../db/database.ts';
import { listen } from '../db/listen.ts';
import { testDatabase } from '../db/testing.ts';
import { Problem } from '../problem.ts';
import { createAccess, createKey, generateSecret, type NewKey, revokeKey } from './index.ts';
import { addOrganisation, OPERATOR, type TestOrganisation } from './test-organisation.ts';

const log = pino({ level: 'silent' });
let db: Db;
let url: string;
let acme: TestOrganisation;

before(async (t) => {
  ({ db, url } = await testDatabase(t));
  acme = await addOrganisation(db, 'acme');
});

function open(t: TestContext, clock?: () => Date) {
  const access = createAccess({ db, log, ...(clock && { clock }) });
  t.after(() => access.stop());
  return access;
}

function create(input: Partial<NewKey> = {}) {
  const key: NewKey = {
    organisationId: acme.id,
    name: 'ci',
    abilities: ['firewall.read', 'firewall.manage'],
    owner: 'portal',
    ...input,
  };
  return db.transaction().execute((tx) => createKey(tx, key, OPERATOR));
}

function unauthenticated(detail: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.code, 'unauthenticated');
    assert.equal(error.headers['www-authenticate'], 'Bearer');
    assert.match(error.detail, detail);
    return true;
  };
}

test('a valid key identifies its organisation with abilities, flags and limits', async (t) => {
  const access = open(t);
  const { id, secret } = await create({ name: 'good', prefixes: ['203.0.113.0/24'] });
  const { by: caller } = await access.authenticate(`Bearer ${secret}`, '192.0.2.1');
  assert.ok(caller.kind === 'key');
  assert.ok(caller !== null);
  assert.deepEqual([caller.keyId, caller.keyName, caller.organisation.slug], [id, 'good', 'acme']);
  assert.deepEqual([...caller.abilities], ['firewall.read', 'firewall.manage']);
  assert.deepEqual([...caller.organisation.flags], ['firewall_api']);
  assert.deepEqual([caller.prefixes, caller.servers], [['203.0.113.0/24'], null]);
  assert.equal((await access.authenticate(`bearer   ${secret}`, '')).by.keyId, id);
});

test('answers 401 to an invalid key with the reason and without the key', async (t) => {
  const access = open(t);
  const secret = generateSecret();
  const mistyped = secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0');
  const cases: [string | undefined, RegExp][] = [
    [undefined, /^Send an API key/],
    ['', /^Send an API key/],
    ['Basic dXNlcjpwYXNz', /must be "Bearer"/],
    ['Bearer', /must be "Bearer"/],
    [secret, /must be "Bearer"/],
    [`Bearer${secret}`, /must be "Bearer"/],
    [`Bearer\t${secret}`, /must be "Bearer"/],
    [`Token ${secret}`, /must be "Bearer"/],
    [`Bearer "${secret}"`, /malformed/],
    [`Bearer ${secret.toUpperCase()}`, /malformed/],
    [`Bearer ${secret} ${secret}`, /must be "Bearer"/],
    [`Bearer ${'a'.repeat(100_000)}`, /must be "Bearer"/],
    ['Bearer hunter2', /malformed: a key begins with pcl_/],
    ['Bearer pcl_hunter2', /malformed/],
    [`Bearer ${mistyped}`, /checksum/],
    [`Bearer ${secret}`, /not known here/],
  ];
  for (const [header, detail] of cases) {
    await assert.rejects(access.authenticate(header, '192.0.2.1'), (error) => {
      unauthenticated(detail)(error);
      return !String(error).includes('hunter2') && !String(error).includes(secret.slice(4));
    });
  }
});

test('lets in a burst of first requests with a good key, which are one query', async (t) => {
  const access = open(t);
  const { secret } = await create({ name: 'burst' });
  const burst = Array.from({ length: 100 }, () =>
    access.authenticate(`Bearer ${secret}`, '192.0.2.9'),
  );
  assert.equal((await Promise.all(burst)).length, 100);
});

test('expires a key on time, also while it is cached', async (t) => {
  let now = new Date();
  const access = open(t, () => now);
  const expiresAt = new Date(now.getTime() + 60_000);
  const { secret } = await create({ name: 'short', expiresAt });
  await access.authenticate(`Bearer ${secret}`, '');
  now = expiresAt;
  await assert.rejects(access.authenticate(`Bearer ${secret}`, ''), unauthenticated(/expired at/));
});

test('rejects a key bound to source addresses from other addresses', async (t) => {
  const access = open(t);
  const { secret } = await create({ name: 'bound', sources: ['192.0.2.0/24', '2001:db8::/32'] });
  for (const good of ['192.0.2.200', '2001:db8::1']) {
    await access.authenticate(`Bearer ${secret}`, good);
  }
  for (const bad of ['192.0.3.1', '2001:db9::1', '', '::ffff:192.0.2.1']) {
    await assert.rejects(
      access.authenticate(`Bearer ${secret}`, bad),
      unauthenticated(/may not be used from/),
    );
  }
});

test('revokes a key within two seconds on a replica without notifications', async (t) => {
  const access = open(t);
  const { id, secret } = await create({ name: 'deaf' });
  await access.authenticate(`Bearer ${secret}`, '');
  await db.transaction().execute((tx) => revokeKey(tx, id, OPERATOR));
  const deadline = performance.now() + 2_000;
  let refused: unknown = null;
  // The last request is sent after these two seconds, even if this process is slow.
  for (let isLast = false; refused === null && !isLast; ) {
    isLast = performance.now() >= deadline;
    refused = await access.authenticate(`Bearer ${secret}`, '').then(
      () => delay(20, null),
      (error: unknown) => error,
    );
  }
  unauthenticated(/has been revoked/)(refused);
});

test('revokes a key at once on a replica that listens for notifications', async (t) => {
  const access = open(t);
  const ready = Promise.withResolvers<void>();
  let reported = Promise.withResolvers<void>();
  const listener = listen(url, ['portcullis_access'], (_channel, payload) => {
    access.forget();
    if (payload === null) ready.resolve();
    else reported.resolve();
  });
  t.after(() => listener.stop());
  await ready.promise;
  const { id, secret } = await create({ name: 'listening' });
  await reported.promise;
  await access.authenticate(`Bearer ${secret}`, '');
  reported = Promise.withResolvers<void>();
  await db.transaction().execute((tx) => revokeKey(tx, id, OPERATOR));
  await reported.promise;
  await assert.rejects(access.authenticate(`Bearer ${secret}`, ''), unauthenticated(/revoked/));
});

test('stores the last use of all keys when the process stops, and never sets it back', async () => {
  const later = new Date('2030-01-01T00:00:00Z');
  const { id, secret } = await create({ name: 'used' });
  for (const now of [later, new Date('2029-01-01T00:00:00Z')]) {
    const access = createAccess({ db, log, clock: () => now });
    await access.authenticate(`Bearer ${secret}`, '');
    await access.stop();
  }
  const { rows } = await sql`select last_used_at as at from api_keys where id = ${id}`.execute(db);
  assert.deepEqual(rows, [{ at: later }]);
});
