import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accept, type Counters, NO_COUNTERS, take } from './merge-samples.ts';
import type { Sample, SubjectSample } from '../sample.ts';
import { type Counting, mergeSites, type Slot, type RecentTrafficBySite } from './merge-sites.ts';

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

/** Takes all samples that are ready at this time. */
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

const agent = (name: string, site: string, counting: Counting = 'packets') => ({
  name,
  site,
  counting,
});

const NONE_LATE = { packets: new Set<string>(), exports: new Set<string>() };

const merge = (slots: readonly Slot[]): Sample => mergeSites(slots, new Map(), NONE_LATE).sample;

/** Consecutive buckets of one site: the count of its edge and of its exports. Null: no report arrived. */
function play(
  buckets: readonly (readonly [number | null, number | null])[],
  variance = 0,
): number[] {
  let recentTraffic: RecentTrafficBySite = new Map();
  return buckets.map(([counted, reported]) => {
    const slots: Slot[] = [];
    const of = (packets: number, error: number): Sample =>
      packets === 0 ? sample(0, { addresses: [] }) : sample(packets, { variance: error });
    if (counted !== null) {
      slots.push({ site: 'fra', counting: 'packets', sample: of(counted, 0) });
    }
    if (reported !== null)
      slots.push({ site: 'fra', counting: 'exports', sample: of(reported, variance) });
    const late = {
      packets: new Set(counted === null ? ['fra'] : []),
      exports: new Set(reported === null ? ['fra'] : []),
    };
    const merged = mergeSites(slots, recentTraffic, late);
    recentTraffic = merged.recentTraffic;
    return packetsOf(merged.sample);
  });
}

test('counts the same packets once within a site and adds sites', () => {
  const edge = { site: 'fra', counting: 'packets', sample: sample(1_000) } as const;
  const second = { site: 'fra', counting: 'packets', sample: sample(900) } as const;
  const far = {
    site: 'ams',
    counting: 'packets',
    sample: sample(500, { durationMs: 500 }),
  } as const;
  assert.equal(packetsOf(merge([edge, second])), 1_000);
  const [all] = merge([edge, second, far]).addresses;
  // Rates are added, so the lengths of the buckets may differ.
  assert.deepEqual([all?.packets, all?.vectors[0]?.packets], [2_500, 2_500]);
  assert.equal(merge([edge, far]).durationMs, 500);
});

test('prefers an exact export to a sampled one unless that is certainly larger', () => {
  const reported = (packets: number, variance = 0) =>
    ({ site: 'fra', counting: 'exports', sample: sample(packets, { variance }) }) as const;
  const exact = reported(10_000);
  assert.equal(packetsOf(merge([exact, reported(14_000, 4_000_000)])), 10_000);
  assert.equal(packetsOf(merge([reported(30_000, 4_000_000), exact])), 30_000);
});

test('prefers the counts of an edge over exports of its site, even if those arrive late and in bursts', () => {
  // Nothing for two seconds, then all at once, then on time, and the rest after the end of the flood.
  const stalled = [...Array(8).fill(0), 9_000, ...Array(11).fill(1_000), 0, 0, 4_000, 2_000, 0];
  const counted = [...Array(20).fill(1_000), 0, 0, 0, 0, 0];
  const pairs = counted.map((exact, index) => [exact, stalled[index]] as const);
  assert.deepEqual(play(pairs), counted);
  // The collector does not report meanwhile.
  const silent = pairs.map(
    ([exact, reported], index) => [exact, index < 8 ? null : reported] as const,
  );
  assert.deepEqual(play(silent), counted);
  // The edge is late once while the burst arrives: the burst counts as the previous count of the edge.
  const late = pairs.map(
    ([exact, reported], index) => [index === 8 ? null : exact, reported] as const,
  );
  assert.ok((play(late)[8] ?? Infinity) <= 1_000);
});

test('uses exports if they report far more than the edge for seconds, because packets were dropped before it', () => {
  const whole = Array.from({ length: 40 }, () => [10_000, 10_000] as const);
  const dropped = Array.from({ length: 40 }, () => [500, 10_000] as const);
  const gone = Array.from({ length: 40 }, () => [0, 10_000] as const);
  for (const rest of [dropped, gone]) {
    const packets = play([...whole, ...rest]);
    assert.ok(packets.slice(0, 40).every((one) => one === 10_000));
    assert.equal(packets[41], rest === dropped ? 500 : 0);
    assert.equal(packets.at(-1), 10_000);
  }
  // Traffic that only routers report counts at once.
  assert.deepEqual(play([[0, 10_000]]), [10_000]);
});

test('uses the exports of a site while its edge is away', () => {
  let counters = accept(NO_COUNTERS, agent('edge', 'fra'), [sample(1_000)], 0);
  counters = accept(counters, agent('flows', 'fra', 'exports'), [sample(900)], 0);
  counters = drain(counters, 0).counters;
  counters = accept(counters, agent('flows', 'fra', 'exports'), [sample(5_000)], 5_000);
  assert.deepEqual(drain(counters, 5_000).samples.map(packetsOf), [5_000]);
});

test('bounds the remembered subjects', () => {
  let recentTraffic: RecentTrafficBySite = new Map();
  for (let round = 0; round < 40; round++) {
    const many = Array.from({ length: 1_000 }, (_, index) =>
      traffic(10_000, 0, `203.0.${round}.${index}`),
    );
    const counted = { ...sample(0), addresses: many };
    const slots = [
      { site: 'fra', counting: 'packets', sample: counted },
      { site: 'fra', counting: 'exports', sample: sample(10) },
    ] as const;
    recentTraffic = mergeSites(slots, recentTraffic, NONE_LATE).recentTraffic;
  }
  const kept = recentTraffic.get('fra');
  assert.equal(kept?.size, 16_384);
  assert.ok(kept.has('203.0.39.7'));
});

test('passes a single counter on unchanged, even if its messages arrive in bursts', () => {
  const counts = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 1, maxLength: 40 });
  const cuts = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(counts, cuts, (packets, sizes) => {
      let counters: Counters = NO_COUNTERS;
      const out: Sample[] = [];
      let at = 0;
      for (const size of sizes) {
        const part = packets.slice(at, at + size).map((one) => sample(one));
        at += size;
        counters = accept(counters, agent('a', 'fra'), part, at);
        const drained = drain(counters, at);
        counters = drained.counters;
        out.push(...drained.samples);
      }
      assert.deepEqual(out.map(packetsOf), packets);
    }),
  );
});

test('waits for a late counter, then continues without it and drops its outdated buckets', () => {
  let counters: Counters = NO_COUNTERS;
  const tell = (name: string, count: number, nowMs: number): Sample[] => {
    const samples = Array.from({ length: count }, () => sample(100));
    counters = accept(counters, agent(name, name), samples, nowMs);
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
  // The three late buckets of b arrive at once; one of them is outdated.
  const after = tell('b', 3, 800);
  assert.deepEqual(after.map(packetsOf), [200, 200]);
  // A counter that is away is not waited for.
  assert.deepEqual(tell('a', 1, 3_000).map(packetsOf), [100]);
  assert.deepEqual(tell('a', 1, 3_250).map(packetsOf), [100]);
});

test('builds no backlog for a counter with a faster clock, and keeps its rates', () => {
  let counters: Counters = NO_COUNTERS;
  const rates: number[] = [];
  for (let turn = 0; turn < 400; turn++) {
    const nowMs = turn * 250;
    counters = accept(counters, agent('slow', 'x'), [sample(100)], nowMs);
    const fast = Array.from({ length: turn % 20 === 0 ? 2 : 1 }, () => sample(100));
    counters = accept(counters, agent('fast', 'y'), fast, nowMs);
    const drained = drain(counters, nowMs);
    counters = drained.counters;
    rates.push(...drained.samples.map((one) => packetsOf(one) / one.durationMs));
  }
  assert.ok(Math.abs(rates.length - 400) <= 4, String(rates.length));
  assert.ok(rates.every((rate) => Math.abs(rate - 0.8) < 1e-9));
  assert.ok([...counters.agents.values()].every(({ waiting }) => waiting.length <= 8));
});

test('spreads a late bucket over its duration, and keeps only the end of a very long one', () => {
  let counters = accept(NO_COUNTERS, agent('a', 'x'), [sample(1_000, { durationMs: 1_000 })], 0);
  const { samples } = drain(counters, 0);
  assert.deepEqual(samples.map(packetsOf), [250, 250, 250, 250]);
  counters = accept(NO_COUNTERS, agent('a', 'x'), [sample(60_000, { durationMs: 60_000 })], 0);
  const long = drain(counters, 0).samples;
  assert.deepEqual([long.length, packetsOf(long[0] ?? sample(0))], [8, 250]);
});
