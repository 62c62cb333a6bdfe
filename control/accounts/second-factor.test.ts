import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, createSessionClient } from '../testing/client.ts';
import { startEnvironment, type TestEnvironment } from '../testing/fixture.ts';
import { addPerson, PASSWORD, signIn, tokenIn } from './testing.ts';
import { encodeBase32, matchTotp, stepAt, totpCode } from './second-factor.ts';

/** RFC 6238, appendix B, and RFC 4648, section 10. */
test('computes the codes of RFC 6238', () => {
  const secret = Buffer.from('12345678901234567890');
  for (const [seconds, code] of [
    [59, '287082'],
    [1111111109, '081804'],
    [20000000000, '353130'],
  ] as const) {
    assert.equal(totpCode(secret, stepAt(seconds * 1_000)), code);
  }
  assert.equal(encodeBase32(Buffer.from('foobar')), 'MZXW6YTBOI');
  const at = (nowMs: number, lastStep = 0) => matchTotp(secret, '287082', { nowMs, lastStep });
  assert.deepEqual([at(59_000), at(89_000)], [1, 1]);
  assert.deepEqual([at(120_000), at(59_000, 1)], [null, null]);
});

const EMAIL = 'ada@example.net';

/** A person with an app; the secret, and recovery codes. */
async function withApp(env: TestEnvironment) {
  await addPerson(env, EMAIL);
  const session = createSessionClient(env.url, tokenIn(await signIn(env, { email: EMAIL })));
  const wrong = await session.post('/api/portal/account/totp', { password: 'wrong' });
  assertRefused(wrong, 422, 'invalid_request');
  await session.post('/api/portal/account/totp', { password: PASSWORD });
  // Not in force yet.
  assert.deepEqual((await signIn(env, { email: EMAIL })).body, { data: { signed_in: true } });
  const code = await currentCode(env);
  const confirmed = await session.put('/api/portal/account/totp', { code });
  assert.equal(confirmed.status, 200, confirmed.text);
  const { data } = confirmed.body as { data: { recovery_codes: string[] } };
  return { session, code, recoveryCodes: data.recovery_codes };
}

async function currentCode({ db }: TestEnvironment, steps = 0): Promise<string> {
  const { rows } = await sql<{ secret: Buffer }>`
    select totp_secret as secret from people where email = ${EMAIL}`.execute(db);
  return totpCode(rows[0]?.secret ?? Buffer.alloc(0), stepAt(Date.now()) + steps);
}

test('with an app a password alone does not sign in, and a code works once', async (t) => {
  const env = await startEnvironment(t);
  const { code } = await withApp(env);
  const half = await signIn(env, { email: EMAIL });
  assert.deepEqual([half.body, tokenIn(half)], [{ data: { signed_in: false } }, '']);
  // Used when the app was turned on.
  const used = await signIn(env, { email: EMAIL, code });
  assert.equal(used.status, 401);
  assert.match(JSON.stringify(used.body), /used already\. Wait for the next one\./);
  const next = await currentCode(env, 1);
  const twice = await Promise.all([1, 2].map(() => signIn(env, { email: EMAIL, code: next })));
  assert.deepEqual(
    twice.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 401],
  );
  assert.equal((await signIn(env, { email: EMAIL, code: '000000' })).status, 401);
});

test('a recovery code works once, and wrong codes lock like wrong passwords', async (t) => {
  const env = await startEnvironment(t);
  const { recoveryCodes, session } = await withApp(env);
  assert.equal(new Set(recoveryCodes).size, 10);
  const [code = ''] = recoveryCodes;
  assert.equal((await signIn(env, { email: EMAIL, code: code.toUpperCase() })).status, 200);
  assert.equal((await signIn(env, { email: EMAIL, code })).status, 401);
  const account = await session.get('/api/portal/account');
  assert.deepEqual(account.body, { data: { totp: true, recovery_codes_left: 9, passkeys: [] } });
  const guess = { email: EMAIL, code: '123456' };
  const replies = [];
  for (let count = 0; count < 10; count++) replies.push((await signIn(env, guess)).status);
  assert.deepEqual(replies, [...Array<number>(9).fill(401), 429]);
});

test('new recovery codes need the password, and replace the previous ones', async (t) => {
  const env = await startEnvironment(t);
  const { session, recoveryCodes } = await withApp(env);
  const renew = (password: string) =>
    session.post('/api/portal/account/recovery-codes', { password });
  assertRefused(await renew('wrong'), 422, 'invalid_request');
  const renewed = await renew(PASSWORD);
  assert.equal(renewed.status, 201, renewed.text);
  const { data } = renewed.body as { data: { recovery_codes: string[] } };
  assert.equal((await signIn(env, { email: EMAIL, code: recoveryCodes[0] ?? '' })).status, 401);
  assert.equal(
    (await signIn(env, { email: EMAIL, code: data.recovery_codes[0] ?? '' })).status,
    200,
  );
});

test('recovery codes without an app are refused, and a person renames itself', async (t) => {
  const env = await startEnvironment(t);
  await addPerson(env, EMAIL);
  const session = createSessionClient(env.url, tokenIn(await signIn(env, { email: EMAIL })));
  const body = { password: PASSWORD };
  assertRefused(
    await session.post('/api/portal/account/recovery-codes', body),
    422,
    'invalid_request',
  );
  assert.equal((await session.put('/api/portal/account/name', { name: 'Countess' })).status, 200);
  const who = (await session.get('/api/portal/session')).body as { data: { name: string } };
  assert.equal(who.data.name, 'Countess');
});

test('turning the app on ends other sessions; turning it off needs the password', async (t) => {
  const env = await startEnvironment(t);
  await addPerson(env, 'other@example.net');
  const { session } = await withApp(env);
  const listed = (await session.get('/api/portal/account/sessions')).body as { data: unknown[] };
  assert.equal(listed.data.length, 1);
  const removal = (password: string) => session.delete('/api/portal/account/totp', { password });
  assertRefused(await removal('wrong'), 422, 'invalid_request');
  assert.equal((await removal(PASSWORD)).status, 200);
  assert.deepEqual((await signIn(env, { email: EMAIL })).body, { data: { signed_in: true } });
});

test('sessions are listed and ended, by their owner only; a new password ends the others', async (t) => {
  const env = await startEnvironment(t);
  await addPerson(env, EMAIL);
  const [here, there, third] = await Promise.all(
    [1, 2, 3].map(async () =>
      createSessionClient(env.url, tokenIn(await signIn(env, { email: EMAIL }))),
    ),
  );
  assert.ok(here && there && third);
  const list = async () => {
    const { body } = await here.get('/api/portal/account/sessions');
    return (body as { data: { id: number; current: boolean }[] }).data;
  };
  const own = (await list()).find(({ current }) => !current);
  const path = `/api/portal/account/sessions/${own?.id}`;
  assertRefused(await env.session('owner').send('DELETE', path), 404, 'not_found');
  assert.equal((await here.send('DELETE', path)).status, 200);
  assert.equal((await list()).length, 2);
  const change = { password: PASSWORD, new_password: 'another long password' };
  assert.equal((await here.put('/api/portal/account/password', change)).status, 200);
  assert.deepEqual(
    (await list()).map(({ current }) => current),
    [true],
  );
  assert.equal((await signIn(env, { email: EMAIL })).status, 401);
});
