import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { prove } from '@portcullis/control/accounts/prove.ts';
import { stepAt, totpCode } from '@portcullis/control/accounts/second-factor.ts';
import { addPerson, PASSWORD, SAME_SITE, signIn } from '@portcullis/control/accounts/testing.ts';
import { assertRefused } from '@portcullis/control/testing/client.ts';
import { OTHER } from '@portcullis/control/testing/fixture.ts';
import {
  acceptLink,
  addApp,
  ORIGIN,
  PORTAL,
  rightCode,
  roleIn,
  start,
  sessionOf,
  tokenOfLink,
  wrongCodes,
} from './testing.ts';

const EMAIL = 'ada@example.net';

test('no right password, no link and no session forgets wrong codes: ten, and then none is looked at', async (t) => {
  const env = await start(t);
  await addPerson(env, EMAIL);
  await sql`
    insert into members (organisation_id, person_id, role)
    select ${OTHER}, id, 'owner' from people where name = 'stranger'`.execute(env.db);
  const session = sessionOf(env, await signIn(env, { email: EMAIL }));
  await addApp(env, EMAIL);
  const next = wrongCodes();
  const guess = async (): Promise<number> =>
    (await signIn(env, { email: EMAIL, code: next() })).status;
  const invitation = async (): Promise<string> =>
    tokenOfLink(
      await env
        .session('stranger')
        .post(`${PORTAL}/organisations/other/invitations`, { email: EMAIL, role: 'member' }),
    );
  const first = [];
  for (let count = 0; count < 13; count++) first.push(await guess());
  assert.deepEqual(first, [...Array.from({ length: 10 }, () => 401), 429, 429, 429]);
  for (let round = 0; round < 3; round++) {
    const token = await invitation();
    assertRefused(await acceptLink(env, { token, password: PASSWORD }), 422, 'invalid_request');
    const withCode = await acceptLink(env, { token, password: PASSWORD, code: next() });
    assertRefused(withCode, 429, 'rate_limited');
    assert.deepEqual((await signIn(env, { email: EMAIL })).body, { data: { signed_in: false } });
    const proven = await session.post(`${PORTAL}/account/recovery-codes`, { password: PASSWORD });
    assert.equal(proven.status, 201, proven.text);
    for (let count = 0; count < 8; count++) assert.equal(await guess(), 429);
  }
  assert.equal(await roleIn(env, EMAIL, 'other'), null);
  // Even the right one waits.
  assert.equal((await signIn(env, { email: EMAIL, code: rightCode() })).status, 429);
});

test('accepting a link for an account that is there asks for the code, and a right one forgets the wrong ones', async (t) => {
  const env = await start(t);
  await addPerson(env, EMAIL);
  await addApp(env, EMAIL);
  const path = `${PORTAL}/organisations/acme/invitations`;
  const invited = await env.session('owner').post(path, { email: EMAIL, role: 'member' });
  const token = tokenOfLink(invited);
  const next = wrongCodes();
  for (let count = 0; count < 9; count++) {
    const reply = await acceptLink(env, { token, password: PASSWORD, code: next() });
    assertRefused(reply, 401, 'unauthenticated');
  }
  assert.equal(await roleIn(env, EMAIL, 'acme'), null);
  const right = await acceptLink(env, { token, password: PASSWORD, code: rightCode() });
  assert.equal(right.status, 200, right.text);
  assert.equal(await roleIn(env, EMAIL, 'acme'), 'member');
  const { rows } = await sql`select from sign_in_attempts`.execute(env.db);
  assert.equal(rows.length, 0);
});

test('codes are limited for an account, from however many places they come, and time forgets none', async (t) => {
  const env = await start(t);
  await addPerson(env, EMAIL);
  await addApp(env, EMAIL);
  const next = wrongCodes();
  const sent = () => ({ email: EMAIL, password: PASSWORD, code: next() });
  const outcomes: string[] = [];
  const guessFrom = async (block: number): Promise<void> => {
    const visitor = { source: `2001:db8:0:${block}::1`, cookies: undefined };
    const proof = await prove(env.db, sent(), { visitor, publicUrl: ORIGIN }).catch(() => null);
    const used = proof && env.db.transaction().execute((tx) => proof.complete(tx));
    outcomes.push(
      used === null
        ? 'not looked at'
        : await used.then(
            () => 'right',
            () => 'wrong',
          ),
    );
  };
  for (let block = 1; block <= 12; block++) await guessFrom(block);
  const expected = [...Array.from({ length: 10 }, () => 'wrong'), 'not looked at', 'not looked at'];
  assert.deepEqual(outcomes, expected);
  await sql`update sign_in_attempts set last_at = last_at - interval '16 minutes'`.execute(env.db);
  for (let block = 13; block <= 16; block++) await guessFrom(block);
  // One for the quarter of an hour.
  assert.deepEqual(outcomes.slice(12), [
    'wrong',
    ...Array.from({ length: 3 }, () => 'not looked at'),
  ]);
});

test('devices of before the authenticator app was on do not add codes to those of strangers', async (t) => {
  const env = await start(t);
  await addPerson(env, EMAIL);
  // Somebody who has the password alone; each sign-in is another device.
  const devices: string[] = [];
  for (let count = 0; count < 3; count++) {
    const reply = await signIn(env, { email: EMAIL });
    const cookies = reply.headers.getSetCookie().map((one) => one.split(';')[0]);
    devices.push(cookies.join('; '));
  }
  const session = sessionOf(env, await signIn(env, { email: EMAIL }));
  const begun = await session.post(`${PORTAL}/account/totp`, { password: PASSWORD });
  assert.equal(begun.status, 200, begun.text);
  const { rows } = await sql<{ secret: Buffer }>`
    select totp_secret as secret from people where email = ${EMAIL}`.execute(env.db);
  const secret = rows[0]?.secret ?? assert.fail();
  const code = totpCode(secret, stepAt(Date.now()));
  const confirmed = await session.send('PUT', `${PORTAL}/account/totp`, {
    json: { code },
    headers: SAME_SITE,
  });
  assert.equal(confirmed.status, 200, confirmed.text);
  let looked = 0;
  for (const cookie of devices) {
    for (let count = 0; count < 10; count++) {
      const wrong = { json: { email: EMAIL, password: PASSWORD, code: 'wrong-code' } };
      const reply = await env
        .anonymous()
        .send('POST', `${PORTAL}/sign-in`, { ...wrong, headers: { ...SAME_SITE, cookie } });
      if (reply.status === 401) looked += 1;
    }
  }
  assert.equal(looked, 10);
});
