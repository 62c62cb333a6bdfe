import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadAhead } from './ahead.ts';

const data = Buffer.from('01234567');
const all = { offset: 0, data, isEnd: true };

test('what was read ahead is given once, in order, and not for long', () => {
  let now = 0;
  const ahead = new ReadAhead(() => now);
  const take = (handle: number, offset: number, length: number): string | undefined | null => {
    const taken = ahead.take(handle, offset, length);
    return taken && String(taken);
  };
  ahead.set(1, all);
  assert.deepEqual([take(1, 0, 3), take(1, 3, 100), take(1, 8, 9)], ['012', '34567', null]);
  assert.equal(take(1, 8, 9), undefined, 'the file may have grown');
  ahead.set(1, all);
  assert.deepEqual([take(1, 1, 3), take(1, 0, 3)], [undefined, undefined], 'out of order');
  ahead.set(1, all);
  now = 501;
  assert.equal(take(1, 0, 3), undefined, 'later');
  ahead.set(1, { ...all, isEnd: false });
  assert.equal(take(1, 0, 9), undefined, 'more than is known');
  ahead.set(1, all);
  ahead.forget(1);
  assert.equal(take(1, 0, 1), undefined);
});

test('little is known ahead, whatever a client opens', () => {
  const ahead = new ReadAhead();
  for (let handle = 1; handle <= 64; handle += 1) ahead.set(handle, all);
  const known = Array.from({ length: 64 }, (_, index) => ahead.take(index + 1, 0, 1));
  assert.equal(known.filter((one) => one !== undefined).length, 2);
});
