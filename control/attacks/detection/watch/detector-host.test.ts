import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { WatchSamples, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Seen } from '../record/plan.ts';
import { DetectorHost } from './detector-host.ts';
import { floodSample } from './testing.ts';

const SCOPE: WatchScope = {
  scope: '10.0.0.0/8',
  ...DEFAULT_THRESHOLDS,
  mitigation: 'off',
  safelist: [],
  subject: true,
};

function startHost() {
  const nearest = new NearestScope([[SCOPE.scope, SCOPE]]);
  const noted: Seen[] = [];
  let nowMs = 1_000;
  const host = new DetectorHost({
    scopes: {
      of: (subject) => nearest.of(subject),
      thresholdsOf: (subject) => nearest.of(subject) ?? DEFAULT_THRESHOLDS,
      serves: () => true,
    },
    recorder: { note: (seen) => void noted.push(seen), noteEvidence: () => {} },
    nowMs: () => nowMs,
    wallMs: () => nowMs,
  });
  let sequence = 0;
  const send = (samples: readonly WireSample[], message: Partial<WatchSamples> = {}) => {
    sequence++;
    host.accept({ kind: 'edge', name: 'a' }, 'x', {
      kind: 'watch.samples',
      instance: 'i',
      sequence,
      atMs: nowMs,
      samples,
      ...message,
    });
  };
  return { host, noted, send, pass: (ms: number) => void (nowMs += ms), now: () => nowMs };
}

test('survives samples with any numbers and detects the next flood', () => {
  const count = fc.oneof(
    fc.constantFrom(0, 1, 1e15, 1e30, 0.1),
    fc.double({ min: 0, max: 1e15, noNaN: true }),
  );
  const subject = fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.0/8', '8.8.8.8', '2001:db8::1');
  const one = fc.record({
    subject,
    prefix: fc.constantFrom(null, '10.0.0.0/8', '9.0.0.0/8'),
    packets: count,
    bytes: count,
    dataPackets: count,
    dataBytes: count,
    receiptPackets: count,
    packetVariance: count,
    byteVariance: count,
    vectors: fc.array(fc.record({ vector: fc.nat({ max: 20 }), packets: count, bytes: count }), {
      maxLength: 3,
    }),
  });
  const sample = fc.record({
    atMs: fc.constantFrom(0, 1_000, 1e12, 2.5e14),
    durationMs: fc.constantFrom(1, 249.5, 250, 10_000, 60_000),
    addresses: fc.array(one, { maxLength: 6 }),
    prefixes: fc.array(one, { maxLength: 3 }),
    tops: fc.constant([]),
  });
  fc.assert(
    fc.property(fc.array(fc.array(sample, { maxLength: 8 }), { maxLength: 10 }), (messages) => {
      const { noted, send, pass, now } = startHost();
      for (const samples of messages) {
        pass(250);
        send(samples);
      }
      for (let bucket = 0; bucket < 20; bucket++) {
        pass(250);
        send([floodSample(now(), { '10.9.9.9': 100_000 })]);
      }
      assert.ok(noted.some(({ attack }) => attack.subject === '10.9.9.9'));
      for (const { attack } of noted) {
        assert.ok(Number.isFinite(attack.startedAtMs) && Number.isFinite(attack.peakPps.value));
        assert.notEqual(attack.subject, '8.8.8.8');
      }
    }),
    { numRuns: repeated(100) },
  );
});

test('reports the senders of a flood when known, and again only when known much better', () => {
  const { noted, send, pass } = startHost();
  const flood = floodSample(0, { '10.0.0.1': 100_000 });
  const sampledTops = (samples: number) =>
    flood.tops.map((one) => ({ ...one, sampled: { samples, packets: samples * 64 } }));
  const newsOf = (tops: WireSample['tops']): number => {
    noted.length = 0;
    for (let bucket = 0; bucket < 12; bucket++) {
      pass(250);
      send([{ ...flood, tops }]);
    }
    return noted.filter(({ isNews }) => isNews).length;
  };
  assert.equal(newsOf([]), 1);
  assert.equal(newsOf([]), 0);
  assert.equal(newsOf(sampledTops(5)), 0);
  assert.equal(newsOf(sampledTops(60)), 1);
  assert.equal(newsOf(sampledTops(200)), 0);
  assert.equal(newsOf(sampledTops(240)), 1);
});

test('reports a vector that joins an attack at once, also if the name of the attack stays', () => {
  const { noted, send, pass, now } = startHost();
  const play = (rates: Readonly<Partial<Record<'udp' | 'gre', number>>>): Seen[] => {
    noted.length = 0;
    for (let bucket = 0; bucket < 8; bucket++) {
      pass(250);
      const parts = Object.entries(rates).flatMap(
        ([vector, pps]) =>
          floodSample(now(), { '10.0.0.1': pps }, vector as 'udp' | 'gre').addresses,
      );
      const [first] = parts;
      if (first === undefined) continue;
      const sum = (of: 'packets' | 'bytes'): number =>
        parts.reduce((total, part) => total + part[of], 0);
      const vectors = parts.flatMap((part) => part.vectors);
      const one = { ...first, packets: sum('packets'), bytes: sum('bytes'), vectors };
      send([{ ...floodSample(now(), {}), addresses: [one] }]);
    }
    return noted.filter(({ isNews }) => isNews);
  };
  const [opened, ...others] = play({ udp: 200_000 });
  assert.deepEqual([opened?.attack.type, opened?.attack.present], ['udp_flood', ['udp_flood']]);
  assert.deepEqual(others, []);
  const [joined] = play({ udp: 200_000, gre: 30_000 });
  assert.equal(joined?.attack.type, 'udp_flood');
  assert.deepEqual(joined?.attack.present, ['gre_flood', 'udp_flood']);
});

test('counts repeated or late messages once, and restarts the count with the agent', () => {
  const { noted, send, pass, now } = startHost();
  const half = () => [floodSample(now(), { '10.0.0.1': 14_000 })];
  for (let bucket = 1; bucket <= 40; bucket++) {
    pass(250);
    send(half(), { sequence: bucket });
    send(half(), { sequence: bucket });
    send(half(), { sequence: Math.max(1, bucket - 3) });
  }
  assert.deepEqual(noted, []);
  for (let bucket = 1; bucket <= 10; bucket++) {
    pass(250);
    send([floodSample(now(), { '10.0.0.1': 60_000 })], { instance: 'again', sequence: bucket });
  }
  assert.ok(noted.length > 0);
});

test('keeps memory bounded and the detector on time with a hundred thousand addresses', () => {
  const { host, send, pass, now } = startHost();
  const beganMs = performance.now();
  for (let block = 0; block < 5; block++) {
    const rates: Record<string, number> = {};
    for (let index = 0; index < 20_000; index++) {
      const number = block * 20_000 + index;
      rates[`10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`] = 5_000;
    }
    pass(250);
    send([floodSample(now(), rates)]);
  }
  // Even on a loaded machine.
  const tookMs = performance.now() - beganMs;
  assert.ok(tookMs < 60_000, `${tookMs} ms`);
  assert.deepEqual(host.ongoing(), []);
  const { heapUsed } = process.memoryUsage();
  assert.ok(heapUsed < 1_500_000_000, String(heapUsed));
});
