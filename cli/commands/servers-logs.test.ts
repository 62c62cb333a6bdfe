import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newLines } from './servers-logs.ts';

it('follows a console: each line once, and says where some are missing', () => {
  const at = (last_number: number | null, ...lines: string[]) => ({ lines, last_number });
  const whole = (...lines: string[]) => ({ lines, isWhole: true });
  const broken = (...lines: string[]) => ({ lines, isWhole: false });
  assert.deepEqual(newLines(null, at(2, 'a', 'b')), whole('a', 'b'));
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(2, 'a', 'b')), whole());
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(3, 'a', 'b', 'b')), whole('b'));
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(4, 'b', 'c')), whole('b', 'c'));
  assert.deepEqual(newLines(at(2, 'a', 'b'), at(5, 'c', 'd')), broken('c', 'd'));
  assert.deepEqual(newLines(at(9, 'x'), at(4, 'y')), broken('y'), 'a clock was set back');
  assert.deepEqual(newLines(at(null, 'a'), at(null, 'a')), whole(), 'nobody counts');
  assert.deepEqual(newLines(at(null, 'a'), at(null, 'b')), broken('b'));
});
