import assert from 'node:assert/strict';
import { it } from 'node:test';
import { TOTAL } from '../decode/counters.ts';
import { RunningTotals } from './running-totals.ts';

const counts = (packets: number, bytes = 0, reversePackets = 0, reverseBytes = 0) => ({
  packets,
  bytes,
  reversePackets,
  reverseBytes,
});
const ALL = TOTAL.packets | TOTAL.bytes | TOTAL.reversePackets | TOTAL.reverseBytes;

it('running totals are subtracted in both directions, and counters that are deltas stay', () => {
  const totals = new RunningTotals();
  totals.subtract('a', counts(10, 1000, 5, 500), ALL, 1);
  const next = counts(12, 1100, 9, 900);
  assert.equal(totals.subtract('a', next, ALL, 2), 1);
  assert.deepEqual(next, counts(2, 100, 4, 400));
  const mixed = counts(13, 7);
  totals.subtract('a', { ...mixed, reversePackets: 9, reverseBytes: 900 }, ALL, 3);
  const delta = counts(15, 7);
  totals.subtract('a', delta, TOTAL.packets, 4);
  assert.deepEqual(delta, counts(15 - 13, 7));
});

it('running totals of any number of flows are bounded', () => {
  const totals = new RunningTotals();
  for (let flow = 0; flow < 100_000; flow++) totals.subtract(`${flow}`, counts(1), ALL, -1);
  assert.ok(totals.size <= 65_536);
  const known = counts(3);
  totals.subtract('99999', known, ALL, -1);
  assert.equal(known.packets, 2);
});
