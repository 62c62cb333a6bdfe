import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type {
  Mitigation,
  Policy,
  PolicyFilter,
  PolicyRule,
} from '@portcullis/core/firewall/policy.ts';
import { edgeRules } from '../testing/policies.ts';
import { compilePolicy } from './policy/compile.ts';
import type { EdgeRules } from './table/base-chain.ts';
import { DEFAULT_FILTERING } from './filters/compile.ts';
import { type Layout, planLayout } from './table/layout.ts';
import { renderDelta, renderWhole } from './table/render.ts';

/** To accept what is rendered now, read the difference, then: PORTCULLIS_GOLDEN=write. */
function assertGolden(name: string, text: string): void {
  const path = join(import.meta.dirname, 'golden', `${name}.nft`);
  if (process.env['PORTCULLIS_GOLDEN'] === 'write') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'));
}

const SETS = {
  version: '1',
  sets: { 'country:AA': ['192.0.2.0/25', '2001:db8:aa::/48'], 'asn:64496': ['192.0.2.128/25'] },
};

describe('rendered text', () => {
  it('is what a person reviewed: nothing protected', () => {
    assertGolden('empty', renderWhole(layout([])).text);
  });

  it('is what a person reviewed: one host with a bit of everything', () => {
    assertGolden('host', renderWhole(layout([HOST])).text);
  });

  it('is what a person reviewed: IPv6, prefixes inside each other, an address of its own', () => {
    assertGolden('prefixes', renderWhole(layout(PREFIXES)).text);
  });

  it('is what a person reviewed: filters of a host, and of a prefix with a host of its own', () => {
    assertGolden('filters', renderWhole(layout(FILTERED)).text);
    assertGolden('filters-inbound', renderWhole(layout(FILTERED, { sees: 'inbound' })).text);
  });

  it('is what a person reviewed: an address and a prefix under attack', () => {
    assertGolden('mitigated', renderWhole(layout(ATTACKED)).text);
  });

  it('is what a person reviewed: the first filter, and the last one gone', () => {
    const before = layout([HOST]);
    const after = layout([{ ...HOST, filters: FILTERED[0]?.filters ?? [] }]);
    const { sizes } = renderWhole(before);
    const there = renderDelta(before, after, [HOST.target], sizes);
    assert.ok(there);
    assertGolden('filters-first', there.text);
    const back = renderDelta(after, before, [HOST.target], there.sizes);
    assertGolden('filters-last', back?.text ?? '');
  });

  it('is what a person reviewed: an edge that sees one direction and parts of datagrams', () => {
    assertGolden('inbound', renderWhole(layout([], { sees: 'inbound', fragments: 'limit' })).text);
  });

  it('is what a person reviewed: a change of one host and one prefix', () => {
    const before = layout([HOST, ...PREFIXES]);
    const changed = {
      ...HOST,
      geo: [],
      rules: [...HOST.rules, allow('tcp', 8080, '198.51.100.7')],
    };
    const after = layout([changed, ...PREFIXES.slice(1)]);
    const targets = new Set([...before.targets.keys(), ...after.targets.keys()]);
    const { text, sizes } = renderWhole(before);
    assertGolden('change-before', text);
    assertGolden('change', renderDelta(before, after, targets, sizes)?.text ?? '');
  });

  it('of a delta is empty where nothing changed', () => {
    const before = layout([HOST, ...PREFIXES]);
    const { sizes } = renderWhole(before);
    const delta = renderDelta(before, layout([HOST, ...PREFIXES]), before.targets.keys(), sizes);
    assert.equal(delta?.text, '');
  });

  it('of a delta does not exist where a map outgrows its room or the stages change', () => {
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

  it('of a delta fills the chains of devices anew where only those change', () => {
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

const HOST: Policy = {
  target: '203.0.113.10',
  mitigations: [],
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
  filters: [],
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

const FILTERED: readonly Policy[] = [
  {
    ...policy('203.0.113.10', [allow('udp', 27015), rule('deny', 'any', null)]),
    filters: [filter('udp-stateful', 27015), filter('tcp-syn-proxy', 27015)],
  },
  { ...policy('203.0.113.0/28', []), filters: [filter('udp-stateful', 27015)] },
  policy('203.0.113.11', [rule('deny', 'udp', 19)]),
  { ...policy('2001:db8:5::10', []), filters: [filter('udp-stateful', 19132)] },
];

function filter(type: PolicyFilter['type'], port: number): PolicyFilter {
  return { ref: `filter:${type}`, type, port, managed: false, safelist: [] };
}

const MITIGATION: Mitigation = {
  ref: 'mitigation:1',
  mode: 'enforce',
  protocol: 'udp',
  sourcePort: 53,
  destinationPort: null,
  source: null,
  safelist: ['192.0.2.0/24', '192.0.2.7', '2001:db8:9::/64'],
  fragment: 'any',
  limit: null,
};
const OF_ATTACK = { ref: 'mitigation:6', managed: true, safelist: MITIGATION.safelist };
const ATTACKED: readonly Policy[] = [
  {
    ...HOST,
    mitigations: [
      MITIGATION,
      { ...MITIGATION, ref: 'mitigation:2', sourcePort: null, fragment: 'later', mode: 'observe' },
      {
        ...MITIGATION,
        ref: 'mitigation:3',
        sourcePort: null,
        destinationPort: 27_015,
        safelist: [],
        limit: { per: 'destination', pps: 500, strangersOnly: true },
      },
      {
        ...MITIGATION,
        ref: 'mitigation:4',
        protocol: 'any',
        sourcePort: null,
        source: '198.51.100.0/24',
        limit: { per: 'source', pps: 2000, strangersOnly: false },
      },
    ],
    filters: [
      filter('udp-stateful', 27_015),
      { ...filter('udp-stateful', 27_016), ...OF_ATTACK },
      { ...filter('tcp-syn-proxy', 443), ...OF_ATTACK },
    ],
  },
  {
    ...HOST,
    target: '2001:db8:7::/48',
    rules: [],
    baseline: [],
    geo: [],
    filters: [],
    mitigations: [{ ...MITIGATION, ref: 'mitigation:5', fragment: 'later', sourcePort: null }],
  },
];

function layout(policies: readonly Policy[], change: Partial<EdgeRules> = {}): Layout {
  const rules = edgeRules(change);
  const filtering = { ...DEFAULT_FILTERING, sees: rules.sees };
  const targets = new Map(policies.map((one) => [one.target, compilePolicy(one, filtering)]));
  return planLayout(rules, targets, SETS);
}

function policy(target: string, rules: readonly PolicyRule[]): Policy {
  return { target, mitigations: [], baseline: [], geo: [], rules, filters: [] };
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
