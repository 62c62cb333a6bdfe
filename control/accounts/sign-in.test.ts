import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, createSessionClient } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';
import { sessionCookieName } from '../access/index.ts';
import { requireEncrypted } from './session-store.ts';
import { addPerson, PASSWORD, signIn, tokenIn } from './testing.ts';

test('a sign-in sets a cookie for this host, for https and not for scripts, and says who it is', async (t) => {
  const env = await startEnvironment(t);
  const id = await addPerson(env, 'ada@example.net');
  await sql`insert into members values (1, ${id}, 'admin')`.execute(env.db);
  const reply = await signIn(env, { email: 'Ada@Example.net' });
  assert.deepEqual(reply.body, { data: { signed_in: true } });
  assert.match(
    reply.headers.get('set-cookie') ?? '',
    /^__Host-portcullis=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000; Secure, __Host-portcullis-device=/,
  );
  const session = createSessionClient(env.url, tokenIn(reply));
  const who = await session.get('/api/portal/session');
  const organisations = [{ slug: 'acme', name: 'Acme Hosting', owner: 'fleet', role: 'admin' }];
  assert.deepEqual(who.body, {
    data: {
      id,
      email: 'ada@example.net',
      name: 'Ada',
      operator: false,
      acting_for: null,
      organisations,
    },
  });
  assert.equal((await session.send('DELETE', '/api/portal/session')).status, 200);
  assertRefused(await session.get('/api/portal/session'), 401, 'unauthenticated');
});

test('refuses an unknown email, a wrong password and a disabled account alike', async (t) => {
  const env = await startEnvironment(t);
  const id = await addPerson(env, 'bob@example.net');
  await sql`update people set disabled_at = now() where id = ${id}`.execute(env.db);
  await addPerson(env, 'eve@example.net');
  const replies = [
    await signIn(env, { email: 'nobody@example.net' }),
    await signIn(env, { email: 'eve@example.net', password: `${PASSWORD}r` }),
    await signIn(env, { email: 'bob@example.net' }),
  ];
  for (const { status, headers, body } of replies) {
    assert.deepEqual([status, headers.get('set-cookie')], [401, null]);
    assert.deepEqual(body, replies[0]?.body);
  }
});

test('a sign-in gives a new token, whatever cookie the browser had before', async (t) => {
  const env = await startEnvironment(t);
  await addPerson(env, 'fixed@example.net');
  const planted = 'x'.repeat(43);
  const cookie = `__Host-portcullis=${planted}`;
  const tokens = [
    planted,
    tokenIn(await signIn(env, { email: 'fixed@example.net' }, { cookie })),
    tokenIn(await signIn(env, { email: 'fixed@example.net' }, { cookie })),
  ];
  assert.equal(new Set(tokens).size, 3);
  assert.equal(
    (await createSessionClient(env.url, planted).get('/api/portal/session')).status,
    401,
  );
});

test('ten wrong attempts lock the source for 15 minutes and slow unknown devices, and neither a known device nor the session', async (t) => {
  const env = await startEnvironment(t);
  const email = 'locked@example.net';
  await addPerson(env, email);
  const first = await signIn(env, { email });
  const session = createSessionClient(env.url, tokenIn(first));
  const cookie =
    /__Host-portcullis-device=[^;]*/.exec(first.headers.get('set-cookie') ?? '')?.[0] ?? '';
  const wrong = { email, password: 'wrong' };
  const replies = await Promise.all(Array.from({ length: 13 }, () => signIn(env, wrong)));
  const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429, 429, 429]);
  const locked = await signIn(env, { email });
  assert.equal(locked.status, 429);
  assert.ok(Number(locked.headers.get('retry-after')) > 800);
  assert.equal((await session.get('/api/portal/session')).status, 200);
  // Another source waits for 30 s at most.
  await sql`update sign_in_attempts set origin = 'source 192.0.2.1' where origin <> ''`.execute(
    env.db,
  );
  const slowed = await signIn(env, { email });
  assert.equal(slowed.status, 429);
  assert.ok(Number(slowed.headers.get('retry-after')) <= 30);
  assert.equal((await signIn(env, { email }, { cookie: `${cookie}x` })).status, 429);
  const known = await Promise.all([
    signIn(env, { email: 'other@example.net' }, { cookie }),
    signIn(env, { email }, { cookie }),
  ]);
  assert.deepEqual(
    known.map(({ status }) => status),
    [401, 200],
  );
  await Promise.all(Array.from({ length: 13 }, () => signIn(env, wrong)));
  await sql`update sign_in_attempts set last_at = last_at - interval '16 minutes'`.execute(env.db);
  assert.equal((await signIn(env, { email })).status, 200);
});

test('a session ends after 7 days without a request, and after 30 days', async (t) => {
  const env = await startEnvironment(t);
  await addPerson(env, 'idle@example.net');
  for (const change of [
    sql`last_seen_at = now() - interval '169 hours'`,
    sql`expires_at = now() - interval '1 second'`,
  ]) {
    const token = tokenIn(await signIn(env, { email: 'idle@example.net' }));
    const session = createSessionClient(env.url, token);
    assert.equal((await session.get('/api/portal/session')).status, 200);
    await sql`update sessions set ${change}
      where person_id = (select id from people where email = 'idle@example.net')`.execute(env.db);
    assert.equal((await session.get('/api/portal/session')).status, 401);
  }
});

test('without TLS only loopback signs in, with a cookie of another name', () => {
  for (const url of ['https://portcullis.example', 'http://127.0.0.1:8080', 'http://localhost']) {
    requireEncrypted(url);
  }
  assert.throws(() => requireEncrypted('http://192.0.2.1:8080'), /needs https/);
  assert.throws(() => requireEncrypted('http://localhost.evil.example'), /needs https/);
  assert.equal(sessionCookieName('http://127.0.0.1:8080'), 'portcullis');
  assert.equal(sessionCookieName('https://127.0.0.1:8080'), '__Host-portcullis');
});
