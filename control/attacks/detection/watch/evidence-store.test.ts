import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attack } from '@portcullis/core/attacks/attack.ts';
import type { SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { RecordedSeries } from '../record/stored-state.ts';
import { EvidenceStore } from './evidence-store.ts';

const subject = '203.0.113.10';
const peak = { value: 0, low: 0, high: 0 };
const attack: Attack = {
  id: 'a',
  subject,
  type: 'udp_flood',
  shares: [],
  peakPps: peak,
  peakBps: peak,
  startedAtMs: 0,
  endedAtMs: null,
};
const limits = { pps: 100, bps: 1000 };
const second = (counts: Partial<SubjectSample>) => ({
  atMs: 0,
  durationMs: 1000,
  prefixes: [],
  addresses: [
    { subject, packets: 10, bytes: 100, packetVariance: 0, byteVariance: 0, ...counts },
  ] as unknown as SubjectSample[],
});
const evidenceOf = (store: EvidenceStore) =>
  store.evidenceOf(attack) as { limits: unknown; series: RecordedSeries };

test('stores what the traffic exceeded, and no variances if every packet was counted', () => {
  const store = new EvidenceStore();
  store.begin({ attack, limits }, 0);
  store.add(second({}));
  const evidence = evidenceOf(store);
  assert.deepEqual(evidence.limits, limits);
  assert.deepEqual(evidence.series, { startMs: 0, stepMs: 1000, pps: [10], bps: [800] });
});

test('stores the variances of sampled traffic, and continues them in another process', () => {
  const store = new EvidenceStore();
  store.begin({ attack, limits }, 0);
  store.add(second({ packetVariance: 400, byteVariance: 2 }));
  const { series } = evidenceOf(store);
  assert.deepEqual([series.ppsVariance, series.bpsVariance], [[400], [128]]);
  const next = new EvidenceStore();
  next.resume({ attack, limits }, series, 0, 3000);
  next.add(second({}));
  assert.deepEqual(evidenceOf(next).series.ppsVariance, [400, 0, 0, 0]);
});
