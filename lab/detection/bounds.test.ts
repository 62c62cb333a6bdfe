import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Measured } from '@portcullis/core/attacks/attack.ts';
import { INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import { BUCKET_MS, type Sample } from '@portcullis/core/attacks/sample.ts';
import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import { type Chance, chanceOf, poisson } from './chance.ts';

const SUBJECT = '203.0.113.10';
const SETTINGS = {
  thresholdsOf: () => ({ pps: 1_000, bps: 1e12, holdMs: 3_000 }),
  maxSubjects: 10,
} as const;
const PPS = 5_000;
const RATE = 10;

function sampled(atMs: number, pps: number, chance: Chance): Sample {
  const packets = poisson((pps * BUCKET_MS) / 1000 / RATE, chance) * RATE;
  const packetVariance = packets * (RATE - 1);
  const bytes = packets * 100;
  const one = {
    subject: SUBJECT,
    prefix: null,
    packets,
    bytes,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance,
    byteVariance: packetVariance * 10_000,
    vectors: [{ vector: VECTOR_INDEX.udp, packets, bytes }],
  };
  return { atMs, durationMs: BUCKET_MS, addresses: [one], prefixes: [] };
}

/** The peak of a flood of which one packet in ten was looked at. */
function peakOf(seconds: number, ppsAt: (second: number) => number, seed: number): Measured {
  const chance = chanceOf(seed);
  let state = INITIAL;
  for (let bucket = 1; bucket <= (seconds * 1000) / BUCKET_MS; bucket++) {
    const atMs = bucket * BUCKET_MS;
    ({ state } = step(state, sampled(atMs, ppsAt(atMs / 1000), chance), SETTINGS));
  }
  const phase = state.addresses.get(SUBJECT)?.phase;
  assert.ok(phase?.name === 'ongoing');
  return phase.attack.peakPps;
}

const isWithin = (pps: number, { low, high }: Measured): boolean => pps >= low && pps <= high;

for (const [seconds, floods] of [
  [8, 300],
  [60, 150],
  [600, 60],
  [3_600, 12],
] as const) {
  test(`what was sent in ${seconds} s of a level flood lies within the bounds of its sampled peak`, (t) => {
    let misses = 0;
    let off = 0;
    for (let seed = 1; seed <= floods; seed++) {
      const peak = peakOf(seconds, () => PPS, seed);
      if (!isWithin(PPS, peak)) misses++;
      off = Math.max(off, Math.abs(peak.value / PPS - 1));
    }
    t.diagnostic(`${misses} of ${floods} missed, ${(off * 100).toFixed(1)} % off at most`);
    // Bounds are four standard errors: chance misses none.
    assert.equal(misses, 0);
  });
}

test('the peak of a sampled flood that rises, or is highest for two seconds, is of its highest', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const rising = peakOf(120, (second) => Math.min(20_000, 2_000 + second * 200), seed);
    assert.ok(isWithin(20_000, rising), JSON.stringify(rising));
    const burst = peakOf(120, (second) => (second > 60 && second <= 62 ? 15_000 : PPS), seed);
    assert.ok(burst.value > 12_000 && burst.low < 15_000, JSON.stringify(burst));
  }
});
