import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyCache } from './authenticate.ts';

test('dates an answer by its query, so that a query during a change expires soon', async () => {
  let now = 0;
  const cache = new KeyCache<string>(() => now);
  const slow = Promise.withResolvers<string>();
  const requested = cache.get('key', () => slow.promise);
  now = 900;
  slow.resolve('old');
  assert.equal(await requested, 'old');
  now = 999;
  assert.equal(await cache.get('key', async () => 'new'), 'old');
  now = 1_000;
  assert.equal(await cache.get('key', async () => 'new'), 'new');
});

test('shares concurrent equal queries and caches no failure', async () => {
  const cache = new KeyCache<string>(() => 0);
  let requested = 0;
  const fail = async () => {
    requested++;
    throw new Error('no database');
  };
  await Promise.all([
    assert.rejects(cache.get('key', fail)),
    assert.rejects(cache.get('key', fail)),
  ]);
  assert.equal(requested, 1);
  assert.equal(await cache.get('key', async () => 'back'), 'back');
});

test('bounds the cache when many keys are tried, and evicts only the oldest', async () => {
  const cache = new KeyCache<number>(() => 0);
  for (let n = 0; n < 25_000; n++) await cache.get(`key ${n}`, async () => n);
  assert.equal(cache.size, 10_000);
  assert.equal(await cache.get('key 24999', async () => -1), 24_999);
  assert.equal(await cache.get('key 0', async () => -1), -1);
});

test('strangers with unknown keys evict no valid key', async () => {
  const cache = new KeyCache<string>(() => 0);
  for (let n = 0; n < 1_000; n++) await cache.get(`valid ${n}`, async () => 'caller');
  for (let n = 0; n < 20_000; n++) await cache.get(`stranger ${n}`, async () => null);
  assert.equal(cache.size, 1_000);
  assert.equal(await cache.get('valid 0', async () => assert.fail()), 'caller');
});

test('a result from before a cleared cache is not cached', async () => {
  const cache = new KeyCache<string>(() => 0);
  const slow = Promise.withResolvers<string>();
  const requested = cache.get('key', () => slow.promise);
  cache.clear();
  slow.resolve('old');
  assert.equal(await requested, 'old');
  assert.equal(await cache.get('key', async () => 'new'), 'new');
});
