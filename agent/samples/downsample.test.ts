import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { step, INITIAL, type DetectorState } from '@portcullis/core/attacks/detector/detector.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { sampleOf } from '@portcullis/core/attacks/testing/samples.ts';
import { isWireSample, MAX_SUBJECTS_PER_SAMPLE } from '@portcullis/link/messages/attacks.ts';
import { downsample } from './downsample.ts';

const QUIET = { thresholdsOf: () => DEFAULT_THRESHOLDS, tops: null };
const hosts = (count: number, pps: (index: number) => number): Record<string, number> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `203.0.${Math.floor(index / 256)}.${index % 256}`,
      pps(index),
    ]),
  );

test('a sample keeps subjects above one thirty-second of their threshold', () => {
  const { pps } = DEFAULT_THRESHOLDS;
  const sent = downsample(sampleOf(0, { '203.0.113.1': pps / 32, '203.0.113.2': pps / 40 }), QUIET);
  assert.deepEqual(
    sent.addresses.map(({ subject }) => subject),
    ['203.0.113.1'],
  );
});

test('a crowded sample keeps the subjects nearest to their thresholds', () => {
  const crowded = sampleOf(
    0,
    hosts(10_000, (index) => 1_000 + index),
  );
  const sent = downsample(crowded, { ...QUIET, tops: () => null });
  assert.equal(sent.addresses.length + sent.prefixes.length, MAX_SUBJECTS_PER_SAMPLE);
  assert.ok(isWireSample(sent));
  const least = Math.min(...sent.addresses.map(({ packets }) => packets));
  const left = crowded.addresses.length - sent.addresses.length;
  assert.equal(crowded.addresses.filter(({ packets }) => packets < least).length, left);
});

test('only subjects near their thresholds carry evidence, up to a limit', () => {
  const requested: string[] = [];
  const tops = (subject: string) => {
    requested.push(subject);
    return { subject, sources: [], sourcePorts: [], destinationPorts: [] };
  };
  const { pps } = DEFAULT_THRESHOLDS;
  const few = downsample(sampleOf(0, { '203.0.113.1': pps / 2 - 100, '203.0.113.2': pps }), {
    ...QUIET,
    tops,
  });
  assert.deepEqual(few.tops.map(({ subject }) => subject).toSorted(), [
    '203.0.113.0/24',
    '203.0.113.2',
  ]);
  const many = downsample(
    sampleOf(
      0,
      hosts(200, () => pps),
    ),
    { ...QUIET, tops },
  );
  assert.equal(many.tops.length, 32);
});

test('downsampling hides no attack from the detector', () => {
  const attacked = (thinned: boolean): string[] => {
    let state: DetectorState = INITIAL;
    const settings = { thresholdsOf: () => DEFAULT_THRESHOLDS, maxSubjects: 1_000 };
    const seen: string[] = [];
    for (let index = 0; index < 240; index++) {
      const flood = index > 200 ? 30_000 : 600;
      const whole: Sample = sampleOf(index, { '203.0.113.1': flood, '203.0.113.2': 500 });
      const stepped = step(state, thinned ? downsample(whole, QUIET) : whole, settings);
      ({ state } = stepped);
      for (const { kind, attack } of stepped.events) {
        if (kind === 'opened') seen.push(`${index} ${attack.subject} ${attack.type}`);
      }
    }
    return seen;
  };
  assert.equal(attacked(false).length, 1);
  assert.deepEqual(attacked(true), attacked(false));
});
