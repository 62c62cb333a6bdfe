import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import {
  BUCKET_MS,
  type Sample,
  type SubjectSample,
  type VectorCount,
} from '@portcullis/core/attacks/sample.ts';
import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import { type Chance, chanceOf, poisson } from './chance.ts';
import { HOST, PREFIXES, THRESHOLDS, type Trace } from './trace.ts';
import { rateAt, type Stream } from './traffic.ts';

/** A detector's records of a trace, and when it knew of each, in seconds from its beginning. */
export interface Found {
  readonly attack: Attack;
  readonly openedS: number;
  readonly endedS: number | null;
}

/** Any moment will do. */
const BEGIN_MS = 1_790_000_000_000;

/** Plays a trace to the detector, bucket by bucket. The seed says what chance does. */
export function play(trace: Trace, seed: number): Found[] {
  const chance = chanceOf(seed);
  const found = new Map<string, Found>();
  let state: DetectorState = INITIAL;
  const own = { ...THRESHOLDS, pps: trace.hostPps ?? THRESHOLDS.pps };
  const thresholdsOf = (subject: string) => (subject === HOST[4] ? own : THRESHOLDS);
  for (let bucket = 1; bucket * BUCKET_MS <= trace.lengthS * 1000; bucket++) {
    const sample = sampleOf(trace, bucket * BUCKET_MS, chance);
    const stepped = step(state, sample, { thresholdsOf, maxSubjects: 10_000 });
    state = stepped.state;
    for (const event of stepped.events) note(found, event);
  }
  return [...found.values()];
}

function note(found: Map<string, Found>, { kind, attack, atMs }: AttackEvent): void {
  const atS = (atMs - BEGIN_MS) / 1000;
  const openedS = found.get(attack.id)?.openedS ?? atS;
  found.set(attack.id, { attack, openedS, endedS: kind === 'ended' ? atS : null });
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Counting = Mutable<Omit<SubjectSample, 'vectors'>> & { vectors: Mutable<VectorCount>[] };

function sampleOf(trace: Trace, endMs: number, chance: Chance): Sample {
  const addresses = new Map<string, Counting>();
  const prefixes = new Map<string, Counting>();
  const middleS = (endMs - BUCKET_MS / 2) / 1000;
  const { sampling } = trace;
  for (const stream of trace.streams) {
    const rate = rateAt(stream, middleS) / stream.to.length;
    if (rate <= 0) continue;
    for (const address of stream.to) {
      const seen = poisson((rate * BUCKET_MS) / 1000 / sampling, chance);
      if (seen === 0) continue;
      const prefix = address.includes(':') ? PREFIXES[6] : PREFIXES[4];
      const packets = seen * sampling;
      add(at(addresses, address, prefix), stream, packets, sampling);
      add(at(prefixes, prefix, null), stream, packets, sampling);
    }
  }
  return {
    atMs: BEGIN_MS + endMs,
    durationMs: BUCKET_MS,
    addresses: [...addresses.values()],
    prefixes: [...prefixes.values()],
  };
}

function add(counting: Counting, stream: Stream, packets: number, sampling: number): void {
  const bytes = packets * stream.bytes;
  const variance = packets * (sampling - 1);
  counting.packets += packets;
  counting.bytes += bytes;
  counting.packetVariance += variance;
  counting.byteVariance += variance * stream.bytes ** 2;
  if (stream.receipts === true) counting.receiptPackets += packets;
  if (stream.vector === 'tcp_data') {
    counting.dataPackets += packets;
    counting.dataBytes += bytes;
  }
  const vector = VECTOR_INDEX[stream.vector];
  const known = counting.vectors.find((one) => one.vector === vector);
  if (known === undefined) {
    counting.vectors.push({ vector, packets, bytes });
    return;
  }
  known.packets += packets;
  known.bytes += bytes;
}

function at(map: Map<string, Counting>, subject: string, prefix: string | null): Counting {
  const known = map.get(subject);
  if (known !== undefined) return known;
  const made: Counting = {
    subject,
    prefix,
    packets: 0,
    bytes: 0,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors: [],
  };
  map.set(subject, made);
  return made;
}
