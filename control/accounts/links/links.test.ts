import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, createSessionClient, type TestReply } from '../../testing/client.ts';
import { ACME, startEnvironment, type TestEnvironment } from '../../testing/fixture.ts';
import { createOperatorLink } from '../index.ts';
import { addPerson, PASSWORD, SAME_SITE, signIn, tokenIn } from '../testing.ts';

const INVITATIONS = '/api/portal/organisations/acme/invitations';
const ACTOR = { kind: 'operator', name: 'test', source: null, requestId: null } as const;

function tokenOfLink(reply: TestReply): string {
  assert.ok(reply.status < 300, reply.text);
  const { url } = (reply.body as { data: { url: string } }).data;
  return /^https:\/\/portcullis\.example\/link#([A-Za-z0-9_-]{43})$/.exec(url)?.[1] ?? '';
}

function accept(env: TestEnvironment, json: object): Promise<TestReply> {
  return env.anonymous().send('POST', '/api/portal/links/accept', { json, headers: SAME_SITE });
}

function read(env: TestEnvironment, token: string): Promise<TestReply> {
  return env
    .anonymous()
    .send('POST', '/api/portal/links/read', { json: { token }, headers: SAME_SITE });
}

async function roleOf(env: TestEnvironment, email: string): Promise<string | null> {
  const { rows } = await sql<{ role: string }>`
    select m.role from members m join people p on p.id = m.person_id
     where p.email = ${email} and m.organisation_id = ${ACME}`.execute(env.db);
  return rows[0]?.role ?? null;
}

test('an invitation makes an account with its role, once, also when it is sent twice at once', async (t) => {
  const env = await startEnvironment(t);
  const invited = { email: 'New@example.net', role: 'member' };
  const token = tokenOfLink(await env.session('admin').post(INVITATIONS, invited));
  const link = (await read(env, token)).body as { data: Record<string, unknown> };
  assert.deepEqual(
    [link.data['email'], link.data['organisation'], link.data['role'], link.data['has_account']],
    ['new@example.net', 'Acme Hosting', 'member', false],
  );
  assertRefused(await accept(env, { token, password: PASSWORD }), 422, 'invalid_request');
  assertRefused(
    await accept(env, { token, name: 'New', password: 'too short' }),
    422,
    'invalid_request',
  );
  const common = await accept(env, { token, name: 'New', password: 'PasswordPassword' });
  assertRefused(common, 422, 'invalid_request');
  assert.match(common.text, /a common password or close to one/);
  const acceptance = { token, name: 'New', password: PASSWORD };
  const replies = await Promise.all([accept(env, acceptance), accept(env, acceptance)]);
  assert.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 404],
  );
  assertRefused(await accept(env, acceptance), 404, 'not_found');
  assertRefused(await read(env, token), 404, 'not_found');
  assert.equal(await roleOf(env, 'new@example.net'), 'member');
  assert.equal((await signIn(env, { email: 'new@example.net' })).status, 200);
});

test('an account that is there joins with its own password, which an invitation does not change', async (t) => {
  const env = await startEnvironment(t);
  await addPerson(env, 'ada@example.net');
  const invited = { email: 'ada@example.net', role: 'read-only' };
  const token = tokenOfLink(await env.session('admin').post(INVITATIONS, invited));
  const stolen = { token, name: 'Eve', password: 'password of the inviter' };
  assertRefused(await accept(env, stolen), 401, 'unauthenticated');
  assert.equal(await roleOf(env, 'ada@example.net'), null);
  assert.equal((await accept(env, { token, password: PASSWORD })).status, 200);
  assert.equal(await roleOf(env, 'ada@example.net'), 'read-only');
});

test('an invitation expires, can be withdrawn, and gives no role above the inviter’s', async (t) => {
  const env = await startEnvironment(t);
  const admin = env.session('admin');
  for (const role of ['admin', 'owner']) {
    const refused = await admin.post(INVITATIONS, { email: 'x@example.net', role });
    assertRefused(refused, 403, 'role_missing');
  }
  const invited = { email: 'x@example.net', role: 'member' };
  const first = tokenOfLink(await admin.post(INVITATIONS, invited));
  const second = tokenOfLink(await admin.post(INVITATIONS, invited));
  assertRefused(await read(env, first), 404, 'not_found');
  const members = (await admin.get('/api/portal/organisations/acme/members')).body as {
    data: { invitations: { id: number }[] };
  };
  const path = `${INVITATIONS}/${members.data.invitations[0]?.id}`;
  assert.equal((await admin.send('DELETE', path)).status, 200);
  assertRefused(await read(env, second), 404, 'not_found');
  const third = tokenOfLink(await admin.post(INVITATIONS, invited));
  await sql`update portal_links set expires_at = now() - interval '1 second'`.execute(env.db);
  assertRefused(
    await accept(env, { token: third, name: 'X', password: PASSWORD }),
    404,
    'not_found',
  );
});

test('an operator sees links that nobody used and withdraws one', async (t) => {
  const env = await startEnvironment(t);
  const operator = env.session('operator');
  const invitation = { email: 'x@example.net', organisation: null, role: null };
  const token = tokenOfLink(await operator.post('/api/portal/operator/invitations', invitation));
  const list = async () =>
    ((await operator.get('/api/portal/operator/links')).body as { data: Record<string, unknown>[] })
      .data;
  const [link, ...others] = await list();
  const { id, expires_at: expiresAt, created_by: by, ...rest } = link ?? {};
  assert.deepEqual(rest, { ...invitation, kind: 'invitation' });
  assert.deepEqual([others, typeof expiresAt, typeof by], [[], 'string', 'string']);
  const path = `/api/portal/operator/links/${String(id)}`;
  assertRefused(await env.session('owner').send('DELETE', path), 403, 'role_missing');
  assert.equal((await operator.send('DELETE', path)).status, 200);
  assertRefused(await read(env, token), 404, 'not_found');
  assertRefused(await operator.send('DELETE', path), 404, 'not_found');
  assert.deepEqual(await list(), []);
});

test('administrators decide about members and readers, owners about all, and one owner stays', async (t) => {
  const env = await startEnvironment(t);
  const { rows } = await sql<{ id: number; name: string }>`select id, name from people`.execute(
    env.db,
  );
  const path = (name: string) =>
    `/api/portal/organisations/acme/members/${rows.find((row) => row.name === name)?.id}`;
  const admin = env.session('admin');
  const owner = env.session('owner');
  assertRefused(await admin.put(path('owner'), { role: 'member' }), 403, 'role_missing');
  assertRefused(await admin.put(path('member'), { role: 'admin' }), 403, 'role_missing');
  assertRefused(await admin.send('DELETE', path('admin')), 403, 'role_missing');
  assertRefused(await admin.put(path('stranger'), { role: 'member' }), 404, 'not_found');
  assert.equal((await admin.put(path('read-only'), { role: 'member' })).status, 200);
  assertRefused(await owner.put(path('owner'), { role: 'admin' }), 422, 'invalid_request');
  assertRefused(await owner.send('DELETE', path('owner')), 422, 'invalid_request');
  assert.equal((await owner.put(path('admin'), { role: 'owner' })).status, 200);
  assert.equal((await owner.send('DELETE', path('owner'))).status, 200);
  assertRefused(await owner.get('/api/portal/organisations/acme/members'), 404, 'not_found');
});

test('a reset link sets the password, turns the app off and ends all sessions', async (t) => {
  const env = await startEnvironment(t);
  const id = await addPerson(env, 'ada@example.net');
  const session = createSessionClient(
    env.url,
    tokenIn(await signIn(env, { email: 'ada@example.net' })),
  );
  const token = tokenOfLink(
    await env.session('operator').send('POST', `/api/portal/operator/people/${id}/reset`),
  );
  assert.equal((await accept(env, { token, password: 'another long password' })).status, 200);
  assertRefused(await session.get('/api/portal/session'), 401, 'unauthenticated');
  assert.equal((await signIn(env, { email: 'ada@example.net' })).status, 401);
  const renewed = await signIn(env, {
    email: 'ada@example.net',
    password: 'another long password',
  });
  assert.equal(renewed.status, 200);
  assertRefused(await accept(env, { token, password: PASSWORD }), 404, 'not_found');
});

test('the link of a first start makes an operator, who acts for an organisation only when it says so', async (t) => {
  const env = await startEnvironment(t);
  const publicUrl = 'https://portcullis.example';
  const { url } = await env.db
    .transaction()
    .execute((tx) => createOperatorLink(tx, { actor: ACTOR, publicUrl }));
  const token = url.split('#')[1] ?? '';
  const email = 'op@example.net';
  assert.equal((await accept(env, { token, email, name: 'Op', password: PASSWORD })).status, 200);
  const operator = createSessionClient(env.url, tokenIn(await signIn(env, { email })));
  const servers = '/api/portal/organisations/acme/v1/game-servers';
  assertRefused(await operator.get(servers), 404, 'not_found');
  assert.equal(
    (await operator.put('/api/portal/operator/acting', { organisation: 'acme' })).status,
    200,
  );
  const who = (await operator.get('/api/portal/session')).body as { data: Record<string, unknown> };
  assert.equal(who.data['acting_for'], 'acme');
  assert.equal((await operator.get(servers)).status, 200);
  const rule = { action: 'allow', protocol: 'tcp', destination_port: '25565' };
  const rules = '/api/portal/organisations/acme/v1/firewall/ips/203.0.113.1/rules';
  const written = await operator.post(rules, rule);
  assert.equal(written.status, 201, written.text);
  assert.equal((await operator.send('DELETE', '/api/portal/operator/acting')).status, 200);
  assertRefused(await operator.get(servers), 404, 'not_found');
  const { rows } = await sql`
    select actor_kind, actor, action from audit where organisation_id = ${ACME} order by id`.execute(
    env.db,
  );
  assert.deepEqual(rows.slice(-3), [
    { actor_kind: 'operator', actor: email, action: 'acting.begin' },
    { actor_kind: 'operator', actor: email, action: 'rule.create' },
    { actor_kind: 'operator', actor: email, action: 'acting.end' },
  ]);
});

test('a disabled person is signed out at once, and nobody disables itself', async (t) => {
  const env = await startEnvironment(t);
  const id = await addPerson(env, 'ada@example.net');
  const session = createSessionClient(
    env.url,
    tokenIn(await signIn(env, { email: 'ada@example.net' })),
  );
  const operator = env.session('operator');
  const change = { operator: false, disabled: true };
  assert.equal((await operator.put(`/api/portal/operator/people/${id}`, change)).status, 200);
  assertRefused(await session.get('/api/portal/session'), 401, 'unauthenticated');
  const who = (await operator.get('/api/portal/session')).body as { data: { id: number } };
  const self = await operator.put(`/api/portal/operator/people/${who.data.id}`, change);
  assertRefused(self, 422, 'invalid_request');
});
