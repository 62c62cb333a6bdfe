import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newLines } from './console-lines.ts';

it('finds each new console line once, and says where lines are missing', () => {
  const at = (last_number: number | null, ...lines: string[]) => ({ lines, last_number });
  const complete = (...lines: string[]) => ({ lines, isComplete: true });
  const incomplete = (...lines: string[]) => ({ lines, isComplete: false });
  assert.deepEqual(newLines(null, at(2, 'a', 'b')), complete('a', 'b'));
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(2, 'a', 'b')), complete());
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(3, 'a', 'b', 'b')), complete('b'));
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(4, 'b', 'c')), complete('b', 'c'));
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(5, 'c', 'd')), incomplete('c', 'd'));
  assert.deepEqual(newLines(at(9, 'x'), at(4, 'y')), incomplete('y'), 'a clock was set back');
  assert.deepEqual(newLines(at(null, 'a'), at(null, 'a')), complete(), 'lines without numbers');
  assert.deepEqual(newLines(at(null, 'a'), at(null, 'b')), incomplete('b'));
});
