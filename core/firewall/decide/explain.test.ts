import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Verdict } from './decide.ts';
import { explainVerdict } from './explain.ts';
import { EMPTY_POLICY, type Policy } from '../policy.ts';

const policy: Policy = {
  ...EMPTY_POLICY,
  target: '203.0.113.10',
  baseline: [{ ref: 'baseline:3', action: 'deny', protocol: 'udp', port: 1900, source: null }],
  geo: [{ ref: 'geo-rule:2', action: 'only', sets: ['asn:64496', 'country:DE'] }],
  rules: [
    { ref: 'rule:4', action: 'allow', protocol: 'tcp', port: 80, source: '192.0.2.0/24' },
    { ref: 'rule:12', action: 'deny', protocol: 'udp', port: 19, source: null },
    { ref: 'group-rule:7', action: 'deny', protocol: 'any', port: null, source: null },
  ],
  filters: [{ ref: 'filter:9', type: 'udp-stateful', port: 27015, managed: false, safelist: [] }],
};

describe('explainVerdict', () => {
  const cases: readonly [Omit<Verdict, 'observed'>, string][] = [
    [{ action: 'drop', stage: 'rules', ref: 'rule:12' }, 'rule 12 (deny udp 19)'],
    [{ action: 'drop', stage: 'rules', ref: 'group-rule:7' }, 'group rule 7 (deny any)'],
    [
      { action: 'pass', stage: 'named-allows', ref: 'rule:4' },
      'rule 4 (allow tcp 80 from 192.0.2.0/24)',
    ],
    [
      { action: 'drop', stage: 'baseline', ref: 'baseline:3' },
      "the operator's baseline rule 3 (deny udp 1900)",
    ],
    [
      { action: 'drop', stage: 'geo', ref: 'geo-rule:2' },
      'geo rule 2 (only asn:64496, country:DE)',
    ],
    [
      { action: 'drop', stage: 'filters', ref: 'filter:9' },
      'the filter udp-stateful on port 27015',
    ],
    [{ action: 'drop', stage: 'mitigations', ref: 'mitigation:1' }, 'mitigation 1'],
  ];
  for (const [verdict, decider] of cases) {
    it(`names the decider at stage ${verdict.stage}: ${decider}`, () => {
      const does = verdict.action === 'pass' ? 'passes' : 'is dropped';
      assert.equal(
        explainVerdict({ ...verdict, observed: [] }, policy),
        `The packet ${does}: ${decider} decides.`,
      );
    });
  }

  it('distinguishes an address without a policy from a policy without a matching rule', () => {
    const passed = { action: 'pass', stage: 'default', ref: null, observed: [] } as const;
    assert.match(explainVerdict(passed, null), /no policy covers this address/);
    assert.match(explainVerdict(passed, policy), /default of this address is accept/);
    const dropped = { ...passed, action: 'drop' } as const;
    assert.match(explainVerdict(dropped, policy), /is dropped: no rule.*default.* is deny/);
  });

  it('describes the action of a mitigation', () => {
    const attacked: Policy = {
      ...policy,
      mitigations: [
        {
          ref: 'mitigation:7',
          mode: 'enforce',
          protocol: 'udp',
          sourcePort: 53,
          destinationPort: null,
          source: null,
          safelist: [],
          fragment: 'any',
          limit: null,
        },
      ],
      filters: [
        { ref: 'mitigation:8', type: 'tcp-syn-proxy', port: 80, managed: true, safelist: [] },
      ],
    };
    assert.equal(
      explainVerdict(
        { action: 'drop', stage: 'mitigations', ref: 'mitigation:7', observed: [] },
        attacked,
      ),
      'The packet is dropped: mitigation 7 (against an attack: drops UDP from port 53) decides.',
    );
    assert.equal(
      explainVerdict(
        { action: 'drop', stage: 'filters', ref: 'mitigation:8', observed: [] },
        attacked,
      ),
      'The packet is dropped: the filter tcp-syn-proxy on port 80, mitigation 8 against an attack decides.',
    );
  });

  it('names the observing mitigations that would have dropped the packet', () => {
    const passed = {
      action: 'pass',
      stage: 'default',
      ref: null,
      observed: ['mitigation:5'],
    } as const;
    assert.match(explainVerdict(passed, policy), /passes.* mitigation 5 only observes/);
  });
});
