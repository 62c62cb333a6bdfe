import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { opening } from '../../testing/control.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';
import { OverlayPolicies } from './overlay-policies.ts';
import type { OverlayEntry } from './overlay.ts';

const DNS: MitigationAction = { kind: 'reflector', reflector: 'dns' };
const NTP: MitigationAction = { kind: 'reflector', reflector: 'ntp' };
const SAFE = ['198.51.100.0/24'];
const OWN: Mitigation = {
  ref: 'mitigation:1',
  mode: 'enforce',
  protocol: 'udp',
  sourcePort: 19,
  destinationPort: null,
  source: null,
  safelist: [],
  fragment: 'any',
  limit: null,
};

function desiredOf(...policies: readonly Policy[]): Desired {
  return {
    generation: 3,
    policies: VersionedMap.from(policies.map((policy) => [policy.target, policy] as const)),
    sourceSets: { version: '', sets: {} },
    settings: {
      name: 'fra1',
      site: 'fra',
      devices: [],
      management: [],
      sees: 'both',
      fragments: 'reassemble',
    },
  };
}
function entry(subject: string, ...actions: OverlayEntry['actions']): OverlayEntry {
  return { subject, actions, mode: 'enforce', safelist: SAFE, expiresMs: 1 };
}
/** The dropped source ports in order. */
const drops = (policy: Policy | undefined): unknown =>
  policy?.mitigations.map((one) => one.sourcePort);
const policyOf = (desired: Desired, target: string): Policy | undefined =>
  desired.policies.get(target);

test('an empty overlay leaves the desired state unchanged', () => {
  const desired = desiredOf(opening('203.0.113.10', 443));
  assert.equal(new OverlayPolicies().apply(desired, []), desired);
});

test('overlay mitigations follow those of control', () => {
  const policy = { ...opening('203.0.113.10', 443), mitigations: [OWN] };
  const desired = desiredOf(policy, opening('203.0.113.11', 80));
  const put = new OverlayPolicies().apply(desired, [entry('203.0.113.10', DNS)]);
  const mitigated = policyOf(put, '203.0.113.10');
  assert.deepEqual(drops(mitigated), [19, 53]);
  assert.deepEqual(mitigated?.mitigations[1]?.safelist, SAFE);
  assert.deepEqual({ ...mitigated, mitigations: [OWN] }, policy);
  assert.equal(policyOf(put, '203.0.113.11'), policyOf(desired, '203.0.113.11'));
  assert.deepEqual(policyOf(desired, '203.0.113.10'), policy);
});

test('an address without a policy gets that of its prefix with the mitigations', () => {
  const around = opening('203.0.113.0/24', 443);
  const desired = desiredOf(opening('203.0.112.0/22', 80), around);
  const put = new OverlayPolicies().apply(desired, [
    entry('203.0.113.10', DNS),
    entry('198.51.100.1', DNS),
  ]);
  const target = '203.0.113.10';
  const mitigated = policyOf(put, target);
  assert.deepEqual(drops(mitigated), [53]);
  assert.deepEqual({ ...mitigated, mitigations: [] }, { ...around, target });
  assert.deepEqual(drops(policyOf(put, '198.51.100.1')), [53]);
  assert.deepEqual(policyOf(put, '198.51.100.1')?.rules, []);
});

test('an attack on a prefix is mitigated for its addresses only', () => {
  const inside = opening('203.0.113.10', 443);
  const outside = opening('203.0.112.10', 443);
  const desired = desiredOf(inside, outside, opening('203.0.112.0/22', 80));
  const put = new OverlayPolicies().apply(desired, [
    entry('203.0.113.0/24', DNS),
    entry('203.0.113.10', NTP),
  ]);
  assert.deepEqual(drops(policyOf(put, '203.0.113.10')), [53, 123]);
  assert.deepEqual(drops(policyOf(put, '203.0.113.0/24')), [53]);
  assert.equal(policyOf(put, '203.0.113.0/24')?.rules[0]?.port, 80);
  assert.equal(policyOf(put, '203.0.112.10'), outside);
  assert.deepEqual(policyOf(put, '203.0.112.0/22')?.mitigations, []);
});

test('an attack on a prefix is not mitigated for other holdings inside it', () => {
  const [own, theirs, none] = ['203.0.113.10', '203.0.113.200', '203.0.113.128/26'];
  const held = ['203.0.113.0/24', theirs, none];
  const desired = desiredOf(opening(own, 443), opening(theirs, 443));
  const policies = new OverlayPolicies();
  const put = policies.apply(desired, [entry('203.0.113.0/24', DNS)], held);
  assert.deepEqual(drops(policyOf(put, '203.0.113.0/24')), [53]);
  assert.deepEqual(drops(policyOf(put, own)), [53]);
  assert.equal(policyOf(put, theirs), policyOf(desired, theirs));
  assert.deepEqual(drops(policyOf(put, none)), []);
  const attacked = [entry('203.0.113.0/24', DNS), entry(theirs, NTP)];
  assert.deepEqual(drops(policyOf(policies.apply(desired, attacked, held), theirs)), [123]);
});

test('an autonomous filter is marked as a mitigation', () => {
  const policy = opening('203.0.113.10', 443);
  const proxy: MitigationAction = { kind: 'filter', type: 'tcp-syn-proxy', port: 443 };
  const put = new OverlayPolicies().apply(desiredOf(policy), [entry('203.0.113.10', proxy, DNS)]);
  const [filter, ...more] = policyOf(put, '203.0.113.10')?.filters ?? [];
  assert.deepEqual([filter?.type, filter?.port, more], ['tcp-syn-proxy', 443, []]);
  assert.match(filter?.ref ?? '', /^mitigation:/);
});

test('unchanged policies stay the same objects', () => {
  const overlay = new OverlayPolicies();
  const entries = [entry('203.0.113.0/24', DNS)];
  const desired = desiredOf(opening('203.0.113.10', 443), opening('203.0.113.11', 443));
  const first = overlay.apply(desired, entries);
  const changed = opening('203.0.113.11', 80);
  const policies = VersionedMap.from(desired.policies).with([['203.0.113.11', changed]]);
  const second = overlay.apply({ ...desired, policies }, entries);
  assert.equal(policyOf(second, '203.0.113.10'), policyOf(first, '203.0.113.10'));
  assert.deepEqual(drops(policyOf(second, '203.0.113.11')), [53]);
  assert.deepEqual(policyOf(second, '203.0.113.11')?.rules, changed.rules);
  // Withdrawn and mitigated again with another action: nothing of the first remains.
  assert.equal(
    policyOf(overlay.apply(desired, []), '203.0.113.10'),
    policyOf(desired, '203.0.113.10'),
  );
  const third = overlay.apply(desired, [entry('203.0.113.0/24', NTP)]);
  assert.deepEqual(drops(policyOf(third, '203.0.113.10')), [123]);
});
