import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { changedKeys } from './changed-keys.ts';
import { VersionedMap } from './versioned-map.ts';

const key = fc.integer({ min: 0, max: 40 }).map((host) => `203.0.113.${host}`);
const changes = fc.array(fc.tuple(key, fc.option(fc.nat(3), { nil: undefined })));

/** Its entries by key. */
function sorted(map: ReadonlyMap<string, number>): [string, number][] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

describe('a versioned map', () => {
  it('equals a map changed in place and keeps the previous version unchanged', () => {
    fc.assert(
      fc.property(fc.array(changes), (steps) => {
        const plain = new Map<string, number>();
        let version = VersionedMap.from<number>([]);
        for (const step of steps) {
          const before = version;
          const held = sorted(before);
          for (const [name, value] of step) {
            if (value === undefined) plain.delete(name);
            else plain.set(name, value);
          }
          version = version.with(step);
          assert.deepEqual(sorted(before), held);
          assert.deepEqual(sorted(version), sorted(plain));
          assert.equal(version.size, plain.size);
          assert.deepEqual([...version.keys()].toSorted(), [...plain.keys()].toSorted());
          for (const [name, value] of plain) assert.equal(version.get(name), value);
        }
      }),
    );
  });

  it('differs from another version by the changed keys, in both directions', () => {
    fc.assert(
      fc.property(changes, changes, (first, second) => {
        const before = VersionedMap.from<number>([]).with(first);
        const after = before.with(second);
        const wanted = changedKeys(new Map(before), new Map(after)).toSorted();
        assert.deepEqual(changedKeys(before, after).toSorted(), wanted);
        assert.deepEqual(changedKeys(new Map(before), after).toSorted(), wanted);
      }),
    );
  });

  it('shares unchanged parts with another version', () => {
    const before = VersionedMap.from(
      Array.from({ length: 5_000 }, (_, index) => [`k${index}`, index] as const),
    );
    const after = before.with([['k7', -1]]);
    const different = after.shards.filter((shard, index) => shard !== before.shards[index]);
    assert.equal(different.length, 1);
    assert.equal(before.with([['k7', 7]]), before);
  });
});
