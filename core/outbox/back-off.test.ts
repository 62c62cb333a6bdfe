import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BackOff, CALL_BACK_OFF, DELIVERY_BACK_OFF, retryAfterMs } from './back-off.ts';

function waitsOf(backOff: BackOff): number[] {
  const waits = [];
  for (let attempt = 1; ; attempt++) {
    const wait = retryAfterMs(backOff, attempt, 0.5);
    if (wait === null) return waits;
    waits.push(wait);
  }
}

function seconds(waits: readonly number[]): number {
  return waits.reduce((sum, wait) => sum + wait, 0) / 1_000;
}

test('retries a delivery with growing waits for about a day', () => {
  const waits = waitsOf(DELIVERY_BACK_OFF);
  assert.deepEqual(waits.slice(0, 4), [5_000, 20_000, 80_000, 320_000]);
  assert.deepEqual(
    waits,
    waits.toSorted((a, b) => a - b),
  );
  const hours = seconds(waits) / 3_600;
  assert.ok(hours > 20 && hours < 28, String(hours));
});

test('retries a start for a quarter of a minute, and a withdrawal for a quarter of an hour', () => {
  assert.deepEqual(waitsOf(CALL_BACK_OFF.start), [1_000, 2_000, 4_000, 8_000]);
  const minutes = seconds(waitsOf(CALL_BACK_OFF.withdraw)) / 60;
  assert.ok(minutes > 13 && minutes < 17, String(minutes));
});

test('spreads retries by a fifth in each direction', () => {
  assert.equal(retryAfterMs(DELIVERY_BACK_OFF, 1, 0), 4_000);
  assert.equal(retryAfterMs(DELIVERY_BACK_OFF, 2, 0.999_999), 24_000);
});
