import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { type Cidr, containsAddress, networkOf } from '@portcullis/core/net/cidr.ts';
import { bytesOf } from '../kernel/netlink/conntrack.ts';
import { Destinations } from './destinations.ts';

/** Few bits differ, so that networks contain addresses. */
function near(family: Family): fc.Arbitrary<bigint> {
  const base = family === 4 ? 0xcb007100n : 0x20010db8n << 96n;
  return fc.nat(1_023).map((low) => base + BigInt(low));
}

const family = fc.constantFrom<Family>(4, 6);
const cidr: fc.Arbitrary<Cidr> = family.chain((family) =>
  fc
    .tuple(near(family), fc.integer({ min: BITS[family] - 12, max: BITS[family] }))
    .map(([value, length]) => networkOf({ family, value }, length)),
);
const address = family.chain((family) => near(family).map((value) => ({ family, value })));

test('contains an address if and only if a changed target contains it', () => {
  fc.assert(
    fc.property(fc.array(cidr, { maxLength: 8 }), address, (targets, requested) => {
      const destinations = new Destinations();
      for (const target of targets) destinations.add(target);
      const later = new Destinations();
      later.addFrom(destinations);
      const expected = targets.some((target) => containsAddress(target, requested));
      assert.equal(destinations.has(requested.family, bytesOf(requested)), expected);
      assert.equal(later.has(requested.family, bytesOf(requested)), expected);
      assert.equal(later.empty, targets.length === 0);
    }),
  );
});

test('stores no targets above the limit, and then contains every address', () => {
  const destinations = new Destinations();
  const other = bytesOf({ family: 4, value: 1n });
  for (let value = 100n; value < 4_196n; value++) {
    destinations.add({ family: 4, value, length: 32 });
  }
  assert.equal(destinations.has(4, other), false);
  destinations.add({ family: 4, value: 5_000n, length: 32 });
  assert.equal(destinations.has(4, other), true);
  const later = new Destinations();
  later.addFrom(destinations);
  assert.equal(later.has(6, bytesOf({ family: 6, value: 1n })), true);
});
