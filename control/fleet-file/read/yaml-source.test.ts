import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { MistakeList } from '../mistakes.ts';
import { locateYaml, readYaml } from './yaml-source.ts';

const ENV = { SECRET: 'x' };
const both = (text: string) => {
  const mistakes = new MistakeList('fleet.yaml');
  const located = locateYaml(text, ENV, mistakes);
  const isRight = located !== null && mistakes.empty;
  return { fast: readYaml(text, ENV)?.value, slow: isRight ? located.value : undefined };
};

test('the fast reader gives the values of the one with positions, or leaves the file to it', () => {
  const scalar = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    // Nothing in a fleet file tells -0 from 0.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number || 0),
    fc.constantFrom(
      '${SECRET}',
      '$${SECRET}',
      '1_000',
      '010',
      '0x1F',
      '0b11',
      'yes',
      '~',
      '2026-11-21',
    ),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    ),
  }));
  let fastReads = 0;
  fc.assert(
    fc.property(value, fc.boolean(), (drawn, flow) => {
      const { fast, slow } = both(stringify(drawn, { collectionStyle: flow ? 'flow' : 'any' }));
      if (fast === undefined) return;
      fastReads++;
      assert.deepEqual(fast, slow);
    }),
    { numRuns: 1_000 },
  );
  assert.ok(fastReads > 300, `${fastReads} were read fast`);
});

test('the fast reader takes patterns of devices and marks inside texts', () => {
  const text = 'edges: [{ name: a, devices: ["ens*", eth0] }]\nsecret: a&b*c';
  assert.deepEqual(readYaml(text, ENV)?.value, both(text).slow);
});

test('the fast reader leaves anchors, repeated keys, unset variables and deep nesting to the other', () => {
  for (const text of [
    'a: &x 1\nb: *x',
    'a: 1\na: 2',
    'a: ${UNSET}',
    'a: 1_000',
    '{"k":&a [1]}',
    '['.repeat(100_000),
    'a: 1\n---\nb: 2',
  ]) {
    assert.equal(readYaml(text, ENV), null, text.slice(0, 20));
  }
});
