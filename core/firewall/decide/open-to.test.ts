import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EMPTY_POLICY, type Policy, type PolicyRule } from '../policy.ts';
import { createPolicyTable } from '../policy-table.ts';
import { type Situation, situation } from '../testing/edge-views.ts';
import { decide } from './decide.ts';
import { explainOpenTo } from './explain.ts';
import { FIRST_PACKET } from './first-packet.ts';
import { openTo } from './open-to.ts';

const TARGET = '203.0.113.10';
const settings = {
  localAddresses: [],
  management: [],
  sees: 'both',
  fragments: 'reassemble',
} as const;
const sets: Readonly<Record<string, readonly string[]>> = {
  'country:DE': ['85.0.0.0/8'],
  'blocked:1.2.203.0.113.10-32': ['192.0.2.7/32'],
};
const packet = {
  family: 4 as const,
  destination: TARGET,
  protocol: 6,
  sourcePort: 49_152,
  destinationPort: 25_565,
  icmp: null,
  hopLimit: 64,
  fragment: 'none' as const,
};

function of(policy: Partial<Policy>, port = 25_565) {
  const whole = { target: TARGET, ...EMPTY_POLICY, ...policy };
  const edge = { settings, sourceSets: { version: '1', sets } };
  const found = openTo(edge, whole, { ...packet, destinationPort: port });
  return `${found.to}: ${explainOpenTo(found, whole)}`;
}

function rule(action: 'allow' | 'deny', parts: Partial<PolicyRule> = {}): PolicyRule {
  return { ref: 'rule:1', action, protocol: 'tcp', port: 25_565, source: null, ...parts };
}

test('says to whom a port is open: rules, default, ports of running servers', () => {
  assert.match(of({}), /^everyone: Open to everyone: no rule matches, and the default .* accept/);
  assert.match(of({ default: 'deny' }), /^nobody: Closed to everyone: no rule .* deny\.$/);
  const open = rule('allow', { ref: 'server-port:5' });
  assert.match(
    of({ default: 'deny', rules: [open] }),
    /^everyone: .*the open port of a running game server/,
  );
  const home = rule('allow', { source: '198.51.100.0/24' });
  assert.match(of({ default: 'deny', rules: [home] }), /^some: .*from 198\.51\.100\.0\/24/);
  assert.match(of({ rules: [rule('deny', { source: '192.0.2.7' })] }), /^most: .*192\.0\.2\.7/);
  assert.match(of({ rules: [rule('deny', { port: 80 })] }), /^everyone/);
  const halves = ['0.0.0.0/1', '128.0.0.0/1'].map((source) => rule('deny', { source }));
  assert.match(of({ rules: halves }), /^nobody: .*rule 1 .* and 1 more/);
});

test('counts blocked sources, geo rules, baseline and mitigations', () => {
  const blocked = ['blocked:1.2.203.0.113.10-32'];
  assert.match(
    of({ blocked, rules: [rule('allow')] }),
    /^most: .*Closed to others: the list of blocked/,
  );
  const only = [{ ref: 'geo-rule:2', action: 'only' as const, sets: ['country:DE'] }];
  assert.match(of({ geo: only }), /^some: .*Closed to others: geo rule 2 \(only country:DE\)/);
  const none = [{ ref: 'geo-rule:2', action: 'only' as const, sets: ['country:XX'] }];
  assert.match(of({ geo: none }), /^nobody/);
  assert.match(of({ baseline: [rule('deny')] }), /^nobody/);
  const mitigation = {
    ref: 'mitigation:1',
    mode: 'enforce' as const,
    protocol: 'tcp' as const,
    sourcePort: null,
    destinationPort: 25_565,
    source: null,
    safelist: ['198.51.100.0/24'],
    fragment: 'any' as const,
    limit: null,
  };
  assert.match(of({ mitigations: [mitigation] }), /^some: .*mitigation 1/);
});

test('agrees with decide on every source', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      situation(),
      ({ settings: edge, policies, sourceSets, packet: drawn }: Situation) => {
        const [policy] = policies;
        fc.pre(policy !== undefined && drawn.fragment === 'none');
        const { source, ...rest } = drawn;
        const own = { ...edge, localAddresses: [] };
        const table = createPolicyTable([policy]);
        const view = { settings: own, policies: table, sourceSets };
        fc.pre(table.lookup(drawn.destination) !== null);
        const { action, stage } = decide(view, drawn, FIRST_PACKET);
        const { to, outcomes } = openTo(view, policy, rest);
        const same = outcomes.find(
          ({ verdict }) => verdict.action === action && verdict.stage === stage,
        );
        assert.ok(same !== undefined, `${source}: ${action} ${stage}`);
        if (to === 'everyone') assert.equal(action, 'pass');
        if (to === 'nobody') assert.equal(action, 'drop');
        seen.add(to);
      },
    ),
    { numRuns: 500 },
  );
  assert.deepEqual([...seen].toSorted(), ['everyone', 'most', 'nobody', 'some']);
});
