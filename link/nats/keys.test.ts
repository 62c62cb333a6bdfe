import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { accountClaims, agentClaims } from './claims.ts';
import { agentKey, NatsKey } from './keys.ts';
import { agentOf, isOwnInbox, subjectsOf } from './subjects.ts';

const ZERO = Buffer.alloc(32);

test('names keys as NATS does, with kind and checksum', () => {
  for (const [kind, letter] of [
    ['operator', 'O'],
    ['account', 'A'],
    ['user', 'U'],
  ] as const) {
    const { publicName } = new NatsKey(kind, ZERO);
    assert.match(publicName, new RegExp(`^${letter}[A-Z2-7]{55}$`));
  }
  assert.notEqual(agentKey('one').publicName, agentKey('two').publicName);
  assert.equal(agentKey('one').publicName, agentKey('one').publicName);
});

test('signs claims so that the key in them verifies', () => {
  const account = new NatsKey('account', ZERO);
  const { publicName } = agentKey('secret');
  const jwt = agentClaims(account, publicName, { kind: 'edge', name: 'fra1.example' });
  const [head = '', body = '', signature = ''] = jwt.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
  assert.equal(claims.iss, account.publicName);
  assert.equal(claims.sub, publicName);
  assert.deepEqual(claims.nats.pub.allow, [
    'portcullis.edge.fra1%2Eexample.greet',
    'portcullis.edge.fra1%2Eexample.request.*',
  ]);
  const signed = Buffer.from(`${head}.${body}`);
  assert.ok(verify(null, signed, publicKeyOf(ZERO), Buffer.from(signature, 'base64url')));
});

test('an account names who is revoked', () => {
  const operator = new NatsKey('operator');
  const account = { name: 'fleet' as const, publicName: new NatsKey('account').publicName };
  const claimsOf = (jwt: string) =>
    JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()).nats;
  assert.equal(claimsOf(accountClaims(operator, account)).revocations, undefined);
  const revoked = { [agentKey('x').publicName]: 1_700_000_000 };
  assert.deepEqual(claimsOf(accountClaims(operator, account, revoked)).revocations, revoked);
});

test('a subject names its agent, also one with full stops in its name', () => {
  for (const name of ['fra1', 'fra1.example.net', 'a-b_c.d']) {
    assert.deepEqual(agentOf(subjectsOf({ kind: 'node', name }).greet), { kind: 'node', name });
  }
});

test('only a subject below the own inbox is one: nothing beside it, no wildcard, nothing empty', () => {
  const agent = { kind: 'edge', name: 'fra1.example' } as const;
  const { inboxPrefix } = subjectsOf(agent);
  assert.ok(isOwnInbox(agent, `${inboxPrefix}.a`) && isOwnInbox(agent, `${inboxPrefix}.a.b-c$d`));
  const others = [
    undefined,
    '',
    inboxPrefix,
    `${inboxPrefix}.`,
    `${inboxPrefix}..a`,
    `${inboxPrefix}.a.`,
    `${inboxPrefix}.*`,
    `${inboxPrefix}.>`,
    `${inboxPrefix}.a b`,
    `${inboxPrefix}.${'x'.repeat(600)}`,
    `${inboxPrefix}2.a`,
    `x${inboxPrefix}.a`,
    subjectsOf({ kind: 'edge', name: 'fra1' }).inboxPrefix + '.a',
    subjectsOf({ kind: 'node', name: 'fra1.example' }).inboxPrefix + '.a',
    subjectsOf(agent).call,
  ];
  for (const reply of others) assert.equal(isOwnInbox(agent, reply), false, reply);
});

function publicKeyOf(seed: Buffer) {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  const key = Buffer.concat([prefix, seed]);
  return createPublicKey(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
}
