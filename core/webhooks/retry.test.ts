import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTEMPTS, retryAfterMs } from './retry.ts';

test('retries with growing waits for about a day', () => {
  const waits = Array.from({ length: ATTEMPTS - 1 }, (_, at) => retryAfterMs(at + 1, 0.5) ?? 0);
  assert.deepEqual(waits.slice(0, 4), [5_000, 20_000, 80_000, 320_000]);
  assert.deepEqual(
    waits,
    waits.toSorted((a, b) => a - b),
  );
  const hours = waits.reduce((sum, wait) => sum + wait, 0) / 3_600_000;
  assert.ok(hours > 20 && hours < 28, String(hours));
  assert.equal(retryAfterMs(ATTEMPTS, 0.5), null);
});

test('spreads retries by a fifth in each direction', () => {
  assert.equal(retryAfterMs(1, 0), 4_000);
  assert.equal(retryAfterMs(2, 0.999_999), 24_000);
});
