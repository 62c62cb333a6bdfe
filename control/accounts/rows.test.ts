import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  Endpoint,
  OperatorEndpoint,
  PortalEndpoint,
  Row,
} from '@portcullis/contract/endpoint.ts';
import { ROLES } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS } from '@portcullis/contract/endpoints.ts';
import { OPERATOR_ENDPOINTS } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS } from '@portcullis/contract/x1-endpoints.ts';
import { assertRefused, type TestReply } from '../testing/client.ts';
import { startEnvironment, type TestEnvironment } from '../testing/fixture.ts';
import { PEOPLE, type TestPerson, tokenOf } from '../testing/people.ts';
import { SAME_SITE } from './testing.ts';

/** Every row that takes a session: the portal's own, and those for keys below the organisation. */
const ALL: readonly {
  readonly prefix: string;
  readonly row: PortalEndpoint | OperatorEndpoint | Endpoint;
}[] = [
  ...PORTAL_ENDPOINTS.map((row) => ({ prefix: '/api/portal', row })),
  ...OPERATOR_ENDPOINTS.map((row) => ({ prefix: '/api/portal/operator', row })),
  ...ENDPOINTS.map((row) => ({ prefix: '/api/portal/organisations/{organisation}/v1', row })),
  ...X1_ENDPOINTS.map((row) => ({ prefix: '/api/portal/organisations/{organisation}/x1', row })),
];

/** A stream never ends, so it is tested where it is read. */
const ROWS = ALL.filter(({ row }) => (row as Row).stream !== true);

/** They end what the test stands on; tested beside their handlers. */
const ENDING = new Set(['signOut', 'stopActing']);
const NEEDS_SESSION = ROWS.filter(({ row }) => !('role' in row) || row.role !== 'anyone');

function pathOf({ prefix, row }: (typeof ROWS)[number], organisation: string): string {
  // Ids that nobody has, so that an allowed request changes nothing.
  const values: Record<string, string> = { organisation, ip: '203.0.113.1', slice: NO_SERVER };
  return (prefix + row.path).replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '999999');
}
const NO_SERVER = '00000000-0000-4000-8000-000000000000';

function send(
  env: TestEnvironment,
  entry: (typeof ROWS)[number],
  { as, organisation = 'acme', marks = SAME_SITE }: Sending,
): Promise<TestReply> {
  const { row }: { row: Row } = entry;
  const cookie = as === null ? {} : { cookie: `__Host-portcullis=${tokenOf(as)}` };
  return env.anonymous().send(row.method, pathOf(entry, organisation), {
    headers: { ...cookie, ...marks },
    ...(row.body !== undefined && { json: {} }),
  });
}

interface Sending {
  readonly as: TestPerson | null;
  readonly organisation?: string;
  readonly marks?: Readonly<Record<string, string>>;
}

/** The refusal that the row says; null: it lets the person in. */
function refusalOf({ prefix, row }: (typeof ROWS)[number], as: TestPerson): string | null {
  const isOperator = as === 'operator' || as === 'acting';
  if ('role' in row && (row.role === 'anyone' || row.role === 'user')) return null;
  if ('operator' in row || ('role' in row && row.role === 'operator')) {
    return isOperator ? null : '403 role_missing';
  }
  assert.match(prefix + row.path, /\{organisation\}/);
  if (as === 'operator' || as === 'stranger') return '404 not_found';
  const rank = as === 'acting' ? ROLES.length : ROLES.indexOf(as);
  if (!('role' in row)) {
    if (row.ability === 'game-servers.create') {
      return rank < ROLES.indexOf('owner') ? '403 ability_missing' : null;
    }
    const isForMembers = /\.(?:manage|files|settings)$/.test(row.ability ?? '');
    return isForMembers && rank < 1 ? '403 ability_missing' : null;
  }
  assert.ok(row.role !== 'operator' && row.role !== 'user' && row.role !== 'anyone');
  return rank < ROLES.indexOf(row.role) ? '403 role_missing' : null;
}

function outcome(reply: TestReply): string {
  return `${reply.status} ${Reflect.get(Object(reply.body), 'code')}`;
}

const NO_ORGANISATION = /There is no organisation of this name/;

test('each row lets in exactly the people that it says', async (t) => {
  const env = await startEnvironment(t);
  for (const entry of ROWS) {
    for (const as of PEOPLE) {
      const expected = refusalOf(entry, as);
      if (expected === null && ENDING.has(entry.row.operationId)) continue;
      const reply = await send(env, entry, { as });
      const what = `${entry.row.operationId} as ${as}: ${reply.text}`;
      assert.equal(reply.headers.get('location'), null, what);
      if (expected !== null) {
        assert.equal(outcome(reply), expected, what);
        assert.equal(NO_ORGANISATION.test(reply.text), expected.startsWith('404'), what);
        continue;
      }
      assert.doesNotMatch(
        outcome(reply),
        /role_missing|ability_missing|cross_site|area_not|5\d\d/,
        what,
      );
      assert.doesNotMatch(reply.text, NO_ORGANISATION, what);
      if ('role' in entry.row && entry.row.role === 'anyone') continue;
      assert.notEqual(reply.status, 401, what);
    }
  }
});

test('each row with a session is 401 without one, and with a wrong one', async (t) => {
  const config = {
    listen: { host: '127.0.0.1', port: 0 },
    publicUrl: 'https://portcullis.example',
    trustedProxies: ['127.0.0.1'],
    tls: null,
    metrics: null,
  };
  const env = await startEnvironment(t, { config });
  for (const [at, entry] of NEEDS_SESSION.entries()) {
    assertRefused(await send(env, entry, { as: null }), 401, 'unauthenticated');
    const cookie = `__Host-portcullis=${'x'.repeat(43)}; portcullis=${tokenOf('owner')}`;
    // One source would be slowed down.
    const marks = { ...SAME_SITE, cookie, 'x-forwarded-for': `192.0.2.${at}` };
    const wrong = await send(env, entry, { as: null, marks });
    assertRefused(wrong, 401, 'unauthenticated');
  }
});

test('each row that is no GET refuses what no page of the portal sent', async (t) => {
  const env = await startEnvironment(t);
  for (const entry of ROWS.filter(({ row }) => row.method !== 'GET')) {
    const marks = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none', 'x-portcullis-csrf': '0' },
    ];
    for (const mark of marks) {
      const reply = await send(env, entry, { as: 'acting', marks: mark });
      assertRefused(reply, 403, 'cross_site_request');
    }
    if (ENDING.has(entry.row.operationId)) continue;
    const reply = await send(env, entry, { as: 'acting', marks: { 'x-portcullis-csrf': '1' } });
    assert.doesNotMatch(reply.text, /cross_site_request/);
  }
});

test('each row of an organisation is 404 in another one, for every role', async (t) => {
  const env = await startEnvironment(t);
  for (const entry of NEEDS_SESSION) {
    // An operator names any organisation, and needs no role in it.
    if ('operator' in entry.row) continue;
    if (!(entry.prefix + entry.row.path).includes('{organisation}')) continue;
    for (const as of PEOPLE) {
      for (const organisation of ['other', 'nothing']) {
        const reply = await send(env, entry, { as, organisation });
        assertRefused(reply, 404, 'not_found');
        assert.match(reply.text, NO_ORGANISATION);
      }
    }
  }
});

test('a key opens no row of the portal, and a session none for keys', async (t) => {
  const env = await startEnvironment(t);
  assertRefused(await env.acme.get('/api/portal/session'), 401, 'unauthenticated');
  assertRefused(await env.session('owner').get('/api/v1/game-servers'), 401, 'unauthenticated');
});
