import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { createShares } from '@portcullis/control/http/operations/shares.ts';
import { type Access, createAccess, type Person } from '@portcullis/control/access/index.ts';
import { openDatabase, type Db } from '@portcullis/control/db/database.ts';
import { assertRefused, type TestReply } from '@portcullis/control/testing/client.ts';
import { createRateLimiter } from '@portcullis/control/http/operations/rate-limit.ts';
import {
  ACME,
  startEnvironment,
  type TestEnvironment,
} from '@portcullis/control/testing/fixture.ts';
import { createLogger } from '@portcullis/control/log.ts';

const V1 = '/api/v1/firewall/ips';
const OTHERS = `${V1}/192.0.2.10`;
const rule = (port: number) => ({ action: 'deny', protocol: 'udp', destination_port: `${port}` });

/** Requests of one organisation in work while no other has any: fewer than there are connections. */
const IN_WORK = 7;

/** Statements of the database that wait for a lock. */
async function waiting(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
  return rows[0]?.n ?? 0;
}

/** Until `reached` holds: a state of the database has no event. */
async function until(reached: () => Promise<boolean>): Promise<void> {
  while (!(await reached())) await delay(10);
}

/** Holds what every write of acme locks until `script` is done, with a connection of its own. */
async function withAcmeLocked(
  { databaseUrl }: TestEnvironment,
  script: (db: Db) => Promise<void>,
): Promise<void> {
  const db = openDatabase({ url: databaseUrl, poolSize: 2 });
  try {
    await db.transaction().execute(async (tx) => {
      await sql`
        select from holdings where organisation_id = ${ACME} order by id for update`.execute(tx);
      await script(db);
    });
  } finally {
    await db.destroy();
  }
}

test('requests of one organisation that hang leave the connections of the others free', async (t) => {
  const environment = await startEnvironment(t, { deadlineMs: 60_000 });
  const { acme, other, client } = environment;
  const second = await client();
  const hanging: Promise<unknown>[] = [];
  await withAcmeLocked(environment, async (db) => {
    for (let n = 0; n < 20; n += 1) {
      for (const [at, key] of [acme, second].entries()) {
        hanging.push(key.post(`${V1}/203.0.113.${n}/rules`, rule(at + 1)));
      }
    }
    await until(async () => (await waiting(db)) >= IN_WORK);
    // Each would hang if acme's writes had all connections.
    for (let n = 1; n <= 10; n += 1) {
      assert.equal((await other.get(OTHERS)).status, 200);
      assert.equal((await other.post(`${OTHERS}/rules`, rule(n))).status, 201);
    }
    assert.equal(await waiting(db), IN_WORK);
  });
  const replies = (await Promise.all(hanging)) as { status: number }[];
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
});

test('a burst beyond what may wait is refused with a time to wait, also over many keys', async (t) => {
  const environment = await startEnvironment(t, { deadlineMs: 60_000 });
  const { client, other } = environment;
  const keys = await Promise.all(Array.from({ length: 3 }, () => client()));
  const sent: Promise<TestReply>[] = [];
  let refused = 0;
  await withAcmeLocked(environment, async () => {
    for (const [at, key] of keys.entries()) {
      for (let n = 0; n < 60; n += 1) {
        const reply = key.post(`${V1}/203.0.113.9/rules`, rule(1 + at * 100 + n));
        sent.push(reply);
        void reply.then(({ status }) => (refused += status === 429 ? 1 : 0));
      }
    }
    // 180 came.
    await until(async () => refused >= 180 - IN_WORK - 120);
    assert.equal((await other.get(OTHERS)).status, 200);
  });
  const replies = await Promise.all(sent);
  assert.equal(refused, 180 - IN_WORK - 120);
  for (const { status, headers } of replies) {
    if (status === 429) assert.equal(headers.get('retry-after'), '1');
  }
});

test('many keys of one organisation have one limit together', async (t) => {
  const { client, db, acme, other } = await startEnvironment(t, {
    rateLimiter: createRateLimiter(),
  });
  await sql`update organisations set requests_per_minute = 4 where id = ${ACME}`.execute(db);
  const keys = await Promise.all(Array.from({ length: 8 }, () => client()));
  const statuses: number[] = [];
  for (const key of keys) {
    for (let n = 0; n < 4; n += 1) statuses.push((await key.get(`${V1}/203.0.113.9`)).status);
  }
  // A burst of five times what one key may, and what comes back meanwhile.
  const good = statuses.filter((status) => status === 200).length;
  assert.ok(good >= 20 && good < 32, statuses.join(' '));
  const reply = await acme.get(`${V1}/203.0.113.9`);
  if (reply.status === 429) assertRefused(reply, 429, 'rate_limited');
  assert.equal((await other.get(OTHERS)).status, 200);
});

test('operators, and finding out who asks, have connections of their own', async (t) => {
  let environment: TestEnvironment | null = null;
  const own: Db[] = [];
  const operatorsDb = (): Db => {
    own[0] ??= openDatabase({ url: environment?.databaseUrl ?? '', poolSize: 2 });
    return own[0];
  };
  // Opened at first use, when the address of the database is known.
  const lazy = new Proxy({} as Db, {
    get: (_, key) => {
      const value: unknown = Reflect.get(operatorsDb(), key);
      return typeof value === 'function' ? value.bind(operatorsDb()) : value;
    },
  });
  const log = createLogger({ level: 'silent' });
  const access = createAccess({ db: lazy, log });
  environment = await startEnvironment(t, { operatorDb: lazy, access });
  t.after(async () => {
    await access.stop();
    await own[0]?.destroy();
  });
  const { db, client } = environment;
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await client({ organisationId: null, abilities });
  const release = Promise.withResolvers<void>();
  const held = Array.from({ length: 10 }, () =>
    db.transaction().execute(async (tx) => {
      await sql`select 1`.execute(tx);
      await release.promise;
    }),
  );
  const reply = await operator.get('/api/operator/organisations');
  assert.equal(reply.status, 200, reply.text);
  release.resolve();
  await Promise.all(held);
});

test('event streams of an organisation are bounded over all of its keys', async (t) => {
  const { client, url, other } = await startEnvironment(t);
  const open: AbortController[] = [];
  t.after(() => open.forEach((ending) => ending.abort()));
  const stream = async (authorization: string | null): Promise<number> => {
    const ending = new AbortController();
    open.push(ending);
    const headers = { authorization: authorization ?? '' };
    const reply = await fetch(`${url}/api/x1/events`, { headers, signal: ending.signal });
    if (reply.status !== 200) await reply.text();
    return reply.status;
  };
  const keys = await Promise.all(Array.from({ length: 6 }, () => client()));
  const statuses: number[] = [];
  for (const { authorization } of keys) {
    for (let n = 0; n < 20; n += 1) statuses.push(await stream(authorization));
  }
  assert.deepEqual(
    [200, 429].map((status) => statuses.filter((one) => one === status).length),
    [100, 20],
  );
  assert.equal(await stream(other.authorization), 200);
});

test('rights that change in a loop are few checks of a stream', async (t) => {
  const pending: { access: Access | null; checks: number } = { access: null, checks: 0 };
  const real = (): Access => pending.access ?? assert.fail('not started');
  const access: Omit<Access, 'forget' | 'stop'> = {
    authenticate: (...sent) => real().authenticate(...sent),
    authenticateAgain(...sent) {
      pending.checks += 1;
      return real().authenticateAgain(...sent);
    },
    authenticateSession: (...sent) => real().authenticateSession(...sent),
    authenticateSessionAgain: (...sent) => real().authenticateSessionAgain(...sent),
    onChange: (listener) => real().onChange(listener),
  };
  const environment = await startEnvironment(t, { access });
  pending.access = environment.access;
  const { acme, url, db } = environment;
  const ending = new AbortController();
  t.after(() => ending.abort());
  const headers = { authorization: acme.authorization ?? '' };
  const stream = await fetch(`${url}/api/x1/events`, { headers, signal: ending.signal });
  assert.equal(stream.status, 200);
  for (let n = 0; n < 200; n += 1) environment.access.forget();
  for (let n = 0; n < 20; n += 1) await sql`select 1`.execute(db);
  assert.ok(pending.checks <= 4, `${pending.checks} checks`);
  // The last change counts.
  await sql`update api_keys set revoked_at = now()`.execute(db);
  for (let n = 0; n < 20; n += 1) environment.access.forget();
  // Ends, or the test does not.
  await stream.text();
});

test('a flood of the keys of an organisation does not keep its owner from ending one', async (t) => {
  const environment = await startEnvironment(t, { deadlineMs: 60_000 });
  const { client, db, session } = environment;
  const keys = await Promise.all(Array.from({ length: 6 }, () => client()));
  const { rows } = await sql<{ id: number }>`select max(id) as id from api_keys`.execute(db);
  const path = `/api/portal/organisations/acme/keys/${rows[0]?.id}`;
  const sent: Promise<TestReply>[] = [];
  let refused = 0;
  await withAcmeLocked(environment, async () => {
    // More than the limit of all keys together, and than what may wait.
    for (const [at, key] of keys.entries()) {
      for (let n = 0; n < 100; n += 1) {
        const reply = key.post(`${V1}/203.0.113.9/rules`, rule(1 + at * 100 + n));
        sent.push(reply);
        void reply.then(({ status }) => (refused += status === 429 ? 1 : 0));
      }
    }
    await until(async () => refused >= 600 - IN_WORK - 120);
    const ended = await session('owner').send('DELETE', path);
    assert.equal(ended.status, 200, ended.text);
    assert.equal((await session('owner').get('/api/portal/session')).status, 200);
  });
  await Promise.all(sent);
});

const personOf = (id: number): Person => ({
  kind: 'person',
  id,
  email: `${id}@example.com`,
  sessionId: id,
  isOperator: false,
});

test('people of one organisation who have passwords checked do not keep others from the portal', async () => {
  const shares = createShares();
  const release = Promise.withResolvers<void>();
  const request = { ended: new AbortController().signal };
  const of = { isOperator: false, waits: true, source: null, request };
  const hostile = Array.from({ length: 140 }, (_, at) =>
    shares.run({ ...of, by: personOf(at % 10) }, () => release.promise).catch(() => {}),
  );
  const quick = { ...of, waits: false };
  for (const one of [
    { ...quick, by: personOf(11) },
    { ...quick, by: null, source: '192.0.2.1' },
    { ...of, by: null, source: '192.0.2.1' },
  ]) {
    const served = shares.run(one, async () => 'served');
    assert.equal(await Promise.race([served, delay(1_000, 'waits', { ref: false })]), 'served');
  }
  release.resolve();
  await Promise.all(hostile);
});

test('strangers of many networks do not keep those who signed in from being served', async () => {
  const shares = createShares();
  const release = Promise.withResolvers<void>();
  const request = { ended: new AbortController().signal };
  const of = { by: null, isOperator: false, waits: true, source: null, request };
  const strangers = Array.from({ length: 60 }, (_, at) =>
    shares.run({ ...of, source: `2001:db8:${at}::1` }, () => release.promise).catch(() => {}),
  );
  const served = shares.run({ ...of, by: personOf(1) }, async () => 'served');
  assert.equal(await Promise.race([served, delay(1_000, 'waits', { ref: false })]), 'served');
  release.resolve();
  await Promise.all(strangers);
});
