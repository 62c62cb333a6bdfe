import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BITS, formatAddress } from './address.ts';
import {
  compareCidrs,
  containsAddress,
  containsCidr,
  formatCidr,
  formatNetwork,
  lastValue,
  networkOf,
  overlaps,
  parseCidr,
  wholeFamily,
} from './cidr.ts';
import { anyAddress, anyCidr, anyFamily } from './testing/arbitraries.ts';
import { readVectors, splitQuoted } from './testing/vectors.ts';

/** Nested and neighbouring networks, far more often than random ones. */
const related = anyFamily.chain((family) =>
  fc
    .tuple(anyCidr(family), fc.nat(BITS[family]), fc.nat(BITS[family]), anyCidr(family))
    .map(([a, length, flip, other]) => {
      const bit = 1n << BigInt(flip % BITS[family]);
      const near = { family, value: flip === BITS[family] ? a.value : a.value ^ bit };
      return { a, b: length % 4 === 0 ? other : networkOf(near, length) };
    }),
);

describe('parseCidr', () => {
  for (const line of readVectors('cidr-valid')) {
    const [text = '', withLength, shown] = line.split(' ');
    it(`reads ${text} as ${withLength}`, () => {
      const cidr = parseCidr(text);
      assert.ok(cidr.ok);
      assert.equal(formatCidr(cidr.value), withLength);
      assert.equal(formatNetwork(cidr.value), shown);
    });
  }

  for (const line of readVectors('cidr-invalid')) {
    const { input, rest } = splitQuoted(line);
    it(`rejects ${JSON.stringify(input)} with "${rest}"`, () => {
      const cidr = parseCidr(input);
      assert.ok(!cidr.ok);
      assert.ok(cidr.reason.includes(rest), cidr.reason);
    });
  }

  it('parses its own output with and without the length', () => {
    fc.assert(
      fc.property(anyFamily.chain(anyCidr), (cidr) => {
        assert.deepEqual(parseCidr(formatCidr(cidr)), { ok: true, value: cidr });
        assert.deepEqual(parseCidr(formatNetwork(cidr)), { ok: true, value: cidr });
      }),
    );
  });

  it('accepts a length only if no host bit is set, and else suggests the network', () => {
    const cases = anyFamily.chain((family) => fc.tuple(anyAddress(family), fc.nat(BITS[family])));
    fc.assert(
      fc.property(cases, ([address, length]) => {
        const size = 1n << BigInt(BITS[address.family] - length);
        const first = address.value - (address.value % size);
        const cidr = parseCidr(`${formatAddress(address)}/${length}`);
        assert.equal(cidr.ok, first === address.value);
        if (!cidr.ok)
          assert.ok(cidr.reason.includes(formatCidr({ ...address, value: first, length })));
      }),
    );
  });

  it('parses 100,000 networks in half a second of CPU time', () => {
    const texts = Array.from({ length: 100_000 }, (_, index) =>
      index % 2 === 0
        ? `10.${index % 256}.${(index >> 8) % 256}.0/24`
        : `2001:db8:${(index % 65_536).toString(16)}::/48`,
    );
    // The best of three, because the machine may be loaded.
    const elapsedMs = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      assert.ok(texts.every((text) => parseCidr(text).ok));
      return process.cpuUsage(before).user / 1000;
    });
    assert.ok(Math.min(...elapsedMs) < 500, `${elapsedMs.join(', ')} ms`);
  });
});

describe('networks', () => {
  it('contain exactly the addresses from their first to their last', () => {
    fc.assert(
      fc.property(related, ({ a, b }) => {
        for (const value of [b.value, lastValue(b)]) {
          const inside = value >= a.value && value <= lastValue(a);
          assert.equal(containsAddress(a, { family: a.family, value }), inside);
        }
      }),
    );
  });

  it('contain and overlap as their ranges do', () => {
    fc.assert(
      fc.property(related, ({ a, b }) => {
        const contains = a.value <= b.value && lastValue(b) <= lastValue(a);
        const meets = a.value <= lastValue(b) && b.value <= lastValue(a);
        assert.equal(containsCidr(a, b), contains);
        assert.equal(overlaps(a, b), meets);
        assert.equal(overlaps(b, a), meets);
      }),
    );
  });

  it('of different families never overlap', () => {
    fc.assert(
      fc.property(anyCidr(4), anyCidr(6), (four, six) => {
        assert.ok(!containsCidr(four, six) && !containsCidr(six, four) && !overlaps(four, six));
      }),
    );
    const zero = { value: 0n, length: 0 };
    assert.ok(!overlaps({ family: 4, ...zero }, { family: 6, ...zero }));
    assert.ok(wholeFamily({ family: 4, ...zero }) && wholeFamily({ family: 6, ...zero }));
  });

  it('have a total order with a network before the networks it contains', () => {
    fc.assert(
      fc.property(related, ({ a, b }) => {
        const order = compareCidrs(a, b);
        assert.equal(Math.sign(order) + Math.sign(compareCidrs(b, a)), 0);
        assert.equal(order === 0, formatCidr(a) === formatCidr(b));
        if (order !== 0 && containsCidr(a, b)) assert.ok(order < 0);
      }),
    );
  });
});
