import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { tick } from './ticks.ts';

const PERIOD_MS = 20;

test('a late tick is skipped and does not move the following ones', async () => {
  const begin = performance.now();
  const at: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const ticks = tick(PERIOD_MS, async () => {
    at.push(performance.now() - begin);
    if (at.length === 10) resolve();
  });
  await promise;
  await ticks.stop();
  // Timers may be late, depending on the machine, but never early.
  for (const [index, ms] of at.entries()) assert.ok(ms >= (index + 1) * PERIOD_MS - 2, `${ms}`);
  const least = Math.min(...at.map((ms) => ms % PERIOD_MS));
  assert.ok(least < PERIOD_MS / 2 || least > PERIOD_MS - 2, at.join(' '));
});

test('long work never overlaps and pauses for twice its duration', async () => {
  let running = 0;
  const spans: { begin: number; end: number }[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const ticks = tick(5, async () => {
    assert.equal(++running, 1);
    const begin = performance.now();
    await delay(20);
    spans.push({ begin, end: performance.now() });
    running--;
    if (spans.length === 4) resolve();
  });
  await promise;
  await ticks.stop();
  for (const [index, { begin, end }] of spans.slice(0, -1).entries()) {
    const next = spans[index + 1]?.begin ?? 0;
    assert.ok(next - end >= (end - begin) * 2 - 2, `${next - end} ms after ${end - begin} ms`);
  }
});

test('stop waits for the running work and starts no more', async () => {
  let count = 0;
  let ended = 0;
  const started = Promise.withResolvers<void>();
  const ticks = tick(2, async () => {
    count++;
    started.resolve();
    await delay(10);
    ended++;
  });
  await started.promise;
  await ticks.stop();
  assert.equal(ended, count);
  await delay(20);
  assert.equal(ended, count);
});
