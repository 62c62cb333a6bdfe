import fc from 'fast-check';
import { BUCKET_MS, type Sample, type SubjectSample, type VectorCount } from '../sample.ts';
import { type Vector, VECTOR_INDEX } from '../vectors.ts';

export const PREFIX = '203.0.113.0/24';
export const HOSTS = ['203.0.113.10', '203.0.113.11', '203.0.113.12'] as const;
/** An arbitrary time. */
export const BEGIN_MS = 1_790_000_000_000;

/** A bucket with the given packet rates (100 bytes each) for addresses of one prefix. */
export function sampleOf(
  index: number,
  ppsByHost: Readonly<Record<string, number>>,
  vector: Vector = 'udp',
): Sample {
  const addresses = Object.entries(ppsByHost).map(([host, pps]) =>
    subject(host, PREFIX, (pps * BUCKET_MS) / 1000, vector),
  );
  const packets = addresses.reduce((sum, one) => sum + one.packets, 0);
  return {
    atMs: BEGIN_MS + (index + 1) * BUCKET_MS,
    durationMs: BUCKET_MS,
    addresses: addresses.filter((one) => one.packets > 0),
    prefixes: packets > 0 ? [subject(PREFIX, null, packets, vector)] : [],
  };
}

function subject(
  name: string,
  prefix: string | null,
  packets: number,
  vector: Vector,
): SubjectSample {
  const count: VectorCount = { vector: VECTOR_INDEX[vector], packets, bytes: packets * 100 };
  return {
    subject: name,
    prefix,
    packets,
    bytes: packets * 100,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors: [count],
  };
}

/** Minutes of traffic: several seconds each with a rate per host, near a threshold of 1000. */
export const traffic: fc.Arbitrary<readonly Sample[]> = fc
  .array(
    fc.record({
      buckets: fc.integer({ min: 1, max: 60 }),
      pps: fc.tuple(
        ...HOSTS.map(() => fc.constantFrom(0, 10, 200, 490, 510, 990, 1010, 1200, 5000, 50_000)),
      ),
      vector: fc.constantFrom<Vector>('udp', 'tcp_syn', 'icmp', 'udp_dns'),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((pieces) => {
    const samples: Sample[] = [];
    for (const { buckets, pps, vector } of pieces) {
      const byHost = Object.fromEntries(HOSTS.map((host, index) => [host, pps[index] ?? 0]));
      for (let bucket = 0; bucket < buckets; bucket++) {
        samples.push(sampleOf(samples.length, byHost, vector));
      }
    }
    return samples;
  });
