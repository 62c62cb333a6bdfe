import { EMPTY_POLICY } from './policy.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { packetTo, policyFor, policyRule, sourceSets } from './testing/arbitraries.ts';
import { buildPolicy, isEmptyPolicy, type PolicySource } from './build-policy.ts';
import { decide } from './decide/decide.ts';
import { explainVerdict } from './decide/explain.ts';
import { findDecidingRule } from './rules/deciding-rule.ts';
import { createPolicyTable } from './policy-table.ts';

const source: PolicySource = {
  target: '203.0.113.10',
  ...EMPTY_POLICY,
  groupRules: [],
  serverPorts: [],
  groupFilters: [],
  managedFilters: [],
};
const any = { protocol: 'any', port: null, source: null } as const;
const settings = {
  localAddresses: [],
  management: [],
  sees: 'both',
  fragments: 'reassemble',
} as const;
const withinLimits = {
  returnTraffic: false,
  icmpWithinRate: false,
  fragmentsWithinLimit: true,
  answered: false,
  aboveLimit: [],
  filtered: null,
};

test('gives equal JSON for equal inputs in any order', () => {
  const rules = [
    { id: 3, action: 'deny', ...any },
    { id: 12, action: 'allow', ...any, source: '192.0.2.0/24' },
    { id: 2, action: 'allow', ...any, source: '192.0.2.1/32' },
  ] as const;
  const one = buildPolicy({ ...source, target: '203.0.113.10/32', rules });
  const other = buildPolicy({ ...source, rules: rules.toReversed() });
  assert.equal(JSON.stringify(one), JSON.stringify(other));
  assert.deepEqual(
    one.rules.map((rule) => [rule.ref, rule.source]),
    [
      ['rule:2', '192.0.2.1'],
      ['rule:12', '192.0.2.0/24'],
      ['rule:3', null],
    ],
  );
});

test('applies a group rule only to addresses of the family of its source', () => {
  const groupRules = [{ id: 1, action: 'deny', ...any, source: '2001:db8::/32' }] as const;
  assert.ok(isEmptyPolicy(buildPolicy({ ...source, groupRules })));
  assert.equal(buildPolicy({ ...source, target: '2001:db8::1', groupRules }).rules.length, 1);
});

test('converts countries and ASNs to source set names, deny before only', () => {
  const geo = [
    { id: 2, action: 'only', countries: ['SE', 'DE'], asns: [] },
    { id: 5, action: 'deny', countries: ['XX'], asns: [64496] },
  ] as const;
  assert.deepEqual(buildPolicy({ ...source, geo }).geo, [
    { ref: 'geo-rule:5', action: 'deny', sets: ['asn:64496', 'country:XX'] },
    { ref: 'geo-rule:2', action: 'only', sets: ['country:DE', 'country:SE'] },
  ]);
});

test('reports a rule as redundant only if it changes no verdict', () => {
  const drawn = fc.tuple(
    policyFor('203.0.113.10'),
    policyRule(4, 'rule'),
    packetTo('203.0.113.10'),
    sourceSets(),
  );
  let silent = 0;
  fc.assert(
    fc.property(drawn, ([policy, drawnRule, packet, sets]) => {
      const added = { ...drawnRule, ref: 'rule:99999' };
      if (findDecidingRule(policy.rules, added, policy.geo.length > 0) === null) return;
      silent += 1;
      const verdict = (rules: typeof policy.rules) =>
        decide(
          { settings, sourceSets: sets, policies: createPolicyTable([{ ...policy, rules }]) },
          packet,
          withinLimits,
        ).action;
      assert.equal(verdict([...policy.rules, added]), verdict(policy.rules));
    }),
    { numRuns: 3000 },
  );
  assert.ok(silent > 200, `only ${silent} of the drawn rules were found to change nothing`);
});

test('names the wider allow that makes a deny redundant', () => {
  const allow = { action: 'allow', ...any, source: '192.0.2.0/24' } as const;
  const deny = { action: 'deny', protocol: 'udp', port: 53, source: '192.0.2.9' } as const;
  assert.equal(findDecidingRule([allow], deny, true), allow);
  assert.equal(findDecidingRule([deny], allow, false), null);
});

test('describes every verdict in a sentence that names the deciding rule', () => {
  const drawn = policyFor('203.0.113.10').chain((policy) =>
    fc.tuple(fc.constant(policy), packetTo('203.0.113.10'), sourceSets()),
  );
  fc.assert(
    fc.property(drawn, ([policy, packet, sets]) => {
      const verdict = decide(
        { settings, sourceSets: sets, policies: createPolicyTable([policy]) },
        packet,
        withinLimits,
      );
      const sentence = explainVerdict(verdict, policy);
      assert.match(sentence, verdict.action === 'pass' ? /passes/ : /is dropped/);
      if (verdict.stage === 'blocked-sources') assert.match(sentence, /blocked sources of the org/);
      else if (verdict.ref !== null)
        assert.ok(sentence.includes(verdict.ref.split(':')[1] ?? ''), sentence);
    }),
  );
});
