import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accept, type Counters, merge, take } from './merge.ts';
import type { Sample, SubjectSample } from './sample.ts';

const A = '203.0.113.10';

function traffic(packets: number, variance = 0, subject = A): SubjectSample {
  return {
    subject,
    prefix: '203.0.113.0/24',
    packets,
    bytes: packets * 100,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: variance,
    byteVariance: variance * 10_000,
    vectors: [{ vector: 3, packets, bytes: packets * 100 }],
  };
}

function sample(packets: number, options: Partial<Sample> & { variance?: number } = {}): Sample {
  const { variance = 0, ...rest } = options;
  return {
    atMs: 1_000,
    durationMs: 250,
    addresses: [traffic(packets, variance)],
    prefixes: [],
    ...rest,
  };
}

const packetsOf = ({ addresses }: Sample): number => addresses[0]?.packets ?? 0;

/** Everything that can be taken at a moment. */
function drain(from: Counters, nowMs: number): { counters: Counters; samples: Sample[] } {
  const samples: Sample[] = [];
  let counters = from;
  for (;;) {
    const taken = take(counters, nowMs);
    if (taken === null) return { counters, samples };
    samples.push(taken.sample);
    counters = taken.counters;
  }
}

test('the same packets count once within a site, and sites add up', () => {
  const edge = { site: 'fra', sample: sample(1_000) };
  const router = { site: 'fra', sample: sample(900) };
  const far = { site: 'ams', sample: sample(500, { durationMs: 500 }) };
  assert.equal(packetsOf(merge([edge, router])), 1_000);
  const [all] = merge([edge, router, far]).addresses;
  // At the rates that each saw, whatever the length of its bucket.
  assert.deepEqual([all?.packets, all?.vectors[0]?.packets], [2_500, 2_500]);
  assert.equal(merge([edge, far]).durationMs, 500);
});

test('chance in samples does not outweigh an exact count; what is surely more does', () => {
  const exact = { site: 'fra', sample: sample(10_000) };
  const noisy = { site: 'fra', sample: sample(14_000, { variance: 4_000_000 }) };
  const sure = { site: 'fra', sample: sample(30_000, { variance: 4_000_000 }) };
  assert.equal(packetsOf(merge([exact, noisy])), 10_000);
  assert.equal(packetsOf(merge([sure, exact])), 30_000);
});

test('one counter alone is passed on as it counted, however its messages bunch', () => {
  const counts = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 1, maxLength: 40 });
  const cuts = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(counts, cuts, (packets, sizes) => {
      let counters: Counters = new Map();
      const out: Sample[] = [];
      let at = 0;
      for (const size of sizes) {
        const part = packets.slice(at, at + size).map((one) => sample(one));
        at += size;
        counters = accept(counters, 'edge/a', 'fra', part, at);
        const drained = drain(counters, at);
        counters = drained.counters;
        out.push(...drained.samples);
      }
      assert.deepEqual(out.map(packetsOf), packets);
    }),
  );
});

test('a counter that is late is waited for, then done without, and what comes after all is over', () => {
  let counters: Counters = new Map();
  const tell = (name: string, count: number, nowMs: number): Sample[] => {
    const samples = Array.from({ length: count }, () => sample(100));
    counters = accept(counters, name, name, samples, nowMs);
    const drained = drain(counters, nowMs);
    counters = drained.counters;
    return drained.samples;
  };
  assert.deepEqual(tell('a', 1, 0).map(packetsOf), [100]);
  assert.deepEqual(tell('b', 1, 0), []);
  assert.deepEqual(tell('a', 1, 200).map(packetsOf), [200]);
  assert.deepEqual(tell('a', 1, 250), []);
  assert.deepEqual(tell('a', 1, 500), []);
  assert.equal(tell('a', 1, 750).length, 1);
  // The three that b owes come at once: one is of a moment that is over.
  const after = tell('b', 3, 800);
  assert.deepEqual(after.map(packetsOf), [200, 200]);
  // Away altogether: nobody waits.
  assert.deepEqual(tell('a', 1, 3_000).map(packetsOf), [100]);
  assert.deepEqual(tell('a', 1, 3_250).map(packetsOf), [100]);
});

test('a faster clock makes no backlog, and takes nothing away from rates', () => {
  let counters: Counters = new Map();
  const rates: number[] = [];
  for (let turn = 0; turn < 400; turn++) {
    const nowMs = turn * 250;
    counters = accept(counters, 'slow', 'x', [sample(100)], nowMs);
    const fast = Array.from({ length: turn % 20 === 0 ? 2 : 1 }, () => sample(100));
    counters = accept(counters, 'fast', 'y', fast, nowMs);
    const drained = drain(counters, nowMs);
    counters = drained.counters;
    rates.push(...drained.samples.map((one) => packetsOf(one) / one.durationMs));
  }
  assert.ok(Math.abs(rates.length - 400) <= 4, String(rates.length));
  assert.ok(rates.every((rate) => Math.abs(rate - 0.8) < 1e-9));
  assert.ok([...counters.values()].every(({ waiting }) => waiting.length <= 8));
});

test('a bucket that was read late is spread over the time that it took; a very long one leaves its end', () => {
  let counters = accept(new Map(), 'a', 'x', [sample(1_000, { durationMs: 1_000 })], 0);
  const { samples } = drain(counters, 0);
  assert.deepEqual(samples.map(packetsOf), [250, 250, 250, 250]);
  counters = accept(new Map(), 'a', 'x', [sample(60_000, { durationMs: 60_000 })], 0);
  const long = drain(counters, 0).samples;
  assert.deepEqual([long.length, packetsOf(long[0] ?? sample(0))], [8, 250]);
});
