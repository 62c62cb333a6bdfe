import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Curve, curveCsv, seriesOf, timesOf, unitOf } from './curve.ts';

const curve: Curve = {
  from: '2026-11-21T01:12:04+00:00',
  step_ms: 1000,
  pps: [100, 300],
  bps: [800, 2400],
  pps_error: [150, 20],
  bps_error: null,
};

describe('the curve of an attack', () => {
  it('has bounds where traffic was sampled, never below zero, and none where every packet was counted', () => {
    const { low, high } = seriesOf(curve, 'pps');
    assert.deepEqual(
      [low, high],
      [
        [0, 280],
        [250, 320],
      ],
    );
    assert.equal(seriesOf(curve, 'bps').low, undefined);
  });

  it('opens on the unit that was furthest above its threshold', () => {
    const threshold = { pps: 20_000, bps: 1_000_000_000 };
    assert.equal(unitOf({ peak_pps: 60_000, peak_bps: 31_000_000 }, threshold), 'pps');
    assert.equal(unitOf({ peak_pps: 21_000, peak_bps: 9_000_000_000 }, threshold), 'bps');
    assert.equal(unitOf({ peak_pps: 60_000, peak_bps: 31_000_000 }, null), 'bps');
  });

  it('stands in the middle of its steps', () => {
    const start = Date.parse(curve.from) / 1000;
    assert.deepEqual(timesOf(curve), [start + 0.5, start + 1.5]);
  });

  it('is a table of a row for each step', () => {
    assert.equal(curveCsv(curve).split('\r\n')[2], '2026-11-21T01:12:05.000Z,300,20,2400,0');
  });
});
