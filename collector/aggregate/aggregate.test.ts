import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { VECTORS } from '@portcullis/core/attacks/vectors.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { Aggregate, type AggregateOptions } from './aggregate.ts';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { recordTo } from '../testing/records.ts';

/** An aggregate and its clock, which advances with its buckets. */
class Timed extends Aggregate {
  #nowMs = 0;

  constructor(options: Partial<AggregateOptions> = {}) {
    const detail = { packets: 0, bytes: 0 };
    super({ prefixes: null, addresses: 1024, seed: 1, detail, nowMs: 0, ...options });
  }

  override add(record: FlowRecord, nowMs = this.#nowMs): void {
    super.add(record, nowMs);
  }

  override close(atMs: number, durationMs: number): Sample {
    this.#nowMs += durationMs;
    return super.close(atMs, durationMs);
  }
}

const created = (options: Partial<AggregateOptions> = {}): Timed => new Timed(options);

const cidr = (text: string) => {
  const one = parseCidr(text);
  assert.ok(one.ok);
  return one.value;
};
const packetsOf = (sample: Sample): Record<string, number> =>
  Object.fromEntries(
    [...sample.addresses, ...sample.prefixes].map(({ subject, packets }) => [subject, packets]),
  );

describe('aggregated records', () => {
  it('count for the destination and its prefix, in both families, in one bucket', () => {
    const aggregate = created();
    aggregate.add(recordTo('203.0.113.10', { packets: 3 }));
    aggregate.add(recordTo('203.0.113.11', { packets: 4 }));
    aggregate.add(recordTo('2001:db8:0:1::1', { packets: 5 }));
    assert.deepEqual(packetsOf(aggregate.close(0, 250)), {
      '203.0.113.10': 3,
      '203.0.113.11': 4,
      '203.0.113.0/24': 7,
      '2001:db8:0:1::1': 5,
      '2001:db8::/48': 5,
    });
    assert.deepEqual(packetsOf(aggregate.close(250, 250)), {});
  });

  it('count for the longest matching prefix only', () => {
    const prefixes = ['203.0.112.0/23', '203.0.113.0/25', '2001:db8::/32'].map(cidr);
    const aggregate = created({ prefixes });
    for (const ip of ['203.0.113.1', '203.0.113.200', '2001:db8::1', '192.0.2.1', '::1']) {
      aggregate.add(recordTo(ip));
    }
    const sample = aggregate.close(0, 250);
    assert.deepEqual(
      sample.addresses.map(({ subject, prefix }) => [subject, prefix]),
      [
        ['203.0.113.1', '203.0.113.0/25'],
        ['203.0.113.200', '203.0.112.0/23'],
        ['2001:db8::1', '2001:db8::/32'],
      ],
    );
    assert.equal(aggregate.counters.outside, 2);
  });

  it('of an address with its own holding count for no prefix', () => {
    const aggregate = created({ prefixes: ['203.0.113.7/32', '2001:db8::7/128'].map(cidr) });
    for (const ip of ['203.0.113.7', '203.0.113.8', '2001:db8::7']) aggregate.add(recordTo(ip));
    const { addresses, prefixes } = aggregate.close(0, 250);
    assert.deepEqual(
      addresses.map(({ subject, prefix }) => [subject, prefix]),
      [
        ['203.0.113.7', null],
        ['2001:db8::7', null],
      ],
    );
    assert.deepEqual(prefixes, []);
  });

  it('are reported by vector with the sampling variance', () => {
    const aggregate = created();
    const sampled = { samplingRate: 1000, packets: 4000, bytes: 4000 * 1400 };
    aggregate.add(recordTo('203.0.113.10', { ...sampled, sourcePort: 53 }));
    aggregate.add(recordTo('203.0.113.10', { protocol: 6, tcpFlags: 2, packets: 7 }));
    const [one] = aggregate.close(0, 250).addresses;
    assert.deepEqual(
      one?.vectors.map(({ vector, packets }) => [VECTORS[vector], packets]),
      [
        ['tcp_syn', 7],
        ['udp_dns', 4000],
      ],
    );
    // Four samples, each standing for a thousand: 4 x 1000 x 999.
    assert.equal(one?.packetVariance, 4000 * 999);
    assert.equal(one?.byteVariance, 4000 * 999 * 1400 * 1400);
  });

  it("tell acknowledgements of a subject's own downloads from a flood", () => {
    const aggregate = created();
    aggregate.add(recordTo('203.0.113.10', { protocol: 6, tcpFlags: 16, packets: 300 }));
    const data = { protocol: 6, tcpFlags: 16, packets: 500, bytes: 500 * 1400 };
    aggregate.add(recordTo('198.51.100.7', { ...data, from: '203.0.113.10' }));
    const sample = aggregate.close(0, 250);
    assert.deepEqual(
      sample.addresses.map(({ subject, receiptPackets }) => [subject, receiptPackets]),
      [
        ['203.0.113.10', 300],
        ['198.51.100.7', 0],
      ],
    );
  });

  it('of a long flow are spread over its duration without loss', () => {
    const aggregate = created();
    aggregate.add(recordTo('203.0.113.10', { packets: 8000, durationMs: 10_000 }));
    const buckets = Array.from({ length: 50 }, (_, index) => {
      return aggregate.close(index * 250, 250).addresses[0]?.packets ?? 0;
    });
    assert.ok(buckets.slice(0, 40).every((packets) => packets === 200));
    assert.ok(buckets.slice(40).every((packets) => packets === 0));
  });

  it('of a flow of hours keep their rate for a minute', () => {
    const aggregate = created();
    aggregate.add(recordTo('203.0.113.10', { packets: 7_200_000, durationMs: 7_200_000 }));
    assert.equal(aggregate.close(0, 250).addresses[0]?.packets, 250);
  });

  it('stay bounded under forged destinations and still count a flood among them', () => {
    const aggregate = created({ prefixes: [cidr('2001:db8::/32')], addresses: 256 });
    const flooded = '2001:db8::10';
    let last: Sample | null = null;
    for (let bucket = 0; bucket < 8; bucket++) {
      for (let noise = 0; noise < 5000; noise++) {
        aggregate.add(recordTo(`2001:db8:1:${bucket.toString(16)}::${noise.toString(16)}`));
        if (noise % 2 === 0) aggregate.add(recordTo(flooded));
      }
      last = aggregate.close(bucket * 250, 250);
      assert.ok(last.addresses.length <= 256);
      assert.equal(last.prefixes[0]?.packets, 7500);
    }
    assert.equal(last?.addresses.find(({ subject }) => subject === flooded)?.packets, 2500);
    assert.ok(aggregate.counters.crowdedOut > 0);
  });

  it('of an idle subject free its slot', () => {
    const aggregate = created({ addresses: 4 });
    for (let round = 0; round < 3; round++) {
      for (let host = 0; host < 4; host++) aggregate.add(recordTo(`203.0.11${round}.${host}`));
      assert.equal(aggregate.close(0, 250).addresses.length, 4);
      for (let quiet = 0; quiet < 105; quiet++) aggregate.close(0, 250);
    }
    assert.equal(aggregate.counters.crowdedOut, 0);
  });
});
