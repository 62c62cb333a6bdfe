import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SOURCE_SET_NAMES, sourceAddress, sourceSets } from './testing/arbitraries.ts';
import { networkContains } from './match.ts';
import { anySetHas } from './source-sets.ts';

const names = fc.uniqueArray(fc.constantFrom(...SOURCE_SET_NAMES, 'country:ZZ', 'constructor'));
const address = fc.constantFrom<4 | 6>(4, 6).chain(sourceAddress);

test('contains an address in a union if and only if a network of a set contains it', () => {
  let inside = 0;
  fc.assert(
    fc.property(sourceSets(), names, address, (data, wanted, text) => {
      const networks = wanted.flatMap((name) =>
        Object.hasOwn(data.sets, name) ? (data.sets[name] ?? []) : [],
      );
      const expected = networks.some((network) => networkContains(network, text));
      inside += expected ? 1 : 0;
      assert.equal(anySetHas(data, wanted, text), expected);
    }),
    { numRuns: 1000 },
  );
  assert.ok(inside > 100, `only ${inside} of the drawn addresses are in a set`);
});

test('contains no address in sets without data, prototype names included', () => {
  const data = { version: '1', sets: {} };
  assert.ok(!anySetHas(data, ['country:ZZ', 'constructor', '__proto__'], '192.0.2.1'));
});
