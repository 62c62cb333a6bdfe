import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Traffic } from '../sample.ts';
import {
  type Bucket,
  bucketOf,
  DEPTH,
  EMPTY,
  isSustained,
  latest,
  peaksOf,
  push,
  ratesOf,
  restart,
  subtract,
  type Window,
} from './window.ts';

const TRAFFIC: Traffic = {
  packets: 100,
  bytes: 50_000,
  dataPackets: 30,
  dataBytes: 40_000,
  receiptPackets: 10,
  packetVariance: 400,
  byteVariance: 900,
  vectors: [],
};

/** 250 ms with this number of packets of 1000 bits each. */
function bucket(packets: number, changes: Partial<Bucket> = {}): Bucket {
  return {
    durationMs: 250,
    loadPackets: packets,
    loadBits: packets * 1000,
    packets,
    bits: packets * 1000,
    packetVariance: 0,
    bitVariance: 0,
    ...changes,
  };
}

function windowOf(buckets: readonly Bucket[], faded: Partial<Window['faded']> = {}): Window {
  return { buckets, faded: { ...EMPTY.faded, ...faded } };
}

describe('a bucket', () => {
  it('of an address excludes data packets and acknowledgements from the packet load, and counts all bits', () => {
    assert.deepEqual(bucketOf(TRAFFIC, 250, false), {
      durationMs: 250,
      loadPackets: 60,
      loadBits: 400_000,
      packets: 100,
      bits: 400_000,
      packetVariance: 400,
      bitVariance: 64 * 900,
    });
  });

  it('of a prefix counts a tenth of the data in the bit load', () => {
    assert.equal(bucketOf(TRAFFIC, 250, true).loadBits, 8 * (10_000 + 4_000));
    assert.equal(bucketOf(TRAFFIC, 250, true).bits, 400_000);
  });

  it('has no negative load, and only a duration without traffic', () => {
    assert.equal(bucketOf({ ...TRAFFIC, receiptPackets: 90 }, 250, false).loadPackets, 0);
    assert.deepEqual(bucketOf(null, 300, false), bucket(0, { durationMs: 300 }));
  });
});

describe('a window', () => {
  it('keeps the newest six buckets, the newest last', () => {
    let window = EMPTY;
    for (let packets = 1; packets <= 8; packets++) window = push(window, bucket(packets));
    assert.equal(DEPTH, 6);
    assert.deepEqual(
      window.buckets.map(({ packets }) => packets),
      [3, 4, 5, 6, 7, 8],
    );
  });

  it('decays its long past by the factor e in 8 seconds, and variances by the square', () => {
    const one = bucket(100, { packetVariance: 10, bitVariance: 20 });
    const two = bucket(7, { durationMs: 8000, packetVariance: 1, bitVariance: 2 });
    const { faded } = push(push(EMPTY, one), two);
    const kept = Math.exp(-1);
    assert.deepEqual(faded, {
      durationMs: 250 * kept + 8000,
      loadPackets: 100 * kept + 7,
      loadBits: 100_000 * kept + 7000,
      packets: 100 * kept + 7,
      bits: 100_000 * kept + 7000,
      packetVariance: 10 * (kept * kept) + 1,
      bitVariance: 20 * (kept * kept) + 2,
    });
  });

  it('restarts its long past from the given number of newest buckets, at least one, and keeps all buckets', () => {
    const window = windowOf([bucket(1), bucket(2), bucket(4)], bucket(100));
    assert.deepEqual(restart(window, 2), windowOf(window.buckets, bucket(6, { durationMs: 500 })));
    assert.deepEqual(restart(window, 0).faded, bucket(4));
  });

  it('is limited to its newest buckets within the given time, at least one', () => {
    const window = windowOf([bucket(1), bucket(2), bucket(4)], bucket(100));
    const packets = (forMs: number): readonly number[] =>
      latest(window, forMs).buckets.map((one) => one.packets);
    assert.deepEqual([packets(0), packets(499), packets(500)], [[4], [4], [2, 4]]);
    assert.deepEqual(packets(10_000), [1, 2, 4]);
    assert.deepEqual(latest(window, 500).faded, bucket(6, { durationMs: 500 }));
  });
});

describe('subtracting other windows', () => {
  const window = windowOf([bucket(10), bucket(20, { packetVariance: 5 })], bucket(100));

  it('aligns the buckets by their ends, and keeps durations and variances', () => {
    const others = [windowOf([bucket(3)], bucket(40)), windowOf([bucket(1), bucket(2)], bucket(1))];
    const left = subtract(window, others);
    assert.deepEqual(left, windowOf([bucket(9), bucket(15, { packetVariance: 5 })], bucket(59)));
  });

  it('has no negative result, and changes nothing without other windows', () => {
    const left = subtract(window, [windowOf([bucket(11), bucket(21)], bucket(101))]);
    assert.deepEqual(left, windowOf([bucket(0), bucket(0, { packetVariance: 5 })], bucket(0)));
    assert.equal(subtract(window, []), window);
  });
});

describe('the rates of a window', () => {
  it('divide by 1.5 s even if less time was measured', () => {
    const rates = ratesOf(windowOf([bucket(300)], bucket(300)));
    assert.deepEqual(rates, {
      pps: 200,
      bps: 200_000,
      leastPps: 200,
      leastBps: 200_000,
      surePps: 200,
      sureBps: 200_000,
    });
  });

  it('subtract 2 standard errors for the lower bound and 3 for the certain bound', () => {
    const all = { packets: 9999, bits: 9e9 };
    const one = bucket(100, { ...all, durationMs: 2000, packetVariance: 16, bitVariance: 10_000 });
    const rates = ratesOf(windowOf([one, { ...one, packetVariance: 9, bitVariance: 0 }]));
    assert.deepEqual([rates.pps, rates.leastPps, rates.surePps], [50, 190 / 4, 185 / 4]);
    assert.deepEqual([rates.bps, rates.leastBps, rates.sureBps], [50_000, 49_950, 49_925]);
  });

  it('take the certain bound from the long past minus 2.5 standard errors if that is higher', () => {
    const all = { packets: 9999, bits: 9e9 };
    const past = bucket(1000, {
      ...all,
      durationMs: 5000,
      packetVariance: 400,
      bitVariance: 40_000,
    });
    const rates = ratesOf(windowOf([bucket(30)], past));
    assert.deepEqual([rates.surePps, rates.sureBps], [190, 199_900]);
    assert.deepEqual([rates.pps, rates.leastPps], [20, 20]);
  });
});

describe('sustained traffic', () => {
  const limit = { pps: 1000, bps: 1_000_000_000 };
  const enough = bucket(125);

  it('has half of a rate in each of the newest three buckets', () => {
    assert.equal(isSustained(windowOf([enough, enough, enough]), limit), true);
    assert.equal(isSustained(windowOf([bucket(0), enough, enough, enough]), limit), true);
    for (const at of [0, 1, 2]) {
      const buckets = [enough, enough, enough].with(at, bucket(124));
      assert.equal(isSustained(windowOf([enough, ...buckets]), limit), false);
    }
    assert.equal(isSustained(windowOf([enough, enough]), limit), false);
  });

  it('is measured by packets or by bits of load, and by the duration of each bucket', () => {
    const bits = bucket(0, { loadBits: 125_000_000 });
    assert.equal(isSustained(windowOf([bits, enough, bits]), limit), true);
    const short = bucket(50, { durationMs: 100 });
    assert.equal(isSustained(windowOf([short, short, short]), limit), true);
    const data = bucket(0, { packets: 1000, bits: 1e9 });
    assert.equal(isSustained(windowOf([data, data, data]), limit), false);
  });
});

describe('the peak of a window', () => {
  it('is the traffic of the newest four buckets if every packet was counted', () => {
    const buckets = [
      bucket(900),
      bucket(10),
      bucket(20),
      bucket(30),
      bucket(40, { loadPackets: 0 }),
    ];
    const { pps, bps } = peaksOf(windowOf(buckets, bucket(5)));
    assert.deepEqual(pps, { value: 100, low: 100, high: 100 });
    assert.deepEqual(bps, { value: 100_000, low: 100_000, high: 100_000 });
  });

  it('divides an incomplete second by 0.99 s', () => {
    assert.equal(peaksOf(windowOf([bucket(99)])).pps.value, 100);
  });

  it('has bounds of 4 standard errors, never below zero', () => {
    const second = bucket(200, { durationMs: 2000, packetVariance: 400, bitVariance: 4e10 });
    const { pps, bps } = peaksOf(windowOf([second], second));
    assert.deepEqual(pps, { value: 100, low: 60, high: 140 });
    assert.deepEqual(bps, { value: 100_000, low: 0, high: 500_000 });
  });

  it('uses the long past if the last second differs by at most 5 standard errors', () => {
    const second = bucket(100, { durationMs: 1000, packetVariance: 100 });
    const past = (packets: number): Window =>
      windowOf([second], { ...bucket(packets), durationMs: 1000, packetVariance: 4 });
    assert.deepEqual(peaksOf(past(150)).pps, { value: 150, low: 142, high: 158 });
    assert.deepEqual(peaksOf(past(50)).pps, { value: 50, low: 42, high: 58 });
    const counted = windowOf([{ ...second, packetVariance: 0 }], past(100).faded);
    assert.deepEqual(peaksOf(counted).pps, { value: 100, low: 100, high: 100 });
    assert.equal(peaksOf(past(151)).pps.value, 100);
    assert.equal(peaksOf(past(49)).pps.value, 100);
  });
});
