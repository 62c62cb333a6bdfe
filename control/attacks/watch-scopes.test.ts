import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../db/testing.ts';
import { applyText } from '../fleet-file/testing.ts';
import { watchScopes } from './watch-scopes.ts';

const FILE = `
organisations:
  acme:
    name: Acme
    asns: [64500]
    thresholds: { pps: 10000, hold_seconds: 30 }
    safelist: [192.0.2.0/24]
    prefixes:
    - { cidr: 203.0.113.0/24, asn: 64500, thresholds: { mbps: 500 }, mitigation: observe }
    - { cidr: 203.0.113.128/25, asn: 64500, thresholds: { pps: 5000 } }
    services:
    - id: 1
      name: s
      thresholds: { pps: 2000, mbps: 100 }
      safelist: ["2001:db8:9::1"]
      addresses: [{ ip: 203.0.113.200, thresholds: { pps: 900 } }, { ip: 198.51.100.1, mitigation: off }]
  hive:
    name: Hive
    services: [{ id: 2, name: t, addresses: [{ ip: 203.0.113.7 }] }]
`;

test('resolves settings from the address, its service, its prefixes and its organisation, never from others', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, FILE);
  const { scopes } = await watchScopes(db);
  const defaults = { holdMs: 30_000, safelist: ['192.0.2.0/24'], subject: true };
  const of = (scope: string) => scopes.find((one) => one.scope === scope);
  assert.equal(scopes.length, 5);
  assert.deepEqual(of('203.0.113.0/24'), {
    scope: '203.0.113.0/24',
    pps: 10_000,
    bps: 500_000_000,
    mitigation: 'observe',
    ...defaults,
  });
  assert.deepEqual(of('203.0.113.128/25'), {
    scope: '203.0.113.128/25',
    pps: 5000,
    bps: 500_000_000,
    mitigation: 'observe',
    ...defaults,
  });
  const own = { ...defaults, safelist: ['192.0.2.0/24', '2001:db8:9::1'] };
  assert.deepEqual(of('203.0.113.200'), {
    scope: '203.0.113.200',
    pps: 900,
    bps: 100_000_000,
    mitigation: 'observe',
    ...own,
  });
  assert.deepEqual(of('198.51.100.1'), {
    scope: '198.51.100.1',
    pps: 2000,
    bps: 100_000_000,
    mitigation: 'off',
    ...own,
  });
  // Inside acme's prefix, but held by another organisation.
  assert.deepEqual(of('203.0.113.7'), {
    scope: '203.0.113.7',
    pps: 20_000,
    bps: 1_000_000_000,
    holdMs: 60_000,
    mitigation: 'on',
    safelist: [],
    subject: true,
  });
});

test('changes the version only with the scopes, and omits ended holdings', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, FILE);
  const first = await watchScopes(db);
  assert.deepEqual(await watchScopes(db), first);
  await applyText(db, FILE.replace('name: Hive', 'name: Hive Games'));
  assert.equal((await watchScopes(db)).version, first.version);
  await applyText(db, FILE.replace('pps: 900', 'pps: 901'));
  const second = await watchScopes(db);
  assert.notEqual(second.version, first.version);
  await sql`update holdings set during = tstzrange(lower(during), now()) where cidr = '203.0.113.200'`.execute(
    db,
  );
  const third = await watchScopes(db);
  assert.equal(third.scopes.length, first.scopes.length - 1);
  assert.notEqual(third.version, second.version);
});

test('changes nothing when settings are applied again, and removes settings that the file drops', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, FILE);
  assert.deepEqual((await applyText(db, FILE)).changes, []);
  await applyText(db, FILE.replace('    thresholds: { pps: 10000, hold_seconds: 30 }\n', ''));
  const { scopes } = await watchScopes(db);
  assert.equal(scopes.find(({ scope }) => scope === '203.0.113.0/24')?.pps, 20_000);
});
