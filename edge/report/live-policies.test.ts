import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { policyFingerprint } from '@portcullis/link/messages/policy-fingerprint.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { LivePolicies } from './live-policies.ts';
import { opening } from '../testing/control.ts';

const A = '203.0.113.10';
const PREFIX = '203.0.113.0/24';

const tcp = (destination: string, destinationPort: number) =>
  ({
    family: 4,
    source: '198.51.100.7',
    destination,
    protocol: 6,
    sourcePort: 40_000,
    destinationPort,
    icmp: null,
    hopLimit: 64,
    fragment: 'none',
  }) as const;

function desired(generation: number, ...policies: readonly Policy[]): Desired {
  return {
    generation,
    policies: new Map(policies.map((policy) => [policy.target, policy])),
    sourceSets: { version: '', sets: {} },
    settings: {
      name: 'fra1',
      site: 'fra',
      devices: ['wan'],
      management: [{ protocol: 'tcp', port: 22 }],
      sees: 'both',
      fragments: 'reassemble',
    },
  };
}

test('evaluates the policy of the address before that of a prefix, and passes packets without a policy', () => {
  const live = new LivePolicies();
  assert.equal(live.explain(tcp(A, 443), []), null);
  live.set(desired(4, opening(A, 443), opening(PREFIX, 80)), { refused: [] });
  const own = live.explain(tcp(A, 80), []);
  assert.deepEqual([own?.target, own?.generation, own?.verdict.action], [A, 4, 'drop']);
  assert.equal(own?.fingerprint, policyFingerprint(opening(A, 443)));
  const near = live.explain(tcp('203.0.113.11', 80), []);
  assert.deepEqual([near?.target, near?.verdict.action], [PREFIX, 'pass']);
  const far = live.explain(tcp('192.0.2.1', 80), []);
  assert.deepEqual([far?.target, far?.fingerprint, far?.verdict.action], [null, null, 'pass']);
  live.clear();
  assert.equal(live.explain(tcp(A, 443), []), null);
});

test('names management traffic of the host', () => {
  const live = new LivePolicies();
  live.set(desired(1, opening(A, 443)), { refused: [] });
  assert.equal(live.explain(tcp(A, 22), [])?.verdict.action, 'drop');
  assert.equal(live.explain(tcp(A, 22), [A])?.verdict.stage, 'management');
});

test('evaluates a refused target by the policy that the kernel still has, over several generations', () => {
  const live = new LivePolicies();
  live.set(desired(1, opening(A, 443)), { refused: [] });
  for (const generation of [2, 3]) {
    const refused = [{ target: A, reason: 'no memory', goodGeneration: 1 }];
    live.set(desired(generation, opening(A, 80 + generation)), { refused });
    const reported = live.explain(tcp(A, 443), []);
    assert.deepEqual([reported?.verdict.action, reported?.generation], ['pass', 1]);
    assert.equal(live.explain(tcp(A, 80 + generation), [])?.verdict.action, 'drop');
  }
  live.set(desired(4, opening(A, 84)), { refused: [] });
  assert.deepEqual(
    [live.explain(tcp(A, 84), [])?.verdict.action, live.explain(tcp(A, 84), [])?.generation],
    ['pass', 4],
  );
  const nothing = [{ target: A, reason: 'no memory', goodGeneration: 0 }];
  live.set(desired(5, opening(A, 1), opening(PREFIX, 80)), { refused: nothing });
  assert.equal(live.explain(tcp(A, 80), [])?.target, PREFIX);
});

test('equal policies have one fingerprint in any order of their fields', () => {
  const policy = opening(A, 443);
  const { filters, rules, ...rest } = policy;
  const reordered = {
    filters,
    ...rest,
    target: PREFIX,
    rules: rules.map((one) => Object.fromEntries(Object.entries(one).toReversed())),
  };
  assert.equal(policyFingerprint(reordered as unknown as Policy), policyFingerprint(policy));
  for (const other of [
    opening(A, 444),
    { ...policy, rules: rules.toReversed() },
    { ...policy, baseline: rules, rules: [] },
    { ...policy, geo: [{ ref: 'geo-rule:1', action: 'deny', sets: ['country:DE'] }] } as Policy,
  ])
    assert.notEqual(policyFingerprint(other), policyFingerprint(policy));
});
