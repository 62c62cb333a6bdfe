import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordsOfActivity } from './activity-words.ts';

test('an entry of the activity names the files of a change, and no condition of its request', () => {
  const shown = (detail: Readonly<Record<string, unknown>>) => wordsOfActivity(detail).join(' ');
  assert.equal(shown({ path: 'maps.js', size: 22, expected: 'absent' }), 'maps.js');
  assert.equal(shown({ paths: ['a.jar', 'b.jar'], forGood: false }), 'a.jar, b.jar');
  assert.equal(shown({ paths: ['a', 'b', 'c', 'd'], of: 40 }), 'a, b, c and 37 more');
  assert.equal(shown({ moves: [{ from: 'a', to: 'b' }] }), 'a → b');
  const packed = { to: 'w.tar.gz', paths: ['world'], format: 'tar.gz' };
  assert.equal(shown(packed), 'world → w.tar.gz');
  assert.equal(shown({ to: 'back', path: 'w.tar.gz' }), 'w.tar.gz → back');
  assert.equal(shown({ command: 'say hi' }), 'say hi');
  assert.equal(shown({ ids: ['mx0wiyct-2'] }), '');
});

test('an entry of what was refused, or not confirmed, says so behind what it is about', () => {
  const shown = (detail: Readonly<Record<string, unknown>>) => wordsOfActivity(detail).join(' ');
  assert.equal(shown({ to: 'b', path: 'a', refused: 'denied' }), 'a → b (refused: denied)');
  assert.equal(shown({ refused: 'No.', failed: 1, paths: ['a', 'b'] }), 'a, b (1 refused: No.)');
  assert.equal(
    shown({ signal: 'stop', unconfirmed: 'No answer.' }),
    'stop (not confirmed: No answer.)',
  );
});
