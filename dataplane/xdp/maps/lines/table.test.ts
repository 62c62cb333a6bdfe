import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LineTable } from './table.ts';

const LINES = 64;
/** Many share a first slot, and some also a second one. */
const hash = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const step = fc.record({ adds: fc.boolean(), hash });

describe('the line table', () => {
  it('has a slot for each accepted key, and no slot for two', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const table = new LineTable(LINES);
        const standing = new Map<number, number>();
        for (const { adds, hash: drawn } of steps) {
          const held = [...standing.values()];
          if (!adds && held.length > 0) {
            const gone = held[drawn % held.length] ?? 0;
            standing.delete(table.indexOf(gone) ?? -1);
            table.remove(gone);
            assert.equal(table.indexOf(gone), null);
          } else if (table.indexOf(drawn) === null) {
            const added = table.add(drawn);
            const moved = added?.moved ?? null;
            if (moved !== null) {
              const { from, to } = moved;
              assert.ok(standing.has(from) && !standing.has(to));
              standing.set(to, standing.get(from) ?? 0);
              standing.delete(from);
            }
            if (added !== null) {
              assert.ok(!standing.has(added.index));
              standing.set(added.index, drawn);
            }
          }
          for (const [place, one] of standing) assert.equal(table.indexOf(one), place);
        }
      }),
    );
  });

  it('accepts all neighbours with two of three slots in use', () => {
    const table = new LineTable(16_384);
    for (let address = 0; address < 10_000; address++) {
      const added = table.add(Math.imul(0x0a_00_00_00 + address, 0x9e3779b1) >>> 0);
      assert.ok(added !== null && added.moved === null);
    }
  });

  it('accepts nearly all scattered keys', () => {
    const table = new LineTable(16_384);
    let refused = 0;
    for (let index = 1; index <= 10_000; index++) {
      const scattered = Math.imul(index, 0x27d4eb2f) ^ (Math.imul(index, 0x165667b1) >>> 15);
      if (table.add(scattered >>> 0) === null) refused++;
    }
    assert.ok(refused < 500, `${refused} of 10,000 have no line`);
  });
});
