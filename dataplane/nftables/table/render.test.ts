import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import type { Policy, PolicyRule } from '@portcullis/core/firewall/policy.ts';
import { edgeRules } from '../../testing/policies.ts';
import { DEFAULT_FILTERING } from '../filters/compile.ts';
import { compilePolicy } from '../policy/compile.ts';
import type { EdgeRules } from './edge-rules.ts';
import { type Layout, planLayout } from './layout.ts';
import { renderDelta, renderWhole } from './render.ts';

const HOST: Policy = {
  target: '203.0.113.10',
  ...EMPTY_POLICY,
  baseline: [rule('deny', 'udp', 1900)],
  geo: [{ ref: 'geo-rule:1', action: 'deny', sets: ['asn:64496', 'country:AA'] }],
  rules: [
    allow('tcp', 443),
    allow('tcp', 22, '198.51.100.0/24'),
    allow('tcp', 22, '198.51.100.7'),
    allow('icmp', null),
    allow('any', null, '198.51.100.99'),
    rule('deny', 'udp', 19),
    rule('deny', 'any', null),
  ],
};

const PREFIXES: readonly Policy[] = [
  policy('203.0.113.0/24', [rule('deny', 'udp', 53, '192.0.2.0/24')]),
  policy('203.0.113.64/26', [allow('tcp', 80), rule('deny', 'any', null)]),
  policy('2001:db8:5::/64', [
    rule('deny', 'icmp', null),
    rule('deny', 'any', null, '2001:db8:bad::/48'),
  ]),
  policy('2001:db8:5::10', [allow('gre', null), allow('esp', null), rule('deny', 'any', null)]),
];

function layout(policies: readonly Policy[], change: Partial<EdgeRules> = {}): Layout {
  const rules = edgeRules(change);
  const filtering = { ...DEFAULT_FILTERING, sees: rules.sees };
  const targets = new Map(policies.map((one) => [one.target, compilePolicy(one, filtering)]));
  return planLayout(rules, targets, SETS);
}

function policy(target: string, rules: readonly PolicyRule[]): Policy {
  return { target, ...EMPTY_POLICY, rules, filters: [] };
}

function allow(
  protocol: PolicyRule['protocol'],
  port: number | null,
  source: string | null = null,
): PolicyRule {
  return rule('allow', protocol, port, source);
}

function rule(
  action: PolicyRule['action'],
  protocol: PolicyRule['protocol'],
  port: number | null,
  source: string | null = null,
): PolicyRule {
  return { ref: 'rule:1', action, protocol, port, source };
}

const SETS = {
  version: '1',
  sets: { 'country:AA': ['192.0.2.0/25', '2001:db8:aa::/48'], 'asn:64496': ['192.0.2.128/25'] },
};

describe('the text of a change', () => {
  it('is empty if nothing changed', () => {
    const before = layout([HOST, ...PREFIXES]);
    const { sizes } = renderWhole(before);
    const delta = renderDelta(before, layout([HOST, ...PREFIXES]), before.targets.keys(), sizes);
    assert.equal(delta?.text, '');
  });

  it('does not exist if a map exceeds its size or the stages change', () => {
    const before = layout([HOST]);
    const { sizes } = renderWhole(before);
    const many = Array.from({ length: 100 }, (_, host) => ({
      ...HOST,
      target: `203.0.113.${host}`,
    }));
    const grown = layout(many);
    assert.equal(renderDelta(before, grown, grown.targets.keys(), sizes), null);
    const others = layout([HOST], { fragments: 'limit' });
    assert.equal(renderDelta(before, others, [], sizes), null);
  });

  it('names no chain in the elements of an address, so that the kernel does not validate the others', () => {
    const shut = policy('203.0.113.20', [rule('deny', 'any', null)]);
    const before = layout([shut]);
    const whole = renderWhole(before);
    const after = layout([shut, HOST]);
    const delta = renderDelta(before, after, after.targets.keys(), whole.sizes);
    const { prepare, elements } = delta?.steps ?? { prepare: '', elements: [] };
    const values = elements.flatMap(({ added }) => added.map(([, value]) => value));
    const numbers = values.filter((value) => value !== null);
    assert.ok(numbers.length > 5);
    assert.deepEqual(
      numbers.filter((value) => !/^[\da-f]+:[\da-f]+$/.test(value)),
      [],
    );
    // Their verdicts are there before.
    for (const value of numbers)
      assert.ok(`${whole.text}${prepare}`.includes(`${value} : `), value);
    // Hosts use the mark of a packet.
    assert.doesNotMatch(`${whole.text}${prepare}`, /meta mark set/);
    const back = renderDelta(after, before, after.targets.keys(), delta?.sizes ?? new Map());
    assert.equal(back?.steps?.prepare, '');
    assert.match(back?.steps?.cleanup ?? '', /^delete element inet portcullis verdicts_/);
  });

  it('does not exist if a number would mean another verdict', () => {
    const before = layout([HOST]);
    const { sizes } = renderWhole(before);
    const ports = before.verdicts.get('verdicts_port') ?? new Map<string, string>();
    const [one = '', other = ''] = [...ports.keys()];
    const exchanged = new Map(ports)
      .set(one, ports.get(other) ?? '')
      .set(other, ports.get(one) ?? '');
    const after = { ...before, verdicts: new Map(before.verdicts).set('verdicts_port', exchanged) };
    assert.notEqual(one, other);
    assert.equal(renderDelta(before, after, [], sizes), null);
  });

  it('refills the device chains if only these change', () => {
    const before = layout([HOST]);
    const { sizes } = renderWhole(before);
    const delta = renderDelta(before, layout([HOST], { devices: ['wan', 'eth1'] }), [], sizes);
    assert.match(
      delta?.text ?? '',
      /^flush chain inet portcullis prerouting\nadd rule inet portcullis prerouting iifname != \{ "eth1", "wan" \} accept\n/,
    );
    assert.doesNotMatch(delta?.text ?? '', /element|judge\n(?:add|flush).* judge /);
    assert.equal(delta?.steps, null);
  });
});
