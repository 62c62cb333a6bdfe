import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertRefused,
  createSessionClient,
  type TestClient,
  type TestReply,
} from '../../testing/client.ts';
import { startEnvironment, type TestEnvironment } from '../../testing/fixture.ts';
import { SoftwareAuthenticator } from './authenticator-testing.ts';
import { addPerson, PASSWORD, SAME_SITE, signIn, tokenIn } from '../testing.ts';

const ORIGIN = 'https://portcullis.example';
const EMAIL = 'ada@example.net';

function challengeIn(reply: TestReply): { challenge: string } {
  assert.equal(reply.status, 200, reply.text);
  return (reply.body as { data: { challenge: string } }).data;
}

async function signedIn(env: TestEnvironment): Promise<TestClient> {
  await addPerson(env, EMAIL);
  return createSessionClient(env.url, tokenIn(await signIn(env, { email: EMAIL })));
}

async function addTo(
  session: TestClient,
  authenticator: SoftwareAuthenticator,
): Promise<TestReply> {
  const options = await session.post('/api/portal/account/passkeys/options', {
    password: PASSWORD,
  });
  const credential = authenticator.register(challengeIn(options));
  return session.post('/api/portal/account/passkeys', { name: 'Laptop', credential });
}

function post(env: TestEnvironment, path: string, json?: object): Promise<TestReply> {
  return env.anonymous().send('POST', path, { headers: SAME_SITE, ...(json && { json }) });
}

async function begin(env: TestEnvironment): Promise<{ challenge: string }> {
  return challengeIn(await post(env, '/api/portal/sign-in/passkey/options'));
}

function finish(env: TestEnvironment, credential: object): Promise<TestReply> {
  return post(env, '/api/portal/sign-in/passkey', { credential });
}

test('a passkey signs in by itself, with each challenge once, until it is deleted', async (t) => {
  const env = await startEnvironment(t);
  const session = await signedIn(env);
  const authenticator = new SoftwareAuthenticator(ORIGIN);
  const added = await addTo(session, authenticator);
  assert.equal(added.status, 201, added.text);
  const answer = authenticator.authenticate(await begin(env));
  const reply = await finish(env, answer);
  assert.equal(reply.status, 200, reply.text);
  const who = await createSessionClient(env.url, tokenIn(reply)).get('/api/portal/session');
  assert.equal((who.body as { data: { email: string } }).data.email, EMAIL);
  assertRefused(await finish(env, answer), 401, 'unauthenticated');
  const account = (await session.get('/api/portal/account')).body as {
    data: { passkeys: { id: number; name: string }[] };
  };
  const [passkey] = account.data.passkeys;
  assert.equal(passkey?.name, 'Laptop');
  const path = `/api/portal/account/passkeys/${passkey?.id}`;
  assertRefused(await env.session('owner').send('DELETE', path), 404, 'not_found');
  assert.equal((await session.send('DELETE', path)).status, 200);
  const late = await finish(env, authenticator.authenticate(await begin(env)));
  assertRefused(late, 401, 'unauthenticated');
});

test('refuses a passkey of another origin, of an unverified user, of a stranger and of nonsense', async (t) => {
  const env = await startEnvironment(t);
  const session = await signedIn(env);
  const authenticator = new SoftwareAuthenticator(ORIGIN);
  await addTo(session, authenticator);
  const phished = await addTo(
    session,
    new SoftwareAuthenticator('https://portcullis.example.evil'),
  );
  assertRefused(phished, 422, 'invalid_request');
  const unverified = authenticator.authenticate(await begin(env), false);
  assertRefused(await finish(env, unverified), 401, 'unauthenticated');
  const stranger = new SoftwareAuthenticator(ORIGIN).authenticate(await begin(env));
  assertRefused(await finish(env, stranger), 401, 'unauthenticated');
  const invented = authenticator.authenticate({ challenge: 'bm90LW91cnM' });
  assertRefused(await finish(env, invented), 401, 'unauthenticated');
  for (const nonsense of [{}, { id: [1] }, { ...unverified, response: 'x' }]) {
    assertRefused(await finish(env, nonsense), 401, 'unauthenticated');
  }
});

test('a challenge to add a passkey belongs to the person who asked for it', async (t) => {
  const env = await startEnvironment(t);
  const session = await signedIn(env);
  const wrong = await session.post('/api/portal/account/passkeys/options', { password: 'wrong' });
  assertRefused(wrong, 422, 'invalid_request');
  const options = await session.post('/api/portal/account/passkeys/options', {
    password: PASSWORD,
  });
  const credential = new SoftwareAuthenticator(ORIGIN).register(challengeIn(options));
  const body = { name: 'Mine', credential };
  const stolen = await env.session('owner').post('/api/portal/account/passkeys', body);
  assertRefused(stolen, 422, 'invalid_request');
});
