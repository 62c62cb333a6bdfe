import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector.ts';
import {
  BUCKET_MS,
  type Sample,
  type SubjectSample,
  type VectorCount,
} from '@portcullis/core/attacks/sample.ts';
import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import { type Chance, chanceOf, poisson } from './chance.ts';
import { HOST, PREFIXES, THRESHOLDS, type Trace } from './trace.ts';
import { rateAt } from './traffic.ts';

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

interface Counting {
  counts: Map<number, { packets: number; bytes: number }>;
  receipts: number;
  packetVariance: number;
  byteVariance: number;
}

function sampleOf(trace: Trace, endMs: number, chance: Chance): Sample {
  const addresses = new Map<string, Counting>();
  const prefixes = new Map<string, Counting>();
  const middleS = (endMs - BUCKET_MS / 2) / 1000;
  for (const stream of trace.streams) {
    const rate = rateAt(stream, middleS) / stream.to.length;
    for (const address of rate > 0 ? stream.to : []) {
      const { sampling } = trace;
      const seen = poisson((rate * BUCKET_MS) / 1000 / sampling, chance);
      if (seen === 0) continue;
      const prefix = address.includes(':') ? PREFIXES[6] : PREFIXES[4];
      for (const counting of [at(addresses, address), at(prefixes, prefix)]) {
        const vector = VECTOR_INDEX[stream.vector];
        const before = counting.counts.get(vector) ?? { packets: 0, bytes: 0 };
        const packets = seen * sampling;
        const variance = packets * (sampling - 1);
        counting.counts.set(vector, {
          packets: before.packets + packets,
          bytes: before.bytes + packets * stream.bytes,
        });
        counting.receipts += stream.receipts === true ? packets : 0;
        counting.packetVariance += variance;
        counting.byteVariance += variance * stream.bytes ** 2;
      }
    }
  }
  return {
    atMs: BEGIN_MS + endMs,
    durationMs: BUCKET_MS,
    addresses: [...addresses].map(([address, counting]) =>
      toSample(address, address.includes(':') ? PREFIXES[6] : PREFIXES[4], counting),
    ),
    prefixes: [...prefixes].map(([prefix, counting]) => toSample(prefix, null, counting)),
  };
}

function at(map: Map<string, Counting>, subject: string): Counting {
  const known = map.get(subject);
  if (known !== undefined) return known;
  const made = { counts: new Map(), receipts: 0, packetVariance: 0, byteVariance: 0 };
  map.set(subject, made);
  return made;
}

function toSample(subject: string, prefix: string | null, counting: Counting): SubjectSample {
  const vectors = [...counting.counts].map(
    ([vector, { packets, bytes }]): VectorCount => ({ vector, packets, bytes }),
  );
  const sum = (of: 'packets' | 'bytes'): number =>
    vectors.reduce((total, one) => total + one[of], 0);
  const data = counting.counts.get(VECTOR_INDEX.tcp_data);
  return {
    subject,
    prefix,
    packets: sum('packets'),
    bytes: sum('bytes'),
    dataPackets: data?.packets ?? 0,
    dataBytes: data?.bytes ?? 0,
    receiptPackets: counting.receipts,
    packetVariance: counting.packetVariance,
    byteVariance: counting.byteVariance,
    vectors,
  };
}
