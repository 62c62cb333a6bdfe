import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BITS, type Family } from './address.ts';
import { mergeCidrs, rangeToCidrs } from './cidr-sets.ts';
import { type Cidr, compareCidrs, formatCidr, lastValue, parseCidr } from './cidr.ts';
import { anyAddress, anyCidr, anyFamily } from './testing/arbitraries.ts';

const ranges = anyFamily.chain((family) =>
  fc.tuple(anyAddress(family), anyAddress(family)).map(([a, b]) => ({
    family,
    first: a.value < b.value ? a.value : b.value,
    last: a.value < b.value ? b.value : a.value,
  })),
);

describe('rangeToCidrs', () => {
  it('covers the range exactly with the fewest networks, sorted, without gap or overlap', () => {
    fc.assert(
      fc.property(ranges, ({ family, first, last }) => {
        const cidrs = rangeToCidrs(family, first, last);
        let next = first;
        for (const cidr of cidrs) {
          assert.equal(cidr.value, next);
          assert.equal(cidr.value % (1n << BigInt(BITS[family] - cidr.length)), 0n);
          next = lastValue(cidr) + 1n;
        }
        assert.equal(next, last + 1n);
        assertNoSiblings(cidrs);
      }),
    );
  });

  it('returns a network unchanged, the whole family included', () => {
    fc.assert(
      fc.property(anyFamily.chain(anyCidr), (cidr) => {
        assert.deepEqual(rangeToCidrs(cidr.family, cidr.value, lastValue(cidr)), [cidr]);
      }),
    );
    const whole: Cidr = { family: 6, value: 0n, length: 0 };
    assert.deepEqual(rangeToCidrs(6, 0n, lastValue(whole)), [whole]);
  });

  it('returns at most two networks per bit', () => {
    const worst = rangeToCidrs(6, 1n, (1n << 128n) - 2n);
    assert.equal(worst.length, 254);
  });
});

describe('mergeCidrs', () => {
  it('covers exactly the addresses of the list', () => {
    const lists = fc.array(anyFamily.chain(smallCidr), { maxLength: 12 });
    fc.assert(
      fc.property(lists, (list) => {
        const merged = mergeCidrs(list);
        assert.deepEqual(coverage(merged), coverage(list));
        assert.deepEqual(merged.toSorted(compareCidrs), merged, 'sorted');
        assertNoSiblings(merged);
      }),
      { numRuns: 300 },
    );
  });

  it('merges neighbours recursively, and never across families', () => {
    const list = ['10.0.0.0/25', '10.0.1.0/24', '10.0.0.128/25', '::/1', '8000::/1', '10.0.0.9'];
    assert.deepEqual(mergeCidrs(list.map(cidrOf)).map(formatCidr), ['10.0.0.0/23', '::/0']);
  });

  it('does not change its input', () => {
    const list = Object.freeze(['10.0.1.0/24', '10.0.0.0/24'].map(cidrOf));
    assert.deepEqual(mergeCidrs(list).map(formatCidr), ['10.0.0.0/23']);
    assert.deepEqual(list.map(formatCidr), ['10.0.1.0/24', '10.0.0.0/24']);
  });
});

/** Within the last 64 addresses of a family, so that every address can be tested. */
function smallCidr(family: Family): fc.Arbitrary<Cidr> {
  const base = (1n << BigInt(BITS[family])) - 64n;
  return fc.tuple(fc.nat(6), fc.nat(63)).map(([host, offset]) => {
    const value = ((base + BigInt(offset)) >> BigInt(host)) << BigInt(host);
    return { family, value, length: BITS[family] - host };
  });
}

function coverage(cidrs: readonly Cidr[]): string[] {
  const found = new Set<string>();
  for (const cidr of cidrs) {
    for (let value = cidr.value; value <= lastValue(cidr); value++)
      found.add(`${cidr.family} ${value}`);
  }
  return [...found].toSorted();
}

/** No two networks can be merged. */
function assertNoSiblings(cidrs: readonly Cidr[]): void {
  const seen = new Set(cidrs.map(formatCidr));
  for (const cidr of cidrs.filter(({ length }) => length > 0)) {
    const sibling = cidr.value ^ (1n << BigInt(BITS[cidr.family] - cidr.length));
    assert.ok(!seen.has(formatCidr({ ...cidr, value: sibling })), formatCidr(cidr));
  }
}

function cidrOf(text: string): Cidr {
  const cidr = parseCidr(text);
  assert.ok(cidr.ok);
  return cidr.value;
}
