import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { numberOf, numbersFor, verdictChanges, type VerdictNumbers } from './verdict-numbers.ts';

describe('the numbers of verdicts', () => {
  it('stay as long as their verdict is in use, and no two verdicts share one', () => {
    const verdicts = fc.uniqueArray(fc.constantFrom(...'abcdefgh'));
    fc.assert(
      fc.property(fc.array(verdicts, { maxLength: 20 }), (steps) => {
        let before: VerdictNumbers = new Map();
        for (const used of steps) {
          const after = numbersFor(used, before);
          assert.deepEqual([...after.keys()].toSorted(), used.toSorted());
          assert.equal(new Set(after.values()).size, after.size);
          for (const [verdict, number] of after)
            assert.equal(number, before.get(verdict) ?? number);
          assert.notEqual(verdictChanges(before, after), null);
          before = after;
        }
      }),
    );
  });

  it('do not depend on the order of the verdicts', () => {
    const verdicts = ['accept', 'goto shape_a', 'goto shape_b'];
    const numbers = numbersFor(verdicts, new Map());
    assert.deepEqual(numbersFor(verdicts.toReversed(), new Map()), numbers);
  });

  it('are the next free ones where two verdicts have one hash', () => {
    const number = numberOf('accept');
    const other = numbersFor(['accept'], new Map([['goto shape_a', number]])).get('accept');
    assert.notEqual(other, undefined);
    assert.notEqual(other, number);
    // The verdict that had the number leaves; the other keeps its own.
    const kept = numbersFor(['accept'], new Map([['accept', other ?? '']]));
    assert.equal(kept.get('accept'), other);
  });

  it('are priorities of the band of 0, and of no queueing discipline', () => {
    for (let index = 0; index < 2_000; index++) {
      assert.match(numberOf(`goto shape_${index}`), /^7[\da-f]{3}:(?:0|[\da-f]{1,3}0)$/);
    }
  });

  it('never change their meaning in place', () => {
    const [a, b] = [new Map([['accept', '7000:10']]), new Map([['goto one', '7000:10']])];
    assert.equal(verdictChanges(a, b), null);
    assert.equal(verdictChanges(a, new Map([['accept', '7000:20']])), null);
    assert.deepEqual(verdictChanges(a, new Map([['drop', '7000:20']])), {
      added: [['7000:20', 'drop']],
      removed: ['7000:10'],
    });
  });
});
