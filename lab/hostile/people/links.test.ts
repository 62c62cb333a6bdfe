import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { createKey } from '@portcullis/control/access/index.ts';
import { createOperatorLink } from '@portcullis/control/accounts/index.ts';
import { addPerson, PASSWORD } from '@portcullis/control/accounts/testing.ts';
import { createToken } from '@portcullis/control/operator/joining/tokens.ts';
import { insertEdge } from '@portcullis/control/fleet/testing.ts';
import {
  assertRefused,
  createTestClient,
  dataOf,
  type TestClient,
} from '@portcullis/control/testing/client.ts';
import type { TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import {
  acceptLink,
  actions,
  idOf,
  PORTAL,
  post,
  readLink,
  roleIn,
  start,
  tokenOfLink,
} from './testing.ts';

const ACTOR = { kind: 'system', name: 'test', source: null, requestId: null } as const;
const INVITATIONS = `${PORTAL}/organisations/acme/invitations`;
const MEMBERS = `${PORTAL}/organisations/acme/members`;

/** A second operator, with its session. */
async function secondOperator(env: TestEnvironment): Promise<TestClient> {
  await sql`update people set is_operator = true where email = 'stranger@acme.example'`.execute(
    env.db,
  );
  return env.session('stranger');
}

const NEW = { email: 'new@example.net', name: 'New', password: PASSWORD };

async function assertVoid(env: TestEnvironment, token: string): Promise<void> {
  assertRefused(await readLink(env, token), 404, 'not_found');
  const { name, password } = NEW;
  assertRefused(await acceptLink(env, { token, name, password }), 404, 'not_found');
  const { rows } = await sql`select from people where email = ${NEW.email}`.execute(env.db);
  assert.equal(rows.length, 0);
}

const OPERATOR_LINK = { email: NEW.email, organisation: null, role: null };

for (const [name, change] of [
  ['disabled', { operator: true, disabled: true }],
  ['demoted', { operator: false, disabled: false }],
] as const) {
  test(`links of an operator that was ${name} make no operator, and the audit trail says so`, async (t) => {
    const env = await start(t);
    const second = await secondOperator(env);
    const path = `${PORTAL}/operator/invitations`;
    const token = tokenOfLink(await second.post(path, OPERATOR_LINK));
    const person = `${PORTAL}/operator/people/${await idOf(env, 'stranger@acme.example')}`;
    const victim = await idOf(env, 'owner@acme.example');
    const reset = await second.send('POST', `${PORTAL}/operator/people/${victim}/reset`);
    assert.equal((await readLink(env, token)).status, 200);
    assert.equal((await env.session('operator').put(person, change)).status, 200);
    await assertVoid(env, token);
    assertRefused(await readLink(env, tokenOfLink(reset)), 404, 'not_found');
    assert.equal((await actions(env)).filter((action) => action === 'link.void').length, 2);
    const open = await env.session('operator').get(`${PORTAL}/operator/links`);
    assert.deepEqual(dataOf(open), []);
  });
}

test('links of a member that was removed or demoted give no role that it could not give now', async (t) => {
  const env = await start(t);
  const owner = env.session('owner');
  const admin = await idOf(env, 'admin@acme.example');
  const invite = async (role: string) =>
    tokenOfLink(await env.session('admin').post(INVITATIONS, { email: NEW.email, role }));
  const token = await invite('member');
  assert.equal((await owner.put(`${MEMBERS}/${admin}`, { role: 'member' })).status, 200);
  await assertVoid(env, token);
  await sql`update members set role = 'owner' where person_id = ${admin}`.execute(env.db);
  const ofOwner = await invite('owner');
  assert.equal((await owner.put(`${MEMBERS}/${admin}`, { role: 'admin' })).status, 200);
  await assertVoid(env, ofOwner);
  const still = await invite('member');
  await sql`update members set role = 'owner' where person_id = ${admin}`.execute(env.db);
  assert.equal((await owner.put(`${MEMBERS}/${admin}`, { role: 'admin' })).status, 200);
  assert.equal((await readLink(env, still)).status, 200);
  assert.equal((await owner.send('DELETE', `${MEMBERS}/${admin}`)).status, 200);
  await assertVoid(env, still);
  const members = dataOf<{ invitations: unknown[] }>(await owner.get(MEMBERS));
  assert.deepEqual(members.invitations, []);
  assert.equal((await actions(env)).filter((action) => action === 'link.void').length, 3);
});

test('a link is void however its maker lost the right, and good for one of the command line', async (t) => {
  const env = await start(t);
  const publicUrl = 'https://portcullis.example';
  const { url } = await env.db
    .transaction()
    .execute((tx) => createOperatorLink(tx, { actor: ACTOR, publicUrl }));
  const invited = { email: NEW.email, role: 'member' };
  const maker = 'admin@acme.example';
  const changes = [
    sql`update people set disabled_at = now() where email = ${maker}`,
    sql`update members set role = 'member' where person_id = (select id from people where email = ${maker})`,
    sql`delete from members where person_id = (select id from people where email = ${maker})`,
  ];
  const token = tokenOfLink(await env.session('admin').post(INVITATIONS, invited));
  const before = await readLink(env, token);
  assert.equal(before.status, 200);
  for (const change of changes) {
    await change.execute(env.db);
    await assertVoid(env, token);
    await sql`update people set disabled_at = null where email = ${maker}`.execute(env.db);
  }
  const ofShell = url.split('#')[1] ?? '';
  const accepted = await acceptLink(env, { token: ofShell, ...NEW });
  assert.equal(accepted.status, 200, accepted.text);
});

test('an invitation replaces none that another person made', async (t) => {
  const env = await start(t);
  const email = NEW.email;
  const ofOwner = tokenOfLink(
    await env.session('owner').post(INVITATIONS, { email, role: 'owner' }),
  );
  const path = `${PORTAL}/operator/people/${await idOf(env, 'owner@acme.example')}/reset`;
  const reset = tokenOfLink(await env.session('operator').send('POST', path));
  const invited = await env.session('admin').post(INVITATIONS, { email, role: 'member' });
  const second = await secondOperator(env);
  const others = [tokenOfLink(invited), tokenOfLink(await second.send('POST', path))];
  for (const token of [ofOwner, reset, ...others]) {
    assert.equal((await readLink(env, token)).status, 200);
  }
});

test('no invitation takes the last owner from an organisation', async (t) => {
  const env = await start(t);
  const email = 'ada@example.net';
  const id = await addPerson(env, email);
  await sql`update members set role = 'admin' where role = 'owner'`.execute(env.db);
  await sql`insert into members (organisation_id, person_id, role) values (1, ${id}, 'owner')`.execute(
    env.db,
  );
  const invited = await env.session('admin').post(INVITATIONS, { email, role: 'member' });
  const refused = await acceptLink(env, { token: tokenOfLink(invited), password: PASSWORD });
  assertRefused(refused, 422, 'invalid_request');
  assert.equal(await roleIn(env, email, 'acme'), 'owner');
});

interface Joining {
  readonly name: string;
  make(env: TestEnvironment): Promise<{ readonly command: string; end(): Promise<unknown> }>;
}

const JOIN = 'fleet/edges/fra1/join';

const WAYS: readonly Joining[] = [
  {
    name: 'an operator that was demoted',
    async make(env) {
      const second = await secondOperator(env);
      const made = await second.post(`${PORTAL}/operator/${JOIN}`, {});
      const path = `${PORTAL}/operator/people/${await idOf(env, 'stranger@acme.example')}`;
      const change = { operator: false, disabled: false };
      const end = () => env.session('operator').put(path, change);
      return { command: dataOf<{ command: string }>(made).command, end };
    },
  },
  {
    name: 'a key of the operator that was revoked',
    async make(env) {
      const abilities = ['operator.read', 'operator.manage'];
      const key = { organisationId: null, name: 'ops', abilities, owner: 'portal' } as const;
      const { id, secret } = await env.db.transaction().execute((tx) => createKey(tx, key, ACTOR));
      const client = createTestClient(env.url, `Bearer ${secret}`);
      const made = await client.post(`/api/operator/${JOIN}`, {});
      const end = () =>
        sql`update api_keys set revoked_at = now() where id = ${id}`.execute(env.db);
      return { command: dataOf<{ command: string }>(made).command, end };
    },
  },
];

for (const { name, make } of WAYS) {
  test(`a token of ${name} joins no host`, async (t) => {
    const env = await start(t);
    await insertEdge(env.db, 'fra1');
    const { command, end } = await make(env);
    await end();
    const token = command.split(' ').at(-1) ?? '';
    const refused = await post(env, '/agents/join', { kind: 'edge', token });
    assertRefused(refused, 401, 'unauthenticated');
    const ofShell = await env.db.transaction().execute((tx) => {
      const expiresAt = new Date(Date.now() + 60_000);
      const wanted = {
        agent: { kind: 'edge', name: 'fra1' },
        expiresAt,
        needsApproval: false,
      } as const;
      return createToken(tx, wanted, ACTOR);
    });
    const joined = await post(env, '/agents/join', { kind: 'edge', token: ofShell ?? '' });
    assert.equal(joined.status, 200, joined.text);
  });
}
