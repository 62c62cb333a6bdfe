import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggestThresholds } from './suggest-thresholds.ts';

const thresholds = { pps: 20_000, bps: 1_000_000_000 };
const peak = (pps: number, mbps = pps / 100) => ({ pps, bps: mbps * 1_000_000 });
const subject = '203.0.113.10';

test('suggests twice the usual traffic, and says what that would have missed and reported', () => {
  const hours = [peak(3_000), peak(4_300), peak(2_900)];
  const attacks = [peak(60_000), peak(8_000), peak(25_000)];
  const found = suggestThresholds({ subject, thresholds, hours, attacks });
  assert.deepEqual(found.suggested, { pps: 8_600, bps: 1_000_000_000, missed: 1, reported: 0 });
  assert.deepEqual(found.present, { ...thresholds, missed: 1, reported: 0 });
  assert.deepEqual([found.usual?.pps, found.attacks], [4_300, 3]);
});

test('suggests more where usual traffic reaches the threshold', () => {
  const hours = [peak(18_000), peak(26_000), peak(22_000)];
  const found = suggestThresholds({ subject, thresholds, hours, attacks: [] });
  assert.deepEqual([found.present.reported, found.suggested?.pps], [2, 52_000]);
});

test('suggests nothing without traffic, or close to what is set, and evaluates what was chosen', () => {
  assert.equal(suggestThresholds({ subject, thresholds, hours: [], attacks: [] }).suggested, null);
  const near = { subject, thresholds, hours: [peak(10_500)], attacks: [peak(30_000)] };
  assert.equal(suggestThresholds(near).suggested, null);
  const chosen = suggestThresholds(near, { pps: 5_000, bps: 1e9 }).suggested;
  assert.deepEqual([chosen?.missed, chosen?.reported], [0, 1]);
});
