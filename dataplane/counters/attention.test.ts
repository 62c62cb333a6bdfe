import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attend, type Attention, INATTENTIVE, type Shares } from './attention.ts';

const ROOM = { followed: 4, networks: 2, told: 2 };

function sharesOf(addresses: Readonly<Record<string, number>>, ...always: string[]): Shares {
  const own = new Map(Object.entries(addresses));
  return { addresses: own, networks: new Map(), always: new Set(always) };
}

/** Names in an attention: followed ones, and told ones. */
function names({ followed, networks }: Attention): { followed: string[]; told: string[] } {
  const told = [...followed, ...networks].filter(([, noted]) => noted.told);
  return { followed: [...followed.keys()].toSorted(), told: told.map(([name]) => name).toSorted() };
}

test('whoever gets a sixty-fourth of a threshold is followed, from a sixteenth on told, and others are not', () => {
  const { attention, change } = attend(INATTENTIVE, sharesOf({ a: 0.01, b: 0.02, c: 0.07 }), ROOM);
  assert.deepEqual(names(attention), { followed: ['b', 'c'], told: ['c'] });
  assert.deepEqual(change, { hush: [], forget: [], follow: ['c', 'b'], tell: ['c'] });
});

test('whoever gets little for long is hushed, then forgotten, and an address that is always followed stays', () => {
  let { attention } = attend(INATTENTIVE, sharesOf({ a: 1, b: 1 }, 'a'), ROOM);
  const seen: string[] = [];
  for (let reading = 1; reading <= 60; reading++) {
    const next = attend(attention, sharesOf({ a: 0.001 }, 'a'), ROOM);
    ({ attention } = next);
    for (const name of next.change.hush) seen.push(`${reading} hush ${name}`);
    for (const name of next.change.forget) seen.push(`${reading} forget ${name}`);
  }
  // What is always followed is neither followed nor forgotten here.
  assert.deepEqual(seen, ['20 hush a', '20 hush b', '40 forget b']);
  assert.deepEqual(names(attention), { followed: [], told: [] });
});

test('without room, who gets twice as much takes the place of who gets least, and is told in his place', () => {
  const full = attend(INATTENTIVE, sharesOf({ a: 0.2, b: 0.3, c: 0.4, d: 0.5 }), ROOM);
  assert.deepEqual(names(full.attention), { followed: ['a', 'b', 'c', 'd'], told: ['c', 'd'] });
  const steady = { a: 0.2, b: 0.3, c: 0.4, d: 0.5 };
  const small = attend(full.attention, sharesOf({ ...steady, e: 0.3 }), ROOM);
  assert.deepEqual(names(small.attention).followed, ['a', 'b', 'c', 'd']);
  const large = attend(full.attention, sharesOf({ ...steady, e: 0.9 }), ROOM);
  assert.deepEqual(names(large.attention), { followed: ['b', 'c', 'd', 'e'], told: ['d', 'e'] });
  assert.deepEqual(large.change, { hush: ['c'], forget: ['a'], follow: ['e'], tell: ['e'] });
});

test('whatever is sent to whom, there is never more attention than room, and changes lead from one to the next', () => {
  const shares = fc.dictionary(
    fc.constantFrom(...'abcdefghij'.split('')),
    fc.double({ min: 0, max: 3, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(shares, { maxLength: 60 }), (readings) => {
      let attention = INATTENTIVE;
      const followed = new Set(['a', 'b']);
      const told = new Set<string>();
      for (const one of readings) {
        const next = attend(attention, sharesOf(one, 'a', 'b'), ROOM);
        ({ attention } = next);
        const { hush, forget, follow, tell } = next.change;
        for (const name of hush) told.delete(name);
        for (const name of forget) {
          followed.delete(name);
          told.delete(name);
        }
        for (const name of follow) followed.add(name);
        for (const name of tell) told.add(name);
        assert.ok(followed.size <= ROOM.followed && told.size <= ROOM.told);
        const noted = names(attention);
        assert.deepEqual(noted.told, [...told].toSorted());
        assert.deepEqual(new Set(['a', 'b', ...noted.followed]), followed);
      }
    }),
  );
});
