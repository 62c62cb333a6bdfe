import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { SoftwareAuthenticator } from '@portcullis/control/accounts/passkeys/authenticator-testing.ts';
import { addPerson, PASSWORD, signIn } from '@portcullis/control/accounts/testing.ts';
import { assertRefused, dataOf } from '@portcullis/control/testing/client.ts';
import { ACME, OTHER, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import {
  acceptLink,
  actions,
  addApp,
  addPasskey,
  challengeIn,
  hold,
  idOf,
  mailedToken,
  ORIGIN,
  PORTAL,
  readLink,
  rightCode,
  roleIn,
  sessionOf,
  signInByPasskey,
  squat,
  start,
  tokenOfLink,
  waiting,
} from './testing.ts';

const CEO = 'ceo@bigcorp.example';
const OWN = 'another horse battery';
const RESET = async (env: TestEnvironment, email: string): Promise<string> =>
  tokenOfLink(
    await env
      .session('operator')
      .send('POST', `${PORTAL}/operator/people/${await idOf(env, email)}/reset`),
  );

/** `stranger` is an owner of the other organisation. */
async function withOther(t: Parameters<typeof start>[0]): Promise<TestEnvironment> {
  const env = await start(t);
  await sql`
    insert into members (organisation_id, person_id, role)
    select ${OTHER}, id, 'owner' from people where name = 'stranger'`.execute(env.db);
  return env;
}

test('an account made in somebody else’s name ends when an operator invites the person: passkey, password, session', async (t) => {
  const env = await withOther(t);
  const squatter = await squat(env, CEO, env.session('owner'), 'acme');
  const passkey = await addPasskey(squatter);
  assert.equal((await signInByPasskey(env, passkey)).status, 200);
  const wanted = { email: CEO, organisation: 'other', role: 'owner' };
  const invited = await env.session('operator').post(`${PORTAL}/operator/invitations`, wanted);
  const token = tokenOfLink(invited);
  assert.equal(dataOf<{ has_account: boolean }>(await readLink(env, token)).has_account, false);
  // The password of the squatter does not accept it for the person.
  const accepted = await acceptLink(env, { token, name: 'The CEO', password: OWN });
  assert.equal(accepted.status, 200, accepted.text);
  assertRefused(await signInByPasskey(env, passkey), 401, 'unauthenticated');
  assertRefused(await squatter.get(`${PORTAL}/session`), 401, 'unauthenticated');
  assert.equal((await signIn(env, { email: CEO })).status, 401);
  const ceo = sessionOf(env, await signIn(env, { email: CEO, password: OWN }));
  assert.equal(dataOf<{ name: string }>(await ceo.get(`${PORTAL}/session`)).name, 'The CEO');
  assert.equal(await roleIn(env, CEO, 'other'), 'owner');
});

test('an unproven account accepts no link of another organisation, until its address is proven', async (t) => {
  const env = await withOther(t);
  const squatter = await squat(env, CEO, env.session('owner'), 'acme');
  const path = `${PORTAL}/organisations/other/invitations`;
  const invite = () => env.session('stranger').post(path, { email: CEO, role: 'admin' });
  const token = tokenOfLink(await invite());
  // Neither the squatter gets the role, nor the inviter the account.
  for (const body of [{ password: PASSWORD }, { password: OWN, name: 'Inviter' }]) {
    assertRefused(await acceptLink(env, { token, ...body }), 422, 'invalid_request');
  }
  assertRefused(await readLink(env, token), 422, 'invalid_request');
  assert.equal(await roleIn(env, CEO, 'other'), null);
  assert.equal((await squatter.get(`${PORTAL}/session`)).status, 200);
  // The organisation that made the account goes on using it.
  const own = { email: CEO, role: 'read-only' };
  const again = await env.session('owner').post(`${PORTAL}/organisations/acme/invitations`, own);
  const joined = await acceptLink(env, { token: tokenOfLink(again), password: PASSWORD });
  assert.equal(joined.status, 200, joined.text);
  // The operator's word proves it; then the same link works with the new password.
  const reset = await RESET(env, CEO);
  assert.equal((await acceptLink(env, { token: reset, password: OWN })).status, 200);
  assertRefused(await squatter.get(`${PORTAL}/session`), 401, 'unauthenticated');
  assertRefused(await acceptLink(env, { token, password: PASSWORD }), 401, 'unauthenticated');
  assert.equal((await acceptLink(env, { token, password: OWN })).status, 200);
  assert.equal(await roleIn(env, CEO, 'other'), 'admin');
});

test('a link that was mailed gives the account to the person that has the address', async (t) => {
  const env = await withOther(t);
  const squatter = await squat(env, CEO, env.session('owner'), 'acme');
  const passkey = await addPasskey(squatter);
  const path = `${PORTAL}/organisations/other/invitations`;
  const shown = tokenOfLink(
    await env.session('stranger').post(path, { email: CEO, role: 'admin' }),
  );
  const token = await mailedToken(env, CEO);
  assertRefused(await acceptLink(env, { token: shown, password: OWN }), 422, 'invalid_request');
  assert.equal(dataOf<{ has_account: boolean }>(await readLink(env, token)).has_account, false);
  assert.equal((await acceptLink(env, { token, password: OWN, name: 'The CEO' })).status, 200);
  assertRefused(await squatter.get(`${PORTAL}/session`), 401, 'unauthenticated');
  assertRefused(await signInByPasskey(env, passkey), 401, 'unauthenticated');
  assertRefused(await readLink(env, shown), 404, 'not_found');
  assert.equal(await roleIn(env, CEO, 'other'), 'admin');
  // From now on it is an account like others, which an invitation cannot take over.
  const plain = tokenOfLink(
    await env.session('owner').post(`${PORTAL}/organisations/acme/invitations`, {
      email: CEO,
      role: 'member',
    }),
  );
  assert.equal(dataOf<{ has_account: boolean }>(await readLink(env, plain)).has_account, true);
  const stolen = { token: plain, name: 'Eve', password: 'password of the inviter' };
  assertRefused(await acceptLink(env, stolen), 401, 'unauthenticated');
});

test('a reset ends every way in: sessions, passkeys, the app, codes, devices and links', async (t) => {
  const env = await withOther(t);
  const email = 'ada@example.net';
  const id = await addPerson(env, email);
  await sql`insert into members (organisation_id, person_id, role) values (${ACME}, ${id}, 'owner')`.execute(
    env.db,
  );
  const thief = sessionOf(env, await signIn(env, { email }));
  const passkey = await addPasskey(thief);
  const options = await thief.post(`${PORTAL}/account/passkeys/options`, { password: PASSWORD });
  assert.equal(options.status, 200);
  const invited = { email: 'eve@example.net', role: 'owner' };
  const backdoor = await thief.post(`${PORTAL}/organisations/acme/invitations`, invited);
  const older = await RESET(env, email);
  // A link for the same replaces the one before; an older one may be of another operator.
  await sql`
    insert into portal_links (token_hash, kind, email, person_id, created_by, expires_at)
    select sha256('older'), 'reset', email, person_id, 'operator', expires_at from portal_links where kind = 'reset'`.execute(
    env.db,
  );
  await addApp(env, email);
  await sql`insert into recovery_codes values (${id}, sha256('code'))`.execute(env.db);
  const accepted = await acceptLink(env, { token: older, password: OWN });
  assert.equal(accepted.status, 200, accepted.text);
  assertRefused(await thief.get(`${PORTAL}/session`), 401, 'unauthenticated');
  assertRefused(await signInByPasskey(env, passkey), 401, 'unauthenticated');
  assertRefused(await readLink(env, tokenOfLink(backdoor)), 404, 'not_found');
  const { rows } = await sql<Record<string, number>>`
    select (select count(*)::int from passkeys where person_id = ${id}) as passkeys,
           (select count(*)::int from passkey_challenges where person_id = ${id}) as challenges,
           (select count(*)::int from recovery_codes where person_id = ${id}) as codes,
           (select count(*)::int from portal_links where (person_id = ${id} or maker_id = ${id}) and used_at is null) as links,
           (select count(*)::int from people where id = ${id} and totp_secret is not null) as apps,
           (select count(*)::int from sessions where person_id = ${id}) as sessions,
           (select count(*)::int from devices where person_id = ${id}) as devices`.execute(env.db);
  // The session and the device of whoever accepted the reset.
  const none = { passkeys: 0, challenges: 0, codes: 0, links: 0, apps: 0 };
  assert.deepEqual(rows, [{ ...none, sessions: 1, devices: 1 }]);
  assert.ok((await actions(env)).includes('person.recover'));
  assert.equal((await signIn(env, { email, password: OWN })).status, 200);
});

test('a change of the password ends other sessions and links for a new one, and shows the passkeys', async (t) => {
  const env = await withOther(t);
  const email = 'ada@example.net';
  await addPerson(env, email);
  const other = sessionOf(env, await signIn(env, { email }));
  const session = sessionOf(env, await signIn(env, { email }));
  await addPasskey(other);
  await addApp(env, email);
  const reset = await RESET(env, email);
  const body = { password: PASSWORD, new_password: OWN };
  const changed = await session.put(`${PORTAL}/account/password`, body);
  const { passkeys } = dataOf<{ passkeys: { name: string }[] }>(changed);
  assert.deepEqual(
    passkeys.map(({ name }) => name),
    ['Key'],
  );
  assert.equal((await session.get(`${PORTAL}/session`)).status, 200);
  assertRefused(await other.get(`${PORTAL}/session`), 401, 'unauthenticated');
  assertRefused(await readLink(env, reset), 404, 'not_found');
  const { rows } = await sql`select from devices`.execute(env.db);
  assert.equal(rows.length, 0);
  const signedIn = await signIn(env, { email, password: OWN, code: rightCode() });
  assert.deepEqual(signedIn.body, { data: { signed_in: true } });
});

test('a reset ends a sign-in and a passkey that are under way', async (t) => {
  const env = await withOther(t);
  const email = 'ada@example.net';
  await addPerson(env, email);
  const thief = sessionOf(env, await signIn(env, { email }));
  const begun = await thief.post(`${PORTAL}/account/passkeys/options`, { password: PASSWORD });
  const credential = new SoftwareAuthenticator(ORIGIN).register(challengeIn(begun));
  const reset = await RESET(env, email);
  const release = await hold(t, env, (tx) =>
    sql`lock table passkeys, sessions in share mode`.execute(tx),
  );
  // Both have proven what they must, and wait to write.
  const late = [
    thief.post(`${PORTAL}/account/passkeys`, { name: 'Key', credential }),
    signIn(env, { email }),
  ] as const;
  await waiting(env, 2);
  const accepted = acceptLink(env, { token: reset, password: OWN });
  await waiting(env, 3);
  await release();
  assert.equal((await accepted).status, 200);
  await late[0];
  const { rows } = await sql`select from passkeys`.execute(env.db);
  assert.equal(rows.length, 0);
  const reply = await late[1];
  if (reply.status === 200) {
    assertRefused(await sessionOf(env, reply).get(`${PORTAL}/session`), 401, 'unauthenticated');
  } else assert.equal(reply.status, 401);
  assertRefused(await thief.get(`${PORTAL}/session`), 401, 'unauthenticated');
});
