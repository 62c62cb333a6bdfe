import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Address } from '../net/address.ts';
import { networkOf } from '../net/cidr.ts';
import { anyFamily } from '../net/testing/arbitraries.ts';
import { type Held, holderOf } from './holdings.ts';

/** Sixteen addresses per family and ten points in time, so that holdings nest and overlap. */
const address = fc
  .tuple(anyFamily, fc.bigInt(0n, 15n))
  .map(([family, value]) => ({ family, value }));
const holding = fc
  .record({
    address,
    host: fc.nat(4),
    since: fc.nat(9),
    lasts: fc.option(fc.integer({ min: 1, max: 6 })),
    organisation: fc.nat(3),
  })
  .map(({ address, host, since, lasts, organisation }): Held => {
    const cidr = networkOf(address, (address.family === 4 ? 32 : 128) - host);
    return { organisation, cidr, since, until: lasts === null ? null : since + lasts };
  });
/** Holdings as in the database: equal holdings never overlap in time. */
const holdings = fc.array(holding, { maxLength: 14 }).map((drawn) => {
  const kept: Held[] = [];
  for (const one of drawn) if (!kept.some((other) => sameAtOnce(one, other))) kept.push(one);
  return kept;
});

test('selects the most specific of all holdings that contain the address at that time', () => {
  fc.assert(
    fc.property(holdings, address, fc.integer({ min: -1, max: 16 }), (all, wanted, at) => {
      const active = all.filter((one) => has(one, wanted, at));
      const holder = holderOf(all, wanted, at);
      if (holder === null) {
        assert.deepEqual(active, []);
        return;
      }
      assert.ok(active.includes(holder));
      const rivals = active.filter((one) => one.cidr.length >= holder.cidr.length);
      assert.deepEqual(rivals, [holder]);
    }),
    { numRuns: 1000 },
  );
});

test('selects the same holder in any order of the holdings', () => {
  fc.assert(
    fc.property(holdings, address, fc.nat(12), (all, wanted, at) => {
      assert.equal(holderOf(all.toReversed(), wanted, at), holderOf(all, wanted, at));
    }),
  );
});

test('changes the holder only of addresses inside a changed holding and only while it is valid', () => {
  fc.assert(
    fc.property(holdings, holding, address, fc.nat(12), (all, added, wanted, at) => {
      fc.pre(!all.some((other) => sameAtOnce(added, other)));
      const after = holderOf([...all, added], wanted, at);
      if (!has(added, wanted, at)) assert.equal(after, holderOf(all, wanted, at));
      else assert.ok(after !== null && after.cidr.length >= added.cidr.length);
    }),
  );
});

/** Compares first and last addresses. */
function has({ cidr, since, until }: Held, wanted: Address, at: number): boolean {
  if (cidr.family !== wanted.family || at < since || (until !== null && at >= until)) return false;
  const size = 1n << BigInt((cidr.family === 4 ? 32 : 128) - cidr.length);
  return wanted.value >= cidr.value && wanted.value < cidr.value + size;
}

function sameAtOnce(a: Held, b: Held): boolean {
  return (
    a.cidr.family === b.cidr.family &&
    a.cidr.value === b.cidr.value &&
    a.cidr.length === b.cidr.length &&
    (a.until === null || b.since < a.until) &&
    (b.until === null || a.since < b.until)
  );
}
