import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { updatePriorities, type Priorities, NO_PRIORITIES, type Shares } from './priorities.ts';

const CAPACITY = { followed: 4, networks: 2, vectors: 2 };

function sharesOf(addresses: Readonly<Record<string, number>>, ...always: string[]): Shares {
  const own = new Map(Object.entries(addresses));
  return { addresses: own, networks: new Map(), always: new Set(always) };
}

/** The names of followed addresses, and of those with vectors. */
function names({ followed, networks }: Priorities): { followed: string[]; reported: string[] } {
  const reported = [...followed, ...networks].filter(([, noted]) => noted.countsVectors);
  return {
    followed: [...followed.keys()].toSorted(),
    reported: reported.map(([name]) => name).toSorted(),
  };
}

test('follows addresses from 1/64 of a threshold, counts their vectors from 1/16, and no others', () => {
  const { priorities, change } = updatePriorities(
    NO_PRIORITIES,
    sharesOf({ a: 0.01, b: 0.02, c: 0.07 }),
    CAPACITY,
  );
  assert.deepEqual(names(priorities), { followed: ['b', 'c'], reported: ['c'] });
  assert.deepEqual(change, {
    stopVectors: [],
    unfollow: [],
    follow: ['c', 'b'],
    startVectors: ['c'],
  });
});

test('stops vectors, then following of an idle address, and keeps an address that is always followed', () => {
  let { priorities } = updatePriorities(NO_PRIORITIES, sharesOf({ a: 1, b: 1 }, 'a'), CAPACITY);
  const seen: string[] = [];
  for (let reading = 1; reading <= 60; reading++) {
    const next = updatePriorities(priorities, sharesOf({ a: 0.001 }, 'a'), CAPACITY);
    ({ priorities } = next);
    for (const name of next.change.stopVectors) seen.push(`${reading} hush ${name}`);
    for (const name of next.change.unfollow) seen.push(`${reading} forget ${name}`);
  }
  // Addresses that are always followed are not listed here.
  assert.deepEqual(seen, ['20 hush a', '20 hush b', '40 forget b']);
  assert.deepEqual(names(priorities), { followed: [], reported: [] });
});

test('at capacity, an address with twice the traffic replaces the one with the least, also for vectors', () => {
  const full = updatePriorities(
    NO_PRIORITIES,
    sharesOf({ a: 0.2, b: 0.3, c: 0.4, d: 0.5 }),
    CAPACITY,
  );
  assert.deepEqual(names(full.priorities), {
    followed: ['a', 'b', 'c', 'd'],
    reported: ['c', 'd'],
  });
  const steady = { a: 0.2, b: 0.3, c: 0.4, d: 0.5 };
  const small = updatePriorities(full.priorities, sharesOf({ ...steady, e: 0.3 }), CAPACITY);
  assert.deepEqual(names(small.priorities).followed, ['a', 'b', 'c', 'd']);
  const large = updatePriorities(full.priorities, sharesOf({ ...steady, e: 0.9 }), CAPACITY);
  assert.deepEqual(names(large.priorities), {
    followed: ['b', 'c', 'd', 'e'],
    reported: ['d', 'e'],
  });
  assert.deepEqual(large.change, {
    stopVectors: ['c'],
    unfollow: ['a'],
    follow: ['e'],
    startVectors: ['e'],
  });
});

test('never exceeds the capacity for any traffic, and each change leads to the next state', () => {
  const shares = fc.dictionary(
    fc.constantFrom(...'abcdefghij'.split('')),
    fc.double({ min: 0, max: 3, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(shares, { maxLength: 60 }), (readings) => {
      let priorities = NO_PRIORITIES;
      const followed = new Set(['a', 'b']);
      const reported = new Set<string>();
      for (const one of readings) {
        const next = updatePriorities(priorities, sharesOf(one, 'a', 'b'), CAPACITY);
        ({ priorities } = next);
        const { stopVectors, unfollow, follow, startVectors } = next.change;
        for (const name of stopVectors) reported.delete(name);
        for (const name of unfollow) {
          followed.delete(name);
          reported.delete(name);
        }
        for (const name of follow) followed.add(name);
        for (const name of startVectors) reported.add(name);
        assert.ok(followed.size <= CAPACITY.followed && reported.size <= CAPACITY.vectors);
        const noted = names(priorities);
        assert.deepEqual(noted.reported, [...reported].toSorted());
        assert.deepEqual(new Set(['a', 'b', ...noted.followed]), followed);
      }
    }),
  );
});
