import { BUCKET_MS, type Sample, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import { type Vector, VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { CounterSource } from './source.ts';

/** A fake counter source for tests. Each read covers one bucket of time. */
export interface FakeCounters extends CounterSource {
  /** Packets of 100 bytes per second, by subject. */
  rates: Readonly<Record<string, FakeRate>>;
  readonly watched: readonly WatchScope[];
  readonly reads: number;
  readonly closed: boolean;
  /** Awaited before each read. */
  beforeRead: () => Promise<void>;
}
export interface FakeRate {
  readonly pps: number;
  readonly vector: Vector;
  /** The prefix that contains the address. */
  readonly prefix?: string;
}

export function createFakeCounters(): FakeCounters {
  let watched: readonly WatchScope[] = [];
  let reads = 0;
  let closed = false;
  const fake: FakeCounters = {
    rates: {},
    beforeRead: async () => {},
    get watched() {
      return watched;
    },
    get reads() {
      return reads;
    },
    get closed() {
      return closed;
    },
    watch: async (scopes) => {
      watched = scopes;
    },
    enter: () => {},
    read: async (atMs) => {
      await fake.beforeRead();
      reads++;
      return sampleOf(atMs, fake.rates);
    },
    tops: (subject) => topsOf(subject, fake.rates),
    forgetTops: () => {},
    mode: () => 'nftables',
    problems: () => [],
    close: async () => {
      closed = true;
    },
  };
  return fake;
}

function sampleOf(atMs: number, rates: FakeCounters['rates']): Sample {
  const all = Object.entries(rates).map(([subject, rate]) => subjectOf(subject, rate));
  return {
    atMs,
    durationMs: BUCKET_MS,
    addresses: all.filter(({ subject }) => !subject.includes('/')),
    prefixes: all.filter(({ subject }) => subject.includes('/')),
  };
}

function subjectOf(subject: string, { pps, vector, prefix }: FakeRate): SubjectSample {
  const packets = Math.round((pps * BUCKET_MS) / 1000);
  const bytes = packets * 100;
  return {
    subject,
    prefix: prefix ?? null,
    packets,
    bytes,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors: [{ vector: VECTOR_INDEX[vector], packets, bytes }],
  };
}

function topsOf(subject: string, rates: FakeCounters['rates']): SubjectTops | null {
  const rate = rates[subject];
  if (rate === undefined) return null;
  const packets = rate.pps;
  return {
    subject,
    sources: [{ source: '198.51.100.7', packets }],
    sourcePorts: [{ port: 40_000, protocol: 'udp', packets }],
    destinationPorts: [{ port: 27_015, protocol: 'udp', packets }],
  };
}
