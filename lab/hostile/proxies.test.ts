import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addPerson, SAME_SITE, signIn } from '@portcullis/control/accounts/testing.ts';
import type { HttpConfig } from '@portcullis/control/http/server/config.ts';
import { createRateLimiter } from '@portcullis/control/http/operations/rate-limit.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';

const EMAIL = 'ada@example.net';

/** Control behind a proxy on this host, which is trusted or not. */
function behindProxy(t: TestContext, trustedProxies: readonly string[]): Promise<TestEnvironment> {
  const config: HttpConfig = {
    listen: { host: '127.0.0.1', port: 0 },
    publicUrl: 'https://portcullis.example',
    trustedProxies,
    tls: null,
    metrics: { host: '127.0.0.1', port: 0 },
  };
  return startEnvironment(t, { config, rateLimiter: createRateLimiter() });
}

/** A request that anyone may send, as the proxy passes it on. */
async function guess({ anonymous }: TestEnvironment, from: string): Promise<number> {
  const reply = await anonymous().send('POST', '/api/portal/links/read', {
    json: { token: 'x'.repeat(43) },
    headers: { ...SAME_SITE, 'x-forwarded-for': from },
  });
  return reply.status;
}

test('strangers behind a trusted proxy lock nobody out, each at its own limit', async (t) => {
  const env = await behindProxy(t, ['127.0.0.0/8']);
  await addPerson(env, EMAIL);
  let status = 0;
  let sent = 0;
  for (; status !== 429 && sent < 500; sent += 1) status = await guess(env, '198.51.100.7');
  assert.equal(status, 429, `${sent} requests of one stranger`);
  for (let host = 1; host <= 80; host += 1) await guess(env, `203.0.113.${host}`);
  const signedIn = await signIn(env, { email: EMAIL }, { 'x-forwarded-for': '192.0.2.55' });
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body));
  assert.doesNotMatch(env.logged(), /no trusted proxy/);
});

test('a proxy that nobody named is in the log once and in the readiness for the operator', async (t) => {
  const env = await behindProxy(t, []);
  const full = env.metricsUrl.replace('/metrics', '/readyz');
  const hintOf = async (url: string): Promise<unknown> =>
    ((await (await fetch(url)).json()) as { readonly hint?: unknown }).hint;
  assert.equal(await hintOf(full), null);
  assert.match(env.logged(), /public URL is https.*--trusted-proxy/);
  for (let host = 1; host <= 20; host += 1) await guess(env, `203.0.113.${host}`);
  const warnings = env.logged().match(/no trusted proxy, and was ignored/g) ?? [];
  assert.equal(warnings.length, 1);
  assert.match(String(await hintOf(full)), /from 127\.0\.0\.1.*--trusted-proxy 127\.0\.0\.1/);
  const everybody = await fetch(`${env.url}/readyz`);
  assert.doesNotMatch(await everybody.text(), /127\.0\.0\.1/);
});
