import assert from 'node:assert/strict';
import { it } from 'node:test';
import { all, NOTHING, pick, present, type Selection, step, toggle } from './selection.ts';

const ORDER = ['a', 'b', 'c', 'd', 'e'];
const ALONE = { shift: false, control: false };
const SHIFT = { shift: true, control: false };
const CONTROL = { shift: false, control: true };
const chosen = ({ chosen: rows }: Selection): string =>
  ORDER.filter((row) => rows.has(row)).join('');

it('chooses by click, range and one by one, as every file manager does', () => {
  const one = pick(ORDER, NOTHING, 'b', ALONE);
  assert.equal(chosen(one), 'b');
  const range = pick(ORDER, one, 'd', SHIFT);
  assert.equal(chosen(range), 'bcd');
  assert.equal(chosen(pick(ORDER, range, 'a', SHIFT)), 'ab', 'a range begins at its first click');
  const more = pick(ORDER, one, 'e', CONTROL);
  assert.equal(chosen(more), 'be');
  assert.equal(chosen(toggle(more, 'b')), 'e');
});

it('moves by keys, and stays within the rows', () => {
  const first = step(ORDER, NOTHING, 1, ALONE);
  assert.equal(chosen(first), 'a');
  assert.equal(chosen(step(ORDER, first, -1, ALONE)), 'a');
  assert.equal(chosen(step(ORDER, first, 2, SHIFT)), 'abc');
  const moved = step(ORDER, first, 1, CONTROL);
  assert.deepEqual([chosen(moved), moved.active], ['a', 'b']);
  assert.equal(step(ORDER, first, 'last', ALONE).active, 'e');
  assert.equal(step([], NOTHING, 1, ALONE), NOTHING);
});

it('forgets rows that are gone', () => {
  const everything = all(ORDER, NOTHING);
  assert.equal(chosen(everything), 'abcde');
  assert.equal(chosen(present(['b', 'c'], everything)), 'bc');
  assert.equal(present(ORDER, everything), everything);
  assert.equal(present(['b'], pick(ORDER, NOTHING, 'a', ALONE)).active, null);
});
