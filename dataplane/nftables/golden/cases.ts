import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import type {
  Mitigation,
  Policy,
  PolicyFilter,
  PolicyRule,
} from '@portcullis/core/firewall/policy.ts';
import { edgeRules } from '../../testing/policies.ts';
import { compilePolicy } from '../policy/compile.ts';
import { DEFAULT_FILTERING } from '../filters/compile.ts';
import type { EdgeRules } from '../table/edge-rules.ts';
import { type Layout, planLayout } from '../table/layout.ts';
import { renderDelta, renderWhole } from '../table/render.ts';

/** A rendered text that a person reviews. */
export interface GoldenCase {
  readonly name: string;
  readonly text: string;
  /** The case to which the file holds the differences; null if it holds the whole text. */
  readonly baseline: string | null;
  /** For a change, the text of the table before it. Null if the text is a whole table. */
  readonly initial: string | null;
}

export const HOST: Policy = {
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

export const PREFIXES: readonly Policy[] = [
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
    filters: [
      filter('udp-stateful', 27015),
      { ...filter('tcp-syn-proxy', 27015), settings: { newPerSecond: 50 } },
    ],
  },
  { ...policy('203.0.113.0/28', []), filters: [filter('udp-stateful', 27015)] },
  policy('203.0.113.11', [rule('deny', 'udp', 19)]),
  {
    ...policy('2001:db8:5::10', []),
    filters: [
      {
        ...filter('udp-stateful', 19132),
        settings: { sourcePps: 200, minLength: 1, maxLength: 1200, sourcePorts: '53,1024-65535' },
      },
    ],
  },
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
      ...(['tcp', 'any'] as const).map((protocol) => ({
        ...MITIGATION,
        ref: `mitigation:7-${protocol}`,
        protocol,
        sourcePort: null,
        safelist: [],
        limit: { per: 'destination', pps: 500, strangersOnly: true } as const,
      })),
      ...(['udp', 'gre', 'any'] as const).map((protocol) => ({
        ...MITIGATION,
        ref: `mitigation:8-${protocol}`,
        protocol,
        sourcePort: null,
        source: '198.51.100.7',
        safelist: [],
        limit: { per: 'source', pps: 0, strangersOnly: true, answeredPps: 250 } as const,
      })),
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
    ...EMPTY_POLICY,
    mitigations: [{ ...MITIGATION, ref: 'mitigation:5', fragment: 'later', sourcePort: null }],
  },
];

export function layout(policies: readonly Policy[], change: Partial<EdgeRules> = {}): Layout {
  const rules = edgeRules(change);
  const filtering = { ...DEFAULT_FILTERING, sees: rules.sees };
  const targets = new Map(policies.map((one) => [one.target, compilePolicy(one, filtering)]));
  return planLayout(rules, targets, SETS);
}

function policy(target: string, rules: readonly PolicyRule[]): Policy {
  return { target, ...EMPTY_POLICY, rules, filters: [] };
}

export function allow(
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

export function goldenCases(): GoldenCase[] {
  return [
    whole('empty', layout([]), null),
    whole('filters', layout(FILTERED)),
    whole('mitigated', layout(ATTACKED)),
    change(),
  ];
}

function whole(name: string, of: Layout, baseline: string | null = 'empty'): GoldenCase {
  return { name, text: renderWhole(of).text, baseline, initial: null };
}

/** A geo rule goes, a rule comes, a target goes, and the first filters come. */
function change(): GoldenCase {
  const before = layout([HOST, ...PREFIXES]);
  const rules = [...HOST.rules, allow('tcp', 8080, '198.51.100.7')];
  const filters = FILTERED[0]?.filters ?? [];
  const after = layout([{ ...HOST, geo: [], rules, filters }, ...PREFIXES.slice(1)]);
  const targets = new Set([...before.targets.keys(), ...after.targets.keys()]);
  const { text: initial, sizes } = renderWhole(before);
  const delta = renderDelta(before, after, targets, sizes);
  return { name: 'change', text: delta?.text ?? '', baseline: null, initial };
}
