import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PolicyRule } from '@portcullis/core/firewall/policy.ts';
import { processorClock } from '@portcullis/core/testing/processor-clock.ts';
import { compilePolicy } from '../nftables/policy/compile.ts';
import { covers, type MatchRule, networkFrom, overlapping, PolicyError } from './match.ts';
import {
  CoverIndex,
  coversAmong,
  OverlapIndex,
  overlapsAmong,
  sourceLengths,
} from './rule-index.ts';

const network = fc
  .tuple(fc.integer({ min: 0, max: 31 }), fc.integer({ min: 1, max: 5 }))
  .map(([bits, length]) => {
    const first = ((bits >> (5 - length)) << (8 - length)) & 255;
    return { kind: 'network' as const, cidr: networkFrom(`${first}.0.0.0/${length}`) };
  });
const source = fc.oneof(
  fc.constant(null),
  network,
  fc.record({
    kind: fc.constant('sets' as const),
    names: fc.constantFrom(['a'], ['a', 'b']),
    inside: fc.boolean(),
  }),
);
const rule: fc.Arbitrary<MatchRule> = fc
  .tuple(
    fc.constantFrom('accept' as const, 'drop' as const),
    fc.constantFrom(null, 6, 17),
    fc.constantFrom(null, 80, 443),
    source,
  )
  .map(([outcome, protocol, port, from]) => {
    return { outcome, protocol, port: protocol === null ? null : port, source: from };
  });

test('indexes and short lists give the same result as a comparison with every rule', () => {
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 12 }), rule, (rules, requested) => {
      const all = [...rules, requested];
      const lengths = sourceLengths(all);
      const wanted = rules.findLastIndex((one) => overlapping(one, requested));
      for (const [overlap, cover] of [
        [new OverlapIndex(lengths), new CoverIndex(lengths)],
        [overlapsAmong(all), coversAmong(all)],
      ] as const) {
        for (const [at, one] of rules.entries()) {
          overlap.add(one, at);
          cover.add(one);
        }
        assert.equal(Math.max(-1, overlap.highest(requested)), wanted);
        assert.equal(
          cover.covers(requested),
          rules.some((one) => covers(one, requested)),
        );
      }
    }),
    { numRuns: 1000 },
  );
});

const address = { target: '203.0.113.10', ...EMPTY_POLICY };

function allowed(count: number, of: (at: number) => Pick<PolicyRule, 'port' | 'source'>) {
  return Array.from({ length: count }, (_, at): PolicyRule => {
    const { port, source } = of(at);
    const [action, protocol] = [
      at % 2 === 0 ? 'allow' : 'deny',
      port === null ? 'any' : 'tcp',
    ] as const;
    return { ref: `rule:${at}`, action, protocol, port, source };
  });
}
const bySource = (at: number) => ({
  port: null,
  source: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`,
});
const byPort = (at: number) => ({ port: at + 1, source: null });

test('compiles ten thousand rules of an address in seconds, with sources or with ports', () => {
  for (const [of, elements] of [
    [bySource, 5_001],
    [byPort, 5_001],
  ] as const) {
    const tookMs = processorClock();
    const compiled = compilePolicy({ ...address, rules: allowed(10_000, of) });
    assert.equal(compiled.elements.length, elements);
    assert.ok(tookMs() < 2_500);
  }
});

test('rejects combinations of ports and sources that cannot be compiled in time, with an explanation', () => {
  const rules = [...allowed(20_000, byPort), ...allowed(20_000, bySource)];
  const tookMs = processorClock();
  assert.throws(
    () => compilePolicy({ ...address, rules }),
    (error) =>
      error instanceof PolicyError && /20000 ports beside 20000 sources/.test(error.message),
  );
  assert.ok(tookMs() < 5_000);
});
