import { EMPTY_POLICY } from '../policy.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { packetTo, policyFor, sourceSets } from '../testing/arbitraries.ts';
import { decide, type EdgeView } from './decide.ts';
import type { EdgeSettings, Packet, PacketState } from '../packet.ts';
import type { Policy, PolicyRule } from '../policy.ts';
import { createPolicyTable } from '../policy-table.ts';
import { STAGES } from '../stages.ts';

const TARGET = '203.0.113.10';
const SOURCE = '198.51.100.7';

const settings: EdgeSettings = {
  localAddresses: [],
  management: [],
  sees: 'both',
  fragments: 'reassemble',
};
const withinLimits: PacketState = {
  returnTraffic: false,
  icmpWithinRate: true,
  fragmentsWithinLimit: true,
  answered: false,
  aboveLimit: [],
  filtered: null,
};
const empty: Policy = {
  target: TARGET,
  ...EMPTY_POLICY,
};
const sets = { version: '1', sets: { 'country:XX': ['198.51.100.0/24', '2001:db8::/32'] } };

const denyAll = rule('deny', {});
const udp: Packet = {
  family: 4,
  source: SOURCE,
  destination: TARGET,
  protocol: 17,
  sourcePort: 4000,
  destinationPort: 27015,
  icmp: null,
  hopLimit: 60,
  fragment: 'none',
};

function rule(action: 'allow' | 'deny', parts: Partial<PolicyRule>): PolicyRule {
  return { ref: `rule:${action}`, action, protocol: 'any', port: null, source: null, ...parts };
}

function evaluate(
  policy: Partial<Policy> | null,
  packet: Partial<Packet> = {},
  state: Partial<PacketState> = {},
  edge: Partial<EdgeSettings> = {},
) {
  const view: EdgeView = {
    settings: { ...settings, ...edge },
    policies: createPolicyTable(policy === null ? [] : [{ ...empty, ...policy }]),
    sourceSets: sets,
  };
  return decide(view, { ...udp, ...packet }, { ...withinLimits, ...state });
}

const outcome = (verdict: { action: string; stage: string }) =>
  `${verdict.action} ${verdict.stage}`;

test('evaluates the stages in the specified order', () => {
  assert.deepEqual(
    STAGES.map((stage) => stage.name),
    [
      'management',
      'needed-icmp',
      'fragment-limits',
      'return-traffic',
      'mitigations',
      'baseline',
      'blocked-sources',
      'named-allows',
      'geo',
      'rules',
      'default',
      'filters',
    ],
  );
});

test('passes packets to destinations without a policy and packets without a matching rule', () => {
  assert.equal(outcome(evaluate(null)), 'pass default');
  assert.equal(outcome(evaluate({ rules: [rule('deny', { protocol: 'tcp' })] })), 'pass default');
});

test('passes management traffic despite a deny-all, only on addresses of the edge itself', () => {
  const management = [{ protocol: 'tcp', port: 22 }] as const;
  const ssh = { protocol: 6, destinationPort: 22 };
  const own = { management, localAddresses: [TARGET] };
  assert.equal(outcome(evaluate({ rules: [denyAll] }, ssh, {}, own)), 'pass management');
  assert.equal(outcome(evaluate({ rules: [denyAll] }, ssh, {}, { management })), 'drop rules');
  assert.equal(
    outcome(evaluate({ rules: [denyAll] }, { destinationPort: 22 }, {}, own)),
    'drop rules',
  );
});

test('passes necessary ICMP despite a deny-all within its rate, and evaluates it normally above it', () => {
  const needed: Partial<Packet>[] = [
    { protocol: 1, icmp: { type: 3, code: 4 } },
    { protocol: 1, icmp: { type: 11, code: 0 } },
  ];
  for (const packet of needed) {
    const icmp = { ...packet, sourcePort: null, destinationPort: null };
    assert.equal(outcome(evaluate({ rules: [denyAll] }, icmp)), 'pass needed-icmp');
    assert.equal(
      outcome(evaluate({ rules: [denyAll] }, icmp, { icmpWithinRate: false })),
      'drop rules',
    );
  }
  for (const type of [0, 8, 5, 13]) {
    assert.equal(
      outcome(evaluate({ rules: [denyAll] }, { protocol: 1, icmp: { type, code: 0 } })),
      'drop rules',
    );
  }
  assert.equal(
    outcome(evaluate({ rules: [denyAll] }, { protocol: 1, icmp: { type: 3, code: 1 } })),
    'drop rules',
  );
});

test('accepts neighbour discovery only from the link, with hop limit 255', () => {
  const policy = { target: '2001:db8::10', rules: [denyAll] };
  const to = {
    family: 6 as const,
    source: '2001:db8::7',
    destination: '2001:db8::10',
    protocol: 58,
  };
  for (const type of [133, 134, 135, 136, 137]) {
    const icmp = { type, code: 0 };
    assert.equal(outcome(evaluate(policy, { ...to, icmp, hopLimit: 255 })), 'pass needed-icmp');
    assert.equal(outcome(evaluate(policy, { ...to, icmp, hopLimit: 254 })), 'drop rules');
  }
  assert.equal(
    outcome(evaluate(policy, { ...to, icmp: { type: 2, code: 0 }, hopLimit: 3 })),
    'pass needed-icmp',
  );
});

test('drops fragments above the limit of a protected destination before any final pass', () => {
  const over = { fragmentsWithinLimit: false, returnTraffic: true };
  assert.equal(outcome(evaluate({}, { fragment: 'first' }, over)), 'drop fragment-limits');
  assert.equal(outcome(evaluate({}, { fragment: 'none' }, over)), 'pass return-traffic');
  assert.equal(
    outcome(evaluate(null, { fragment: 'first' }, { fragmentsWithinLimit: false })),
    'pass default',
  );
  const ssh = { protocol: 6, destinationPort: 22, fragment: 'first' } as const;
  const own = { localAddresses: [TARGET], management: [{ protocol: 'tcp', port: 22 }] } as const;
  assert.equal(outcome(evaluate({}, ssh, {}, own)), 'pass management');
  assert.equal(outcome(evaluate({}, ssh, over, own)), 'drop fragment-limits');
  const error = { protocol: 1, icmp: { type: 3, code: 4 }, fragment: 'first' } as const;
  assert.equal(outcome(evaluate({}, error)), 'pass needed-icmp');
  assert.equal(outcome(evaluate({}, error, over)), 'drop fragment-limits');
});

test('passes return traffic despite a deny-all only if the edge sees both directions', () => {
  assert.equal(
    outcome(evaluate({ rules: [denyAll] }, {}, { returnTraffic: true })),
    'pass return-traffic',
  );
  assert.equal(
    outcome(evaluate({ rules: [denyAll] }, {}, { returnTraffic: true }, { sees: 'inbound' })),
    'drop rules',
  );
});

test('does not match later fragments by rules with a port', () => {
  const later = { fragment: 'later' as const, sourcePort: null, destinationPort: null };
  const named = rule('deny', { protocol: 'udp', port: 27015 });
  assert.equal(outcome(evaluate({ rules: [named] }, later)), 'pass default');
  assert.equal(
    outcome(evaluate({ rules: [rule('deny', { protocol: 'udp' })] }, later)),
    'drop rules',
  );
});

test('drops by an enforcing mitigation, marks by an observing one, and exempts safelisted sources from both', () => {
  const mitigation = {
    ref: 'mitigation:1',
    fragment: 'any' as const,
    limit: null,
    mode: 'enforce' as const,
    protocol: 'udp' as const,
    sourcePort: null,
    destinationPort: null,
    source: null,
    safelist: [],
  };
  assert.equal(outcome(evaluate({ mitigations: [mitigation] })), 'drop mitigations');
  const observed = evaluate({ mitigations: [{ ...mitigation, mode: 'observe' }] });
  assert.deepEqual([observed.action, observed.observed], ['pass', ['mitigation:1']]);
  assert.equal(
    outcome(evaluate({ mitigations: [{ ...mitigation, safelist: ['198.51.100.0/24'] }] })),
    'pass default',
  );
});

/** A source that has used up its rate. */
const UNVALIDATED = {
  payload: Buffer.from('hello'),
  validated: false,
  established: false,
  opened: false,
  above: ['unvalidated-rate'],
} as const;

test('exempts safelisted sources from filters of a mitigation, but not from filters of a holder', () => {
  const filter = { type: 'udp-stateful', port: 27015, managed: true } as const;
  const ofMitigation = { ...filter, ref: 'mitigation:1', safelist: ['198.51.100.0/24'] };
  const requested = { ...filter, ref: 'filter:1', safelist: [] };
  const dropping = { filtered: UNVALIDATED };
  const others = { source: '192.0.2.1' };
  assert.equal(outcome(evaluate({ filters: [ofMitigation] }, {}, dropping)), 'pass default');
  assert.equal(outcome(evaluate({ filters: [ofMitigation] }, others, dropping)), 'drop filters');
  const { stage, ref } = evaluate({ filters: [ofMitigation, requested] }, {}, dropping);
  assert.deepEqual([stage, ref], ['filters', 'filter:1']);
});

test('evaluates the operator baseline before the rules of the holder: a deny is final, an allow continues to the filters', () => {
  const open = { rules: [rule('allow', { source: SOURCE })] };
  assert.equal(
    outcome(evaluate({ ...open, baseline: [rule('deny', { protocol: 'udp' })] })),
    'drop baseline',
  );
  assert.equal(
    outcome(evaluate({ rules: [denyAll], baseline: [rule('allow', { protocol: 'udp' })] })),
    'pass baseline',
  );
  const filters = [
    { ref: 'filter:1', type: 'udp-stateful', port: 27015, managed: false, safelist: [] },
  ] as const;
  const filtered = evaluate(
    { filters, baseline: [rule('allow', {})] },
    {},
    { filtered: UNVALIDATED },
  );
  assert.equal(outcome(filtered), 'drop filters');
});

test('drops a blocked source before any allow of the holder, and after the baseline', () => {
  const blocked = ['country:XX'];
  const open = rule('allow', { source: SOURCE });
  assert.equal(outcome(evaluate({ blocked, rules: [open] })), 'drop blocked-sources');
  assert.equal(outcome(evaluate({ blocked, baseline: [open] })), 'pass baseline');
  assert.equal(
    outcome(evaluate({ blocked, rules: [open] }, { source: '192.0.2.1' })),
    'pass default',
  );
  assert.equal(outcome(evaluate({ blocked }, {}, { returnTraffic: true })), 'pass return-traffic');
});

test('lets an allow with a source override geo rules, but not an allow for any source', () => {
  const geo = [{ ref: 'geo-rule:1', action: 'deny' as const, sets: ['country:XX'] }];
  assert.equal(
    outcome(evaluate({ geo, rules: [rule('allow', { source: SOURCE })] })),
    'pass named-allows',
  );
  assert.equal(
    outcome(evaluate({ geo, rules: [rule('allow', { protocol: 'udp', port: 27015 })] })),
    'drop geo',
  );
});

test('drops sources in the union of "deny" first, then sources outside of "only", which includes unlisted ones', () => {
  const deny = { ref: 'geo-rule:1', action: 'deny' as const, sets: ['country:XX'] };
  const only = { ref: 'geo-rule:2', action: 'only' as const, sets: ['country:XX'] };
  const nowhere = { ref: 'geo-rule:3', action: 'only' as const, sets: ['country:ZZ'] };
  assert.equal(evaluate({ geo: [only, deny] }).ref, 'geo-rule:1');
  assert.equal(outcome(evaluate({ geo: [only] })), 'pass default');
  assert.equal(evaluate({ geo: [only] }, { source: '192.0.2.1' }).ref, 'geo-rule:2');
  assert.equal(evaluate({ geo: [nowhere] }).ref, 'geo-rule:3');
});

test('prefers an allow to a deny in any order and of any prefix length', () => {
  const narrow = rule('deny', { protocol: 'udp', port: 27015, source: SOURCE });
  const wide = rule('allow', { protocol: 'udp' });
  assert.equal(outcome(evaluate({ rules: [narrow, wide] })), 'pass rules');
  assert.equal(outcome(evaluate({ rules: [denyAll, wide] })), 'pass rules');
});

test('does not exempt an allow from the filters', () => {
  const filters = [
    { ref: 'filter:1', type: 'udp-stateful', port: 27015, managed: false, safelist: [] },
  ] as const;
  const dropped = { filtered: UNVALIDATED };
  assert.equal(
    outcome(evaluate({ filters, rules: [rule('allow', { source: SOURCE })] }, {}, dropped)),
    'drop filters',
  );
  assert.equal(outcome(evaluate({ filters }, { protocol: 6 }, dropped)), 'pass default');
  assert.equal(outcome(evaluate({ filters }, { destinationPort: 1 }, dropped)), 'pass default');
});

test('matches "icmp" on an IPv6 address only for ICMPv6', () => {
  const to = {
    family: 6 as const,
    source: '2001:db8::7',
    destination: '2001:db8::10',
    icmp: { type: 128, code: 0 },
  };
  const policy = { target: '2001:db8::10', rules: [rule('deny', { protocol: 'icmp' })] };
  assert.equal(outcome(evaluate(policy, { ...to, protocol: 58 })), 'drop rules');
  assert.equal(outcome(evaluate(policy, { ...to, protocol: 1 })), 'pass default');
});

test('evaluates only the policy of the address, or else that of the longest prefix that has one', () => {
  const named = (target: string, ref: string): Policy => ({
    ...empty,
    target,
    rules: [{ ...denyAll, ref }],
  });
  const view: EdgeView = {
    settings,
    sourceSets: sets,
    policies: createPolicyTable([
      named('203.0.113.0/24', 'rule:1'),
      named('203.0.113.0/28', 'rule:2'),
      { ...empty, target: '203.0.113.1' },
      named('2001:db8::/32', 'rule:3'),
    ]),
  };
  const at = (destination: string, family: 4 | 6 = 4) =>
    decide(view, { ...udp, family, destination }, withinLimits).ref;
  assert.equal(at('203.0.113.1'), null);
  assert.equal(at('203.0.113.2'), 'rule:2');
  assert.equal(at('203.0.113.200'), 'rule:1');
  assert.equal(at('203.0.114.1'), null);
  assert.equal(at('2001:db8:1::1', 6), 'rule:3');
});

test('passes without geo rules and baseline if an allow matches or no deny does and the default accepts', () => {
  const drawn = policyFor(TARGET).chain((policy) =>
    fc.tuple(fc.constant(policy), packetTo(TARGET), sourceSets()),
  );
  fc.assert(
    fc.property(drawn, ([policy, packet, sourceSets]) => {
      const bare = { ...policy, baseline: [], blocked: [], geo: [] };
      const view = { settings, sourceSets, policies: createPolicyTable([bare]) };
      const alone = (rules: readonly PolicyRule[]) =>
        rules.some(
          (one) =>
            decide(
              { ...view, policies: createPolicyTable([{ ...bare, rules: [one] }]) },
              packet,
              withinLimits,
            ).ref === one.ref,
        );
      const allowed = alone(bare.rules.filter((one) => one.action === 'allow'));
      const denied = alone(bare.rules.filter((one) => one.action === 'deny'));
      const verdict = decide(view, packet, withinLimits);
      if (verdict.stage === 'needed-icmp') return;
      assert.equal(
        verdict.action,
        allowed || (!denied && policy.default === 'accept') ? 'pass' : 'drop',
      );
    }),
  );
});
