import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decide } from '../decide/decide.ts';
import { FIRST_PACKET } from '../decide/first-packet.ts';
import { type DefaultAction, EMPTY_POLICY } from '../policy.ts';
import { createPolicyTable } from '../policy-table.ts';
import { packetTo } from '../testing/arbitraries.ts';
import { findDecidingRule } from './deciding-rule.ts';
import { processorClock } from '../../testing/processor-clock.ts';
import { explainNewRules } from './no-effect.ts';
import type { RuleContent } from './content.ts';

const content: fc.Arbitrary<RuleContent> = fc
  .record({
    action: fc.constantFrom('allow' as const, 'deny' as const),
    protocol: fc.constantFrom('any' as const, 'tcp' as const, 'udp' as const),
    port: fc.constantFrom(null, 80, 443),
    source: fc.constantFrom(null, '10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.3'),
  })
  .map((rule) => (rule.protocol === 'any' ? { ...rule, port: null } : rule));

const stored = (rule: RuleContent, id: number) => ({ ...rule, id, group: null });

test('names the same rule as a comparison with every rule', () => {
  fc.assert(
    fc.property(
      fc.array(content, { maxLength: 8 }),
      content,
      fc.boolean(),
      fc.constantFrom('accept' as const, 'deny' as const),
      (some, added, hasGeoRules, fallback) => {
        const rules = some.map((rule, at) => stored(rule, at + 1));
        const decider = findDecidingRule(rules, added, hasGeoRules);
        const sentences = explainNewRules({ rules, hasGeoRules, default: fallback }, [
          added,
        ]).filter((sentence) => sentence.includes('decides first'));
        assert.equal(sentences.length, decider === null ? 0 : 1);
        if (decider !== null) assert.match(sentences[0] ?? '', new RegExp(`rule ${decider.id} `));
      },
    ),
    { numRuns: 500 },
  );
});

test('compares thousands of rules with thousands without blocking', () => {
  const deny = (at: number): RuleContent => ({
    action: 'deny',
    protocol: 'any',
    port: null,
    source: `10.0.${at >> 8}.${at & 255}`,
  });
  const rules = Array.from({ length: 3_000 }, (_, at) => stored(deny(at), at + 1));
  const added = Array.from({ length: 3_000 }, (_, at) => deny(at + 3_000));
  const tookMs = processorClock();
  const there = { rules, hasGeoRules: false, default: 'accept' } as const;
  assert.deepEqual(explainNewRules(there, added), []);
  const allow = added.map((rule) => ({ ...rule, action: 'allow' as const }));
  assert.deepEqual(explainNewRules(there, allow), []);
  assert.match(
    explainNewRules({ ...there, rules: [] }, allow).join(),
    /what no rule matches is open too/,
  );
  assert.ok(tookMs() < 1_500);
});

/** Verdicts are those of `decide`, so the sentence says what edges do. */
test('says that the default gives the verdict exactly where a rule changes none', () => {
  const policy = { ...EMPTY_POLICY, target: '203.0.113.10' };
  const packets = fc.sample(packetTo(policy.target), { numRuns: 300, seed: 7 });
  const verdicts = (rules: readonly RuleContent[], fallback: DefaultAction): string[] => {
    const own = rules.map((rule, at) => ({ ...rule, ref: `rule:${at + 1}` }));
    const policies = createPolicyTable([{ ...policy, rules: own, default: fallback }]);
    const settings = {
      localAddresses: [],
      management: [],
      sees: 'both',
      fragments: 'reassemble',
    } as const;
    const edge = { settings, policies, sourceSets: { version: '1', sets: {} } };
    return packets.map((packet) => decide(edge, packet, FIRST_PACKET).action);
  };
  fc.assert(
    fc.property(
      fc.array(content, { maxLength: 3 }),
      content,
      fc.constantFrom('accept' as const, 'deny' as const),
      (some, added, fallback) => {
        const rules = some.map((rule, at) => stored(rule, at + 1));
        const there = { rules, hasGeoRules: false, default: fallback };
        const said = explainNewRules(there, [added]).filter((one) => one.includes('no verdict'));
        if (said.length === 0) return;
        assert.deepEqual(verdicts([...some, added], fallback), verdicts(some, fallback));
      },
    ),
  );
});

test('says what of a denied source still passes through allow rules, and how to close it', () => {
  const allow = (over: Partial<RuleContent>): RuleContent => ({
    action: 'allow',
    protocol: 'tcp',
    port: 80,
    source: null,
    ...over,
  });
  const rules = [
    allow({}),
    allow({ protocol: 'udp', port: 53, source: '192.0.2.0/24' }),
    allow({ port: 443, source: '198.51.100.0/24' }),
  ].map((rule, at) => stored(rule, at + 1));
  const there = { rules, hasGeoRules: false, default: 'accept' } as const;
  const deny: RuleContent = { action: 'deny', protocol: 'any', port: null, source: '192.0.2.7' };
  const [sentence = '', ...others] = explainNewRules(there, [deny]);
  assert.deepEqual(others, []);
  assert.match(
    sentence,
    /^Packets from 192\.0\.2\.7 still pass to tcp 80, udp 53: .*firewall block 192\.0\.2\.7/,
  );
  assert.deepEqual(explainNewRules({ ...there, rules: [] }, [deny]), []);
});

test('a deny behind an allow is not said to be dropped by the default already', () => {
  const allow = { action: 'allow', protocol: 'tcp', port: 4444, source: null } as const;
  const deny = { action: 'deny', protocol: 'tcp', port: 4444, source: '203.0.113.9' } as const;
  const there = { rules: [stored(allow, 1)], hasGeoRules: false, default: 'deny' } as const;
  const said = explainNewRules(there, [deny]).join(' ');
  assert.doesNotMatch(said, /dropped already/);
  assert.match(said, /rule 1 .* decides first/);
  assert.match(said, /Packets from 203\.0\.113\.9 still pass to tcp 4444/);
  assert.match(explainNewRules({ ...there, rules: [] }, [deny]).join(), /dropped already/);
});
