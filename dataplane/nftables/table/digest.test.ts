import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { policyFor, sourceSets } from '@portcullis/core/firewall/testing/arbitraries.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { edgeRules } from '../../testing/policies.ts';
import { compilePolicy } from '../policy/compile.ts';
import { LayoutDigest } from './digest.ts';
import { type Layout, planLayout } from './layout.ts';
import { renderWhole } from './render.ts';

const TARGETS = ['203.0.113.10', '203.0.113.20', '203.0.113.0/24', '2001:db8::1'];

function layoutOf(policies: readonly Policy[], sets: SourceSets): Layout {
  const targets = policies.map((policy) => [policy.target, compilePolicy(policy)] as const);
  return planLayout(edgeRules(), new Map(targets), sets);
}

/** Independent of the order. Each line is with the block that it is in: two sets may have exchanged their elements. */
function linesOf(layout: Layout): string {
  let block = '';
  const lines = renderWhole(layout).text.replaceAll(',\n', '\n').split('\n');
  const placed = lines.map((line) => {
    if (line.endsWith('{')) block = line;
    const within = `${block} ${line}`;
    // What follows a block is in none: blocks may have exchanged their places.
    if (line.trim() === '}') block = '';
    return within;
  });
  return placed.toSorted().join('\n');
}

test('covers everything that is written, and nothing else', async () => {
  const policies = fc.tuple(...TARGETS.map((target) => policyFor(target)));
  // Previous calls must not matter.
  const digest = new LayoutDigest();
  let [same, other] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      policies,
      sourceSets(),
      fc.nat(TARGETS.length - 1),
      fc.option(policies, { freq: 2 }),
      fc.option(sourceSets(), { freq: 2 }),
      async (all, sets, index, others, otherSets) => {
        const changed = all.with(index, others?.[index] ?? (all[index] as Policy)).toReversed();
        const [one, two] = [layoutOf(all, sets), layoutOf(changed, otherSets ?? sets)];
        const equal = linesOf(one) === linesOf(two);
        if (equal) same += 1;
        else other += 1;
        const ofOne = await digest.of(one);
        assert.equal(ofOne === (await digest.of(two)), equal);
        assert.equal(await new LayoutDigest().of(one), ofOne);
      },
    ),
    { numRuns: 300 },
  );
  assert.ok(same > 20 && other > 20, `${same} the same, ${other} others`);
});
