import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyCache } from './key-cache.ts';

test('an answer is as old as its question, so one on its way during a change is soon forgotten', async () => {
  let now = 0;
  const cache = new KeyCache<string>(() => now);
  const slow = Promise.withResolvers<string>();
  const asked = cache.get('key', () => slow.promise);
  now = 900;
  slow.resolve('old');
  assert.equal(await asked, 'old');
  now = 999;
  assert.equal(await cache.get('key', async () => 'new'), 'old');
  now = 1_000;
  assert.equal(await cache.get('key', async () => 'new'), 'new');
});

test('equal questions at one time are asked once; a failure is remembered for nobody', async () => {
  const cache = new KeyCache<string>(() => 0);
  let asked = 0;
  const fail = async () => {
    asked++;
    throw new Error('no database');
  };
  await Promise.all([
    assert.rejects(cache.get('key', fail)),
    assert.rejects(cache.get('key', fail)),
  ]);
  assert.equal(asked, 1);
  assert.equal(await cache.get('key', async () => 'back'), 'back');
});

test('whoever tries many keys fills no memory, and pushes out the oldest only', async () => {
  const cache = new KeyCache<number>(() => 0);
  for (let n = 0; n < 25_000; n++) await cache.get(`key ${n}`, async () => n);
  assert.equal(cache.size, 10_000);
  assert.equal(await cache.get('key 24999', async () => -1), 24_999);
  assert.equal(await cache.get('key 0', async () => -1), -1);
});
