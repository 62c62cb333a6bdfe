import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Family } from './address.ts';
import { type Cidr, containsCidr, formatNetwork, networkOf } from './cidr.ts';
import { PrefixIndex } from './prefix-index.ts';

/** Networks within few addresses, so that they nest. */
const cidr: fc.Arbitrary<Cidr> = fc
  .tuple(
    fc.constantFrom<Family>(4, 6),
    fc.bigInt({ min: 0n, max: 63n }),
    fc.integer({ min: 0, max: 8 }),
  )
  .map(([family, low, cut]) => {
    const bits = family === 4 ? 32 : 128;
    return networkOf(
      { family, value: (0xabn << BigInt(bits - 8)) | low },
      cut === 8 ? 0 : bits - cut,
    );
  });

test('finds exactly the containing prefixes, the shortest first', () => {
  fc.assert(
    fc.property(fc.array(cidr, { maxLength: 40 }), cidr, cidr, (prefixes, inner, deleted) => {
      const index = new PrefixIndex<Cidr>();
      for (const prefix of prefixes) index.add(prefix, prefix);
      index.delete(deleted);
      const expected = prefixes
        .filter((prefix) => formatNetwork(prefix) !== formatNetwork(deleted))
        .filter((prefix) => containsCidr(prefix, inner))
        .toSorted((a, b) => a.length - b.length);
      assert.deepEqual(index.covering(inner), expected);
    }),
    { numRuns: 500 },
  );
});
