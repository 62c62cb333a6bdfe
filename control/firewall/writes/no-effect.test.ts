import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findDecidingRule } from '@portcullis/core/firewall/decide/no-effect.ts';
import { processorClock } from '@portcullis/core/testing/processor-clock.ts';
import { explainNewRules } from './no-effect.ts';
import type { RuleContent, StoredRule } from '../objects.ts';

const content: fc.Arbitrary<RuleContent> = fc
  .record({
    action: fc.constantFrom('allow' as const, 'deny' as const),
    protocol: fc.constantFrom('any' as const, 'tcp' as const, 'udp' as const),
    port: fc.constantFrom(null, 80, 443),
    source: fc.constantFrom(null, '10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.3'),
  })
  .map((rule) => (rule.protocol === 'any' ? { ...rule, port: null } : rule));

const stored = (rule: RuleContent, id: number): StoredRule => ({ ...rule, id, group: null });

test('names the same rule as a comparison with every rule', () => {
  fc.assert(
    fc.property(
      fc.array(content, { maxLength: 8 }),
      content,
      fc.boolean(),
      (some, added, hasGeoRules) => {
        const rules = some.map((rule, at) => stored(rule, at + 1));
        const decider = findDecidingRule(rules, added, hasGeoRules);
        const sentences = explainNewRules({ rules, hasGeoRules }, [added]);
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
  assert.deepEqual(explainNewRules({ rules, hasGeoRules: false }, added), []);
  assert.ok(tookMs() < 1_500);
});
