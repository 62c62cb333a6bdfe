import { formatAddress } from '@portcullis/core/net/address.ts';
import {
  MAX_TOPS,
  SOURCE_PROTOCOLS,
  sourceProtocolOf,
  type SubjectTops,
  type TopSource,
} from '@portcullis/core/attacks/top-talkers.ts';
import { portKeyOf, portOfKey } from '@portcullis/core/attacks/port-key.ts';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';

/** The most observed subjects; of more, those requested first. */
const MAX_SUBJECTS = 64;
/** A subject is dropped when it was not requested for this time. */
const KEPT_BUCKETS = 40;
/** Evidence covers between one and two of these periods. */
const PERIOD_BUCKETS = 20;
/** Sources or ports of a subject: at twice this number the smaller half is dropped. */
const KEPT_KEYS = 256;
/** The limits of the link's messages. */
const MAX_SAMPLES = 1_000_000;
const MAX_PACKETS = 1e15;

type Key = number | string;

/** The evidence of one subject in one period. */
class Period {
  /** Sampled packets, and the packets that they stand for. */
  samples = 0;
  packets = 0;
  /** Packets by protocol and source. */
  readonly sources = new Map<Key, number>();
  /** Packets by protocol and port. */
  readonly sourcePorts = new Map<number, number>();
  readonly destinationPorts = new Map<number, number>();

  note(record: FlowRecord): void {
    const { packets, samplingRate, family, source, protocol, sourcePort, destinationPort } = record;
    this.samples += packets / samplingRate;
    this.packets += packets;
    add(this.sources, sourceKey(family, source, protocol), packets);
    // Protocols without ports.
    if (sourcePort > 0) add(this.sourcePorts, portKeyOf(protocol, sourcePort), packets);
    if (destinationPort > 0) {
      add(this.destinationPorts, portKeyOf(protocol, destinationPort), packets);
    }
  }
}

interface Followed {
  now: Period;
  before: Period;
  sinceBuckets: number;
  unrequestedBuckets: number;
}

/**
 * The top sources and ports of requested subjects, from the first request on. Bounded: beyond the capacity, the sources
 * with the least traffic are dropped.
 */
export class Evidence {
  readonly #followed = new Map<number, Followed>();

  /** Counts a record for the subject of the key, if it was requested recently. */
  note(key: number, record: FlowRecord): void {
    this.#followed.get(key)?.now.note(record);
  }

  get isWanted(): boolean {
    return this.#followed.size > 0;
  }

  /** Null if nothing arrived since the first request. */
  of(key: number, subject: string): SubjectTops | null {
    const known = this.#followed.get(key);
    if (known === undefined) {
      if (this.#followed.size < MAX_SUBJECTS) this.#followed.set(key, begun());
      return null;
    }
    known.unrequestedBuckets = 0;
    const { now, before } = known;
    const samples = Math.round(now.samples + before.samples);
    const packets = Math.round(now.packets + before.packets);
    if (samples < 1) return null;
    const ports = (of: (period: Period) => ReadonlyMap<number, number>) =>
      largest(of(now), of(before)).map(([key, count]) => ({ ...portOfKey(key), packets: count }));
    return {
      subject,
      sampled: {
        samples: Math.min(samples, MAX_SAMPLES),
        packets: Math.min(packets, MAX_PACKETS),
      },
      sources: largest<Key>(now.sources, before.sources).map(([key, count]) => ({
        ...sourceOfKey(key),
        packets: count,
      })),
      sourcePorts: ports(({ sourcePorts }) => sourcePorts),
      destinationPorts: ports(({ destinationPorts }) => destinationPorts),
    };
  }

  /** Closes a bucket. */
  step(): void {
    for (const [key, one] of this.#followed) {
      if (++one.unrequestedBuckets > KEPT_BUCKETS) this.#followed.delete(key);
      if (++one.sinceBuckets < PERIOD_BUCKETS) continue;
      one.before = one.now;
      one.now = new Period();
      one.sinceBuckets = 0;
    }
  }
}

function begun(): Followed {
  return { now: new Period(), before: new Period(), sinceBuckets: 0, unrequestedBuckets: 0 };
}

function add<K extends Key>(counts: Map<K, number>, key: K, packets: number): void {
  counts.set(key, (counts.get(key) ?? 0) + packets);
  if (counts.size < KEPT_KEYS * 2) return;
  const small = [...counts].toSorted(([, a], [, b]) => a - b).slice(0, KEPT_KEYS);
  for (const [one] of small) counts.delete(one);
}

function largest<K>(now: ReadonlyMap<K, number>, before: ReadonlyMap<K, number>): [K, number][] {
  const both = new Map(now);
  for (const [key, packets] of before) both.set(key, (both.get(key) ?? 0) + packets);
  return [...both]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MAX_TOPS)
    .map(([key, packets]) => [key, Math.min(MAX_PACKETS, Math.round(packets))]);
}

/** A number for IPv4, whose records are the most. */
function sourceKey(family: 4 | 6, source: FlowRecord['source'], protocol: number): Key {
  const kind = SOURCE_PROTOCOLS.indexOf(sourceProtocolOf(protocol));
  if (family === 4) return (source[3] as number) * SOURCE_PROTOCOLS.length + kind;
  return `${kind},${source.join()}`;
}

function sourceOfKey(key: Key): Pick<TopSource, 'source' | 'protocol'> {
  const protocolAt = (kind: number) => SOURCE_PROTOCOLS[kind] ?? 'other';
  if (typeof key === 'number') {
    const value = BigInt(Math.floor(key / SOURCE_PROTOCOLS.length));
    const protocol = protocolAt(key % SOURCE_PROTOCOLS.length);
    return { source: formatAddress({ family: 4, value }), protocol };
  }
  const [kind, ...words] = key.split(',');
  const value = words.reduce((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return { source: formatAddress({ family: 6, value }), protocol: protocolAt(Number(kind)) };
}
