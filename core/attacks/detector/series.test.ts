import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_SERIES_POINTS, Series } from './series.ts';

const bucket = fc.record({
  durationMs: fc.integer({ min: 1, max: 5_000 }),
  pps: fc.constantFrom(0, 10, 1_000),
});

test('contains all counted traffic in at most the maximum number of steps, for any duration', () => {
  fc.assert(
    fc.property(fc.array(bucket, { maxLength: 2_000, size: 'max' }), (buckets) => {
      const series = new Series(1_000);
      let packets = 0;
      let durationMs = 0;
      for (const { durationMs: ms, pps } of buckets) {
        series.add(ms, (pps * ms) / 1000, (pps * ms) / 125);
        packets += (pps * ms) / 1000;
        durationMs += ms;
      }
      const { startMs, stepMs, pps, bps } = series.value;
      assert.equal(startMs, 1_000);
      assert.ok(pps.length <= MAX_SERIES_POINTS && bps.length === pps.length);
      // The last step may be shorter.
      const lastMs = durationMs - stepMs * (pps.length - 1);
      assert.ok(pps.length === 0 || (lastMs > -1e-6 && lastMs <= stepMs + 1e-6), `${lastMs}`);
      const total = pps.reduce(
        (sum, rate, index) => sum + (rate * (index === pps.length - 1 ? lastMs : stepMs)) / 1000,
        0,
      );
      assert.ok(Math.abs(total - packets) <= 1e-6 * Math.max(1, packets), `${total} ${packets}`);
    }),
    { numRuns: 50 },
  );
});

test('continues a stored series and counts the time between as zero', () => {
  const before = new Series(1_000);
  before.add(2_000, 20, 160);
  const after = new Series(0, before.value);
  after.skip(3_000);
  after.add(1_000, 5, 40);
  assert.deepEqual(after.value, {
    startMs: 1_000,
    stepMs: 1_000,
    pps: [10, 10, 0, 0, 0, 5],
    bps: [80, 80, 0, 0, 0, 40],
  });
});

test('a snapshot stays as it was while the series goes on, also when its steps double', () => {
  const series = new Series(0);
  series.add(1_500, 30, 240);
  const snapshot = series.snapshot();
  const before = series.value;
  for (let minute = 0; minute < 30; minute++) series.add(60_000, 60, 480);
  assert.ok(series.value.stepMs > before.stepMs);
  assert.deepEqual(snapshot(), before);
});

test('skips a gap of years quickly and keeps the start time', () => {
  const series = new Series(0);
  series.add(4_000, 4_000, 0);
  series.skip(1e12);
  assert.ok((series.value.pps[0] ?? 0) > 0);
  assert.ok(series.value.pps.length <= MAX_SERIES_POINTS);
});
