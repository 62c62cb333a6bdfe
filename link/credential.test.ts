import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCredential, parseCredential } from './credential.ts';
import { connectControl } from './transport/connect.ts';

const REMOTE = {
  kind: 'edge',
  name: 'fra1',
  secret: 'pce_secret',
  nats: {
    servers: ['tls://nats.example.net:4222'],
    jwt: 'a.b.c',
    ca: '-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n',
  },
} as const;

test('reads a secret alone, and a document that says how control is reached', () => {
  assert.deepEqual(parseCredential('pce_x'), {
    ok: true,
    value: { secret: 'pce_x', remote: null },
  });
  assert.deepEqual(parseCredential(formatCredential(REMOTE)), {
    ok: true,
    value: { secret: 'pce_secret', remote: REMOTE },
  });
});

test('refuses what is neither, without quoting it', () => {
  const wrong = [
    '{',
    '{}',
    'x'.repeat(257),
    JSON.stringify({ ...REMOTE, kind: 'control' }),
    JSON.stringify({ ...REMOTE, nats: { ...REMOTE.nats, jwt: 'pce_secret with spaces' } }),
    JSON.stringify({ ...REMOTE, secret: '' }),
  ];
  for (const text of wrong) {
    const parsed = parseCredential(text);
    assert.ok(!parsed.ok && !parsed.reason.includes('pce_secret'), text);
  }
});

test('the credential of another agent is refused before anything connects', async () => {
  const credential = formatCredential(REMOTE);
  for (const agent of [
    { kind: 'edge', name: 'ams1' },
    { kind: 'node', name: 'fra1' },
  ] as const) {
    await assert.rejects(
      connectControl({ agent, credential, path: '/nowhere' }),
      /the credential is of the edge fra1/,
    );
  }
});
