import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiKey } from '@portcullis/client/index.ts';
import { bodyOf, EMPTY_DRAFT, parseNetworks, sortKeys, stateOf } from './key-draft.ts';

const NOW = new Date('2026-11-23T12:00:00Z');
const KEY: ApiKey = {
  id: 1,
  hint: 'pcl_abcdef',
  name: 'ci',
  abilities: [],
  servers: null,
  managed_servers: null,
  prefixes: null,
  sources: null,
  expires_at: null,
  owner: 'portal',
  created_at: '2026-01-01T00:00:00+00:00',
  last_used_at: null,
  revoked_at: null,
  suspended_at: null,
};

test('networks may be typed with lines or commas, and the first wrong one is named', () => {
  assert.deepEqual(parseNetworks(' \n'), { networks: null, mistake: null });
  assert.deepEqual(parseNetworks('198.51.100.0/24,\n2001:db8::/32'), {
    networks: ['198.51.100.0/24', '2001:db8::/32'],
    mistake: null,
  });
  assert.match(parseNetworks('198.51.100.0/24 office').mistake ?? '', /^office: /);
});

test('a draft without limits asks for a key without limits, that ends when it says', () => {
  const draft = {
    ...EMPTY_DRAFT,
    name: ' ci ',
    abilities: ['attacks.read'],
    lifetime: '30',
  } as const;
  assert.deepEqual(bodyOf(draft, NOW), {
    name: 'ci',
    abilities: ['attacks.read'],
    servers: null,
    managed_servers: null,
    prefixes: null,
    sources: null,
    expires_at: '2026-12-23T12:00:00+00:00',
  });
  assert.equal(bodyOf({ ...draft, lifetime: 'never' }, NOW).expires_at, null);
});

test('a key that does not work any more says why, and stands below those that do', () => {
  const past = '2026-11-22T00:00:00+00:00';
  const gone = { ...KEY, id: 2, name: 'a', revoked_at: past, expires_at: past };
  assert.equal(stateOf(gone, NOW), 'revoked');
  assert.equal(stateOf({ ...KEY, expires_at: past }, NOW), 'expired');
  assert.equal(stateOf({ ...KEY, suspended_at: past }, NOW), 'suspended');
  assert.deepEqual(
    sortKeys([gone, KEY], NOW).map(({ id }) => id),
    [1, 2],
  );
});
