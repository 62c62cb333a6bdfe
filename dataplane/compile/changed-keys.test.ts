import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { changedKeys } from './changed-keys.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const entries = fc.uniqueArray(fc.tuple(fc.constantFrom(...KEYS), fc.nat(2)), {
  selector: ([key]) => key,
});

test('returns each key with a different or missing value on either side once', () => {
  fc.assert(
    fc.property(entries, entries, (one, two) => {
      const [before, after] = [new Map(one), new Map(two)];
      const expected = KEYS.filter((key) => before.get(key) !== after.get(key));
      assert.deepEqual(changedKeys(before, after).toSorted(), expected);
    }),
  );
});
