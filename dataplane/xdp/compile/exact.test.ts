import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import { allowPort, denyAll, filteredPolicy } from '../../testing/policies.ts';
import { encodeTarget, LAYOUT } from '../maps/layout.ts';
import { EarlyCompilation } from './compilation.ts';
import { compileEarly } from './compile.ts';

const ADDRESS = '203.0.113.10';
const HEAD_FLAGS = 33;
const OPEN = denyAll(ADDRESS, [allowPort('udp', 27_015)]);

const OBSERVED: Mitigation = {
  ref: 'mitigation:1',
  mode: 'observe',
  protocol: 'udp',
  sourcePort: null,
  destinationPort: null,
  source: null,
  safelist: [],
  fragment: 'any',
  limit: null,
};

const isExact = (policy: Policy): boolean => compileEarly(policy).isExact;

test('an address is exact only if rules are its whole policy for UDP', () => {
  assert.equal(isExact(OPEN), true);
  assert.equal(isExact({ target: ADDRESS, ...EMPTY_POLICY }), true);
  assert.equal(isExact({ ...OPEN, mitigations: [OBSERVED] }), false);
  assert.equal(isExact(filteredPolicy(ADDRESS, ['source', 27_015])), false);
  assert.equal(isExact(filteredPolicy(ADDRESS, ['tcp-syn-proxy', 27_015])), true);
});

test('a prefix is never exact: an address in it may have a policy that only nftables has', () => {
  assert.equal(isExact({ ...OPEN, target: '203.0.113.0/24' }), false);
});

test('an address with more rules than are listed is exact only without source sets', () => {
  const ports = Array.from({ length: 200 }, (_, index) => allowPort('udp', 1000 + index * 3));
  const many = denyAll(ADDRESS, ports);
  assert.equal(isExact(many), true);
  const geo = [{ ref: 'geo-rule:1', action: 'deny', sets: ['country:AA'] }] as const;
  assert.equal(isExact({ ...many, geo }), false);
  assert.equal(isExact({ ...OPEN, geo }), true);
});

test('rules on a union without a number make the element inexact', () => {
  const geo = [{ ref: 'geo-rule:1', action: 'deny', sets: ['country:AA'] }] as const;
  const target = compileEarly({ ...OPEN, geo });
  const flagsWith = (unions: ReadonlyMap<string, number>): number =>
    encodeTarget(target, { slot: 0, version: 1, unions })[0]?.value.readUInt8(HEAD_FLAGS) ?? 0;
  const [name = ''] = target.unions.keys();
  assert.ok(flagsWith(new Map([[name, 0]])) & LAYOUT.EXACT);
  assert.equal(flagsWith(new Map()) & LAYOUT.EXACT, 0);
});

test('a target that nftables refused is inexact until it is taken', () => {
  const compilation = new EarlyCompilation();
  const policies = new Map([[ADDRESS, OPEN]]);
  assert.equal(compilation.of(policies, []).get(ADDRESS)?.isExact, true);
  const refused = [{ target: ADDRESS, reason: 'no', goodGeneration: 1 }];
  const changed = new Map([[ADDRESS, { ...OPEN }]]);
  assert.equal(compilation.of(changed, refused).get(ADDRESS)?.isExact, false);
  assert.equal(compilation.of(changed, []).get(ADDRESS)?.isExact, true);
});
