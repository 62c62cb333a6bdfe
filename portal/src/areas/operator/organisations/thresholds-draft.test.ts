import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Organisation } from '../queries.ts';
import { bodyOf, draftOf, inheritedOf, isSet, scopesOf } from './thresholds-draft.ts';

const UNSET = { pps: null, mbps: null, hold_seconds: null };
const NOTHING = { thresholds: UNSET, mitigation: null, safelist: [] };
const ORGANISATION: Organisation = {
  slug: 'acme',
  name: 'Acme',
  owner: 'fleet',
  flags: [],
  limits: {
    rules_per_ip: 1,
    filters_per_ip: 1,
    max_ports_per_request: 1,
    attack_history_days: 1,
    configured_addresses: 1,
    requests_per_minute: 1,
  },
  external_id: null,
  etag: null,
  asns: [],
  thresholds: { ...UNSET, pps: 5_000 },
  mitigation: null,
  safelist: ['192.0.2.1/32', '192.0.2.2/32'],
  services: [
    {
      organisation: 'acme',
      id: 501,
      name: 'lobby',
      active: true,
      managed_filters: [],
      ...NOTHING,
      owner: 'portal',
    },
  ],
  holdings: [],
};

test('thresholds of each scope are edited by themselves, and empty ones are as of what is around', () => {
  const [outer, inner] = scopesOf(ORGANISATION);
  assert.ok(outer && inner);
  assert.deepEqual([isSet(outer), isSet(inner)], [true, false]);
  assert.deepEqual(bodyOf(draftOf(inner)), NOTHING);
  const draft = {
    ...draftOf(outer),
    mbps: 200,
    mitigation: 'observe',
    safelist: '192.0.2.1/32,',
  } as const;
  assert.deepEqual(bodyOf(draft), {
    thresholds: { pps: 5_000, mbps: 200, hold_seconds: null },
    mitigation: 'observe',
    safelist: ['192.0.2.1/32'],
  });
});

test('what a scope does not set is shown with where it comes from', () => {
  const holding = {
    ...NOTHING,
    organisation: 'acme',
    since: '2026-01-01T00:00:00Z',
    until: null,
    asn: null,
    default: null,
    owner: 'portal',
  };
  const scopes = scopesOf({
    ...ORGANISATION,
    holdings: [
      {
        ...holding,
        id: 1,
        prefix: '203.0.0.0/16',
        service: null,
        thresholds: { ...UNSET, pps: 9, mbps: 80 },
      },
      {
        ...holding,
        id: 2,
        prefix: '203.0.113.0/24',
        service: null,
        thresholds: { ...UNSET, pps: 7 },
      },
      { ...holding, id: 3, prefix: '203.0.113.9/32', service: 501 },
    ],
  });
  const inner = scopes.find(({ key }) => key === 'holding 3');
  assert.ok(inner);
  assert.deepEqual(inheritedOf(inner, 'pps', scopes), { value: 7, from: '203.0.113.0/24' });
  assert.deepEqual(inheritedOf(inner, 'mbps', scopes), { value: 80, from: '203.0.0.0/16' });
  assert.equal(inheritedOf(inner, 'hold_seconds', scopes), null);
  const service = scopes.find(({ key }) => key === 'service 501');
  assert.ok(service);
  assert.deepEqual(inheritedOf(service, 'pps', scopes), { value: 5_000, from: null });
});
