import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperationId } from '@portcullis/contract/operation-types.ts';
import { PORTAL_ENDPOINTS } from '@portcullis/contract/portal-endpoints.ts';
import type { Caller, Guest, Key, Member, OperatorKey, Person } from '../../access/index.ts';
import { Problem } from '../../problem.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { bindOperations, type CallOf, type Handlers } from './handlers.ts';
import type { AddressCall, CallerCall } from './operation.ts';
import { parsePathParams } from './path-params.ts';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type By<Id extends OperationId> = CallOf<Id>['by'];
type Params<Id extends OperationId> = CallOf<Id>['params'];

/** The compiler checks them. */
const TYPES = [
  true satisfies Same<By<'readFirewallAddress'>, Key | Member | Guest>,
  true satisfies Same<By<'readAttack'>, Caller>,
  true satisfies Same<By<'listMembers'>, Member>,
  true satisfies Same<By<'readSession'>, Person>,
  true satisfies Same<By<'changePerson'>, Person>,
  true satisfies Same<By<'signIn'>, null>,
  true satisfies Same<By<'saveOrganisation'>, OperatorKey | Person>,
  true satisfies Same<Params<'readFirewallAddress'>, { readonly ip: string }>,
  true satisfies Same<Params<'readGameServer'>, { readonly slice: string }>,
  true satisfies Same<Params<'readAttack'>, { readonly attack: number }>,
  true satisfies Same<Params<'revokeKey'>, { readonly key: number; readonly organisation: string }>,
  true satisfies Same<
    Params<'saveGroup'>,
    { readonly organisation: string; readonly group: number }
  >,
];

/** Handlers that read what their row does not have; none of them is called. */
const WRONG: Partial<Handlers> = {
  async listGameServers(call) {
    // @ts-expect-error: its path has no address.
    return { status: 200, body: { data: call.params.ip } };
  },
  async readOrganisation(call) {
    // @ts-expect-error: an operator calls it, of no organisation.
    return { status: 200, body: { data: call.by.organisationId } };
  },
  async readAccount({ by }) {
    // @ts-expect-error: a person calls it, outside of organisations.
    return { status: 200, body: { data: by.role } };
  },
  async listKeys({ by }) {
    // @ts-expect-error: no key may call it.
    return { status: 200, body: { data: by.keyId } };
  },
  async signIn({ by }) {
    // @ts-expect-error: nobody has signed in yet.
    return { status: 200, body: { data: by.id } };
  },
};

/** Calls for functions that several handlers share. */
const SHARED = {
  address: (call: CallOf<'replaceAddress'>): AddressCall => call,
  portal: (call: CallOf<'undoChange'>): AddressCall => call,
  // @ts-expect-error: it is not about an address.
  server: (call: CallOf<'readGameServer'>): AddressCall => call,
  // @ts-expect-error: an operator is no caller of an organisation.
  operator: (call: CallOf<'createServer'>): CallerCall => call,
};

test('a call has the sender and the parameters of its row, and no other', () => {
  assert.ok(TYPES.every(Boolean) && Object.keys({ ...WRONG, ...SHARED }).length > 0);
});

test('rows of the portal name the organisation in their path if and only if a member calls them', () => {
  for (const { role, path, operationId } of PORTAL_ENDPOINTS) {
    const isOfMember = role !== 'anyone' && role !== 'user' && role !== 'operator';
    assert.equal(path.includes('{organisation}'), isOfMember, operationId);
  }
});

const ROWS = bindOperations({} as Handlers);

function parse(operationId: OperationId, sent: Readonly<Record<string, string>>): unknown {
  const found = ROWS.find(({ row }) => row.operationId === operationId);
  try {
    return parsePathParams(found?.row ?? assert.fail(operationId), sent);
  } catch (error) {
    return error instanceof Problem ? `${error.code}: ${error.detail}` : error;
  }
}

test('parses the parameters of a path into their one spelling', () => {
  const slice = '6F1C2F1E-6B3A-4B0E-9A55-0A4F4F8F3C11';
  assert.deepEqual(parse('readFirewallAddress', { ip: '2001:DB8::0:1' }), { ip: '2001:db8::1' });
  assert.deepEqual(parse('readGameServer', { slice }), { slice: slice.toLowerCase() });
  assert.deepEqual(parse('readAttack', { attack: '311' }), { attack: 311 });
  assert.deepEqual(parse('saveAsn', { asn: '4294967295' }), { asn: 4_294_967_295 });
  // A session's path has the organisation too, which the row does not describe.
  assert.deepEqual(parse('listGameServers', { organisation: 'acme' }), {});
});

test('a parameter that can name nothing is not found, with the words of one that does not exist', () => {
  const bad = ['', '0', '01', '-1', '1.0', '1e3', '+1', ' 1', '1234567890123456', 'x', '\u0661'];
  const attack = 'not_found: No such attack among those this key may see.';
  for (const text of bad) {
    assert.ok(String(parse('readAttack', { attack: text })).startsWith(attack), text);
    assert.equal(
      parse('revokeKey', { organisation: 'acme', key: text }),
      `not_found: There is no key "${text}".`,
    );
    assert.equal(
      parse('changePerson', { person: text }),
      'not_found: There is nothing with this id that you may see.',
    );
  }
  assert.equal(parse('saveAsn', { asn: '4294967296' }), 'not_found: There is no ASN "4294967296".');
  assert.match(
    String(parse('readFirewallAddress', { ip: '203.0.113.1/32' })),
    /^not_found: No such/,
  );
  assert.match(String(parse('readGameServer', { slice: `{${'0'.repeat(36)}}` })), /^not_found: No/);
});

test('every row describes parameters that the one parser knows', () => {
  for (const { row } of ROWS) {
    for (const [name, schema] of Object.entries(row.params ?? {})) {
      const { type } = schema as { readonly type?: unknown };
      assert.ok(type === 'string' || type === 'integer', `${row.operationId} ${name}`);
    }
  }
});

test('a path that can name nothing is 404 on every way to a row, also with a body that is wrong', async (t) => {
  const { acme, session } = await startEnvironment(t);
  const wrong = { json: { nothing: 'of this kind' } };
  for (const [client, method, path] of [
    [acme, 'POST', '/api/v1/firewall/ips/203.0.113.1.1/rules'],
    [acme, 'POST', '/api/v1/game-servers/x/power'],
    [acme, 'POST', '/api/x1/attacks/0/accept'],
    [session('owner'), 'POST', '/api/portal/organisations/acme/v1/firewall/ips/x/rules'],
    [session('owner'), 'PUT', '/api/portal/organisations/acme/groups/x'],
    [session('operator'), 'PUT', '/api/portal/operator/people/x'],
    [session('operator'), 'PUT', '/api/portal/operator/organisations/acme/services/x'],
  ] as const) {
    const reply = await client.send(method, path, wrong);
    assert.equal(reply.status, 404, `${path}: ${reply.text}`);
  }
});
