import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { MistakeList } from '../mistakes.ts';
import { locateYaml } from './yaml-source.ts';

function read(text: string): unknown {
  const mistakes = new MistakeList('fleet.yaml');
  const located = locateYaml(text, { SECRET: 'x' }, mistakes);
  assert.deepEqual(mistakes.list(), []);
  return located?.value;
}

test('reads no variable of the environment for each lexeme, and leaves the environment as it is', (t) => {
  const { env } = process;
  let reads = 0;
  const counting = new Proxy(env, {
    get(target, name) {
      reads += 1;
      return Reflect.get(target, name);
    },
  });
  t.after(() => {
    process.env = env;
  });
  process.env = counting;
  const texts = ['- { a: 1, b: [2, 3] }\n'.repeat(100), 'a: [1\n', '['.repeat(100)];
  for (const text of texts) {
    locateYaml(text, {}, new MistakeList('fleet.yaml'));
    assert.equal(process.env, counting);
  }
  assert.equal(reads, 0);
});

test('reads the values that were written, in block and flow style', () => {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      // A dollar may begin a variable.
      fc.string().map((text) => text.replaceAll('$', '')),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4, noNullPrototype: false }),
    ),
  }));
  fc.assert(
    fc.property(value, fc.boolean(), (drawn, flow) => {
      const text = stringify(drawn, { collectionStyle: flow ? 'flow' : 'any' });
      assert.equal(JSON.stringify(read(text)), JSON.stringify(drawn));
    }),
    { numRuns: 1_000 },
  );
});

test('takes patterns of devices and marks inside texts', () => {
  const text = 'edges: [{ name: a, devices: ["ens*", eth0] }]\nsecret: a&b*c ${SECRET} $${SECRET}';
  assert.equal(
    JSON.stringify(read(text)),
    '{"edges":[{"name":"a","devices":["ens*","eth0"]}],"secret":"a&b*c x ${SECRET}"}',
  );
});

test('reads numbers, anchors and words of YAML 1.1 by the core schema of YAML 1.2', () => {
  const text = 'a: &x [010, 0x1F]\nb: *x\nc: [yes, 1_000, 0b11, ~, 2026-11-21]';
  assert.equal(
    JSON.stringify(read(text)),
    '{"a":[10,31],"b":[10,31],"c":["yes","1_000","0b11",null,"2026-11-21"]}',
  );
});
