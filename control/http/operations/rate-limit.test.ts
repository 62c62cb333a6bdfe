import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Usage } from '@portcullis/link/transport/relay.ts';
import { Problem } from '../../problem.ts';
import { createRateLimiter, type RateLimiter, shareLimits } from './rate-limit.ts';

const callerOf = (keyId: number, requestsPerMinute: number) => ({
  keyId,
  requestsPerMinute,
  name: 'key' as const,
});

const isRateLimited = (retryAfter: string) => (error: unknown) => {
  assert.ok(error instanceof Problem);
  assert.equal(error.code, 'rate_limited');
  assert.equal(error.headers['retry-after'], retryAfter);
  return true;
};

test('allows a key its quota, then answers 429 with the time until the next request', () => {
  let now = 0;
  const limiter = createRateLimiter(() => now);
  const caller = callerOf(1, 6);
  for (let left = 5; left >= 0; left--) {
    const headers = limiter.take(caller);
    assert.equal(headers['ratelimit-policy'], '"key";q=6;w=60');
    assert.equal(headers['ratelimit'], `"key";r=${left};t=${(6 - left) * 10}`);
  }
  assert.throws(() => limiter.take(caller), isRateLimited('10'));
  now += 9_999;
  assert.throws(() => limiter.take(caller), isRateLimited('1'));
  now += 2;
  assert.ok(limiter.take(caller));
  assert.throws(() => limiter.take(caller), isRateLimited('10'));
});

test('keeps a quota per key, and applies a lowered limit at once', () => {
  const limiter = createRateLimiter(() => 0);
  limiter.take(callerOf(1, 1));
  assert.throws(() => limiter.take(callerOf(1, 1)), isRateLimited('60'));
  limiter.take(callerOf(2, 600));
  assert.equal(limiter.take(callerOf(2, 2))['ratelimit'], '"key";r=1;t=30');
});

test('a burst is ten seconds of the limit, and the headers say so', () => {
  let now = 0;
  const limiter = createRateLimiter(() => now);
  const caller = callerOf(1, 600);
  const [first, ...others] = Array.from({ length: 100 }, () => limiter.take(caller));
  assert.deepEqual(first, { 'ratelimit-policy': '"key";q=100;w=10', ratelimit: '"key";r=99;t=1' });
  assert.equal(others.at(-1)?.['ratelimit'], '"key";r=0;t=10');
  assert.throws(() => limiter.take(caller), /600 requests a minute, and 100 of them at once/);
  let taken = 0;
  while (now < 60_000) {
    now += 100;
    limiter.take(caller);
    taken += 1;
  }
  assert.equal(taken, 600);
});

test('an organisation has a limit over all of its keys, and a refused request counts against none', () => {
  const limiter = createRateLimiter(() => 0);
  const all = { keyId: 'organisation 1', requestsPerMinute: 3, name: 'organisation' } as const;
  for (const key of [1, 2, 3]) limiter.take(callerOf(key, 10), all);
  assert.throws(() => limiter.take(callerOf(4, 10), all), /All keys and people .* 3 requests/);
  const headers = limiter.take(callerOf(4, 10));
  assert.equal(headers['ratelimit'], '"key";r=9;t=6');
});

test('replicas share a quota within moments of each other', async (t) => {
  const heard: ((usage: Usage) => void)[] = [];
  const limiters = [0, 1].map((own) => {
    const limiter = createRateLimiter(() => 0);
    const relay = {
      pass: async () => false,
      serve() {},
      publishUsage: (usage: Usage) => heard[1 - own]?.(usage),
      onUsage: (listener: (usage: Usage) => void) => void (heard[own] = listener),
    };
    t.after(shareLimits(limiter, relay));
    return limiter;
  }) as [RateLimiter, RateLimiter];
  const caller = callerOf(1, 10);
  for (let request = 0; request < 6; request += 1) limiters[0].take(caller);
  await delay(600);
  for (let left = 3; left >= 0; left -= 1) {
    assert.equal(limiters[1].take(caller)['ratelimit'], `"key";r=${left};t=${(10 - left) * 6}`);
  }
  assert.throws(() => limiters[1].take(caller), isRateLimited('6'));
  await delay(600);
  assert.throws(() => limiters[0].take(caller), isRateLimited('6'));
});
