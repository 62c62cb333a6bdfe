import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StreamTurns } from './turns.ts';

test('streams pass on so many bytes in one turn of the event loop, together, and go on in the next', async () => {
  const turns = new StreamTurns();
  const passed: string[] = [];
  const pass = (name: string): void => turns.pass(100 * 1024, () => passed.push(name));
  for (const name of ['a', 'b', 'c', 'd']) pass(name);
  assert.deepEqual(passed, ['a', 'b']);
  await new Promise(setImmediate);
  assert.deepEqual(passed, ['a', 'b', 'c', 'd']);
  for (const name of ['e', 'f', 'g']) pass(name);
  assert.deepEqual(passed.slice(4), ['e', 'f']);
  await new Promise(setImmediate);
  assert.deepEqual(passed.slice(4), ['e', 'f', 'g']);
});

test('one that passes on more at once than a turn has waits for the next, and no longer', async () => {
  const turns = new StreamTurns();
  let count = 0;
  const again = (): void => {
    count += 1;
    if (count < 5) turns.pass(1024 * 1024, again);
  };
  turns.pass(1024 * 1024, again);
  assert.equal(count, 0);
  for (let turn = 1; turn <= 5; turn += 1) {
    await new Promise(setImmediate);
    assert.equal(count, turn);
  }
});
