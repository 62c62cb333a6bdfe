import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { createSessionClient } from '../testing/client.ts';
import { createRateLimiter } from '../http/operations/rate-limit.ts';
import { ACME, startEnvironment } from '../testing/fixture.ts';
import { addPerson, signIn, tokenIn } from './testing.ts';

const RULES = '/api/portal/organisations/acme/v1/firewall/ips/203.0.113.1/rules';
const RULE = { action: 'allow', protocol: 'tcp', destination_port: '25565' };

test('a person writes by the rows for keys: same answer, once for an Idempotency-Key, under its own name', async (t) => {
  const env = await startEnvironment(t);
  const member = env.session('member');
  const once = { 'idempotency-key': 'first' };
  const [first, again] = [
    await member.post(RULES, RULE, once),
    await member.post(RULES, RULE, once),
  ];
  assert.equal(first.status, 201, first.text);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(again.body, first.body);
  // The key of another person is another key.
  assert.equal((await env.session('admin').post(RULES, RULE, once)).status, 422);
  const { rows } = await sql`
    select actor_kind, actor, action from audit
     where organisation_id = ${ACME} and actor_kind <> 'system'`.execute(env.db);
  const actor = 'member@acme.example';
  assert.deepEqual(rows, [{ actor_kind: 'user', actor, action: 'rule.create' }]);
  const read = await env.acme.get('/api/x1/firewall/ips/203.0.113.1');
  assert.match(read.text, /25565/);
});

test('a flag closes an area for keys and not for people', async (t) => {
  const env = await startEnvironment(t);
  const id = await addPerson(env, 'ada@example.net');
  await sql`insert into members values (3, ${id}, 'read-only')`.execute(env.db);
  const session = createSessionClient(
    env.url,
    tokenIn(await signIn(env, { email: 'ada@example.net' })),
  );
  const attacks = await session.get('/api/portal/organisations/plain/v1/attacks');
  assert.equal(attacks.status, 200, attacks.text);
});

test('the limit of requests is that of the organisation, and of each person', async (t) => {
  const env = await startEnvironment(t, { rateLimiter: createRateLimiter() });
  await sql`update organisations set requests_per_minute = 2 where id = ${ACME}`.execute(env.db);
  const path = '/api/portal/organisations/acme/v1/game-servers';
  const statuses = [];
  for (let count = 0; count < 3; count++)
    statuses.push((await env.session('owner').get(path)).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  assert.equal((await env.session('member').get(path)).status, 200);
});

test('an operator, whose pages read many lists at once, may send what its key may', async (t) => {
  const env = await startEnvironment(t, { rateLimiter: createRateLimiter() });
  const { headers, text } = await env.session('operator').get('/api/portal/operator/fleet');
  assert.equal(headers.get('ratelimit-policy'), '"person";q=1000;w=10', text);
});

test('an address without a session may not sign in without end', async (t) => {
  const env = await startEnvironment(t, { rateLimiter: createRateLimiter() });
  // A code of one character is refused before any hashing. The limit refills by one a second.
  const attempt = (count: number) => signIn(env, { email: `guess${count}@example.net`, code: '1' });
  let status = 422;
  for (let count = 0; status === 422 && count < 1_000; count++) ({ status } = await attempt(count));
  assert.equal(status, 429);
});
