import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { sql } from 'kysely';
import { SAME_SITE } from '@portcullis/control/accounts/testing.ts';
import { listen } from '@portcullis/control/db/listen.ts';
import { assertRefused } from '@portcullis/control/testing/client.ts';
import { tokenOf } from '@portcullis/control/testing/people.ts';
import { startWithLateBodies } from './late-body.ts';
import { hold, idOf, PORTAL, start, waiting } from './testing.ts';

const ACME = `${PORTAL}/organisations/acme`;
const ADMIN = { cookie: `__Host-portcullis=${tokenOf('admin')}`, ...SAME_SITE };
const RULES = '/api/v1/firewall/ips/203.0.113.77/rules';
const RULE = JSON.stringify({ action: 'allow', protocol: 'any' });

test('a removed member and a revoked key make nothing with requests that they opened before', async (t) => {
  const env = await startWithLateBodies(t);
  const { acme, db, open } = env;
  const bodies = {
    keys: JSON.stringify({ name: 'survivor', abilities: ['firewall.manage'] }),
    invitations: JSON.stringify({ email: 'eve@example.net', role: 'member' }),
  };
  const key = { authorization: acme.authorization ?? '' };
  const byKeys = await open('POST', `${ACME}/keys`, ADMIN, bodies.keys.length);
  const byLinks = await open('POST', `${ACME}/invitations`, ADMIN, bodies.invitations.length);
  const byRules = await open('POST', RULES, key, RULE.length);
  const { rows } = await sql<{ id: number }>`
    select min(id) as id from api_keys where organisation_id = 1`.execute(db);
  const owner = env.session('owner');
  const admin = await idOf(env, 'admin@acme.example');
  assert.equal((await owner.send('DELETE', `${ACME}/members/${admin}`)).status, 200);
  assert.equal((await owner.send('DELETE', `${ACME}/keys/${rows[0]?.id}`)).status, 200);
  const replies = [
    await byKeys.send(bodies.keys),
    await byLinks.send(bodies.invitations),
    await byRules.send(RULE),
  ];
  assert.deepEqual(
    replies.map(({ status }) => status),
    [404, 404, 401],
  );
  const found = await sql<Record<string, number>>`
    select (select count(*)::int from api_keys where name = 'survivor') as keys,
           (select count(*)::int from portal_links) as links, (select count(*)::int from rules) as rules`.execute(
    db,
  );
  assert.deepEqual(found.rows, [{ keys: 0, links: 0, rules: 0 }]);
});

test('a stored answer is not given again to a key that was revoked meanwhile', async (t) => {
  const env = await startWithLateBodies(t);
  const { acme, db, open } = env;
  const key = { authorization: acme.authorization ?? '', 'idempotency-key': 'once' };
  const first = await acme.send('POST', RULES, {
    raw: RULE,
    headers: { 'idempotency-key': 'once' },
  });
  assert.equal(first.status, 201, first.text);
  const again = await open('POST', RULES, key, RULE.length);
  assert.match((await again.send(RULE)).text, /idempotency-replayed: true/i);
  const late = await open('POST', RULES, key, RULE.length);
  await sql`update api_keys set revoked_at = now()`.execute(db);
  assert.equal((await late.send(RULE)).status, 401);
});

test('the answer to a revocation waits for writes that began before it, and those that come later are refused', async (t) => {
  const env = await start(t);
  const { acme, db } = env;
  const release = await hold(t, env, (tx) => sql`lock table rules in share mode`.execute(tx));
  const order: string[] = [];
  const write = acme.post(RULES, JSON.parse(RULE)).then((reply) => {
    order.push('written');
    return reply;
  });
  await waiting(env, 1);
  const { rows } = await sql<{ id: number }>`
    select min(id) as id from api_keys where organisation_id = 1`.execute(db);
  const revoking = env
    .session('owner')
    .send('DELETE', `${ACME}/keys/${rows[0]?.id}`)
    .then((reply) => {
      order.push('revoked');
      return reply;
    });
  await waiting(env, 2);
  env.access.forget();
  assertRefused(await acme.get('/api/x1/caller'), 401, 'unauthenticated');
  assert.deepEqual(order, []);
  await release();
  assert.equal((await write).status, 201);
  assert.equal((await revoking).status, 200);
});

/** Changes of a key that nothing but the database sees. */
const CHANGES = {
  'is suspended': sql`update api_keys set suspended_at = now()`,
  'is bound to less': sql`update api_keys set prefixes = '{203.0.113.0/28}'`,
  'has another secret': sql`update api_keys set secret_hash = sha256(secret_hash)`,
  'expires in a second': sql`update api_keys set expires_at = now() + interval '1 second'`,
} as const;

for (const [name, change] of Object.entries(CHANGES)) {
  test(`a stream ends when its key ${name}`, async (t) => {
    const env = await start(t);
    const { access, acme, databaseUrl, db, url } = env;
    const listening = Promise.withResolvers<void>();
    const listener = listen(databaseUrl, ['portcullis_access'], () => {
      access.forget();
      listening.resolve();
    });
    t.after(() => listener.stop());
    await listening.promise;
    const request = get(`${url}/api/x1/events`, {
      headers: { authorization: acme.authorization ?? '' },
      agent: false,
    });
    request.on('error', () => {});
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    const begunMs = performance.now();
    await change.execute(db);
    response.resume();
    await once(response, 'close');
    // Without the change being noticed, it is looked at after 15 s.
    assert.ok(performance.now() - begunMs < 12_000);
  });
}
