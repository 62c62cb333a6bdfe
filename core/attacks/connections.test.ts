import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { AttackEvent } from './attack.ts';
import { byConnections, type Connections } from './connections.ts';
import { INITIAL, step } from './detector/detector.ts';
import { BUCKET_MS, type SubjectSample } from './sample.ts';
import { BEGIN_MS, HOSTS, PREFIX } from './testing/samples.ts';
import { type Vector, VECTOR_INDEX } from './vectors.ts';

const THRESHOLDS = { pps: 2000, bps: 1e9, holdMs: 5000 };
const SETTINGS = { thresholdsOf: () => THRESHOLDS, maxSubjects: 10 };
const [HOST] = HOSTS;
const SECONDS = BUCKET_MS / 1000;
const BYTES: Partial<Record<Vector, number>> = { tcp_syn: 60, tcp_ack: 52, tcp_data: 552 };
const NONE: Connections = {
  strayData: { packets: 0, bytes: 0 },
  strayAcks: { packets: 0, bytes: 0 },
  answers: 0,
  served: 0,
};

type Rates = Partial<Record<Vector, number>>;

/** A bucket as the kernel counts it by packets alone: rates in packets per second. */
function counted(subject: string, prefix: string | null, rates: Rates): SubjectSample {
  const vectors = (Object.entries(rates) as [Vector, number][])
    .filter(([, pps]) => pps > 0)
    .map(([vector, pps]) => {
      const packets = Math.round(pps * SECONDS);
      return { vector: VECTOR_INDEX[vector], packets, bytes: packets * (BYTES[vector] ?? 100) };
    })
    .toSorted((a, b) => a.vector - b.vector);
  const sum = (field: 'packets' | 'bytes'): number =>
    vectors.reduce((all, one) => all + one[field], 0);
  const data = vectors.find(({ vector }) => vector === VECTOR_INDEX.tcp_data);
  return {
    subject,
    prefix,
    packets: sum('packets'),
    bytes: sum('bytes'),
    dataPackets: data?.packets ?? 0,
    dataBytes: data?.bytes ?? 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors,
  };
}

/** Traffic that comes for some seconds, and what is known of its connections per second; null: not known. */
interface Piece {
  readonly rates: Rates;
  readonly connections: {
    readonly strayData?: number;
    readonly strayAcks?: number;
    readonly answers?: number;
    readonly served?: number;
  } | null;
  readonly seconds: number;
}

function perBucket(known: NonNullable<Piece['connections']>): Connections {
  const { strayData = 0, strayAcks = 0, answers = 0, served = 0 } = known;
  const of = (pps: number, bytes: number) => {
    const packets = Math.round(pps * SECONDS);
    return { packets, bytes: packets * bytes };
  };
  return {
    strayData: of(strayData, 552),
    strayAcks: of(strayAcks, 52),
    answers: Math.round(answers * SECONDS),
    served: Math.round(served * SECONDS),
  };
}

/**
 * The records, with their types at last. The first bucket of each piece has no vectors, as of an address just
 * followed.
 */
function recorded(...pieces: readonly Piece[]): string[] {
  let state = INITIAL;
  let index = 0;
  const types = new Map<string, string>();
  for (const { rates, connections, seconds } of pieces) {
    for (let bucket = 0; bucket < seconds / SECONDS; bucket += 1) {
      const correct = (one: SubjectSample): SubjectSample =>
        bucket === 0
          ? { ...one, dataPackets: 0, dataBytes: 0, vectors: [] }
          : connections === null
            ? one
            : byConnections(one, perBucket(connections));
      index += 1;
      const sample = {
        atMs: BEGIN_MS + index * BUCKET_MS,
        durationMs: BUCKET_MS,
        addresses: [correct(counted(HOST, PREFIX, rates))],
        prefixes: [correct(counted(PREFIX, null, rates))],
      };
      const stepped = step(state, sample, SETTINGS);
      state = stepped.state;
      for (const { attack } of stepped.events as AttackEvent[]) types.set(attack.id, attack.type);
    }
  }
  return [...types.values()];
}

/** Short connections, each with five packets of the client and four of the host after its handshake. */
function crowdOf(perSecond: number): Piece {
  return {
    rates: { tcp_syn: perSecond, tcp_ack: perSecond * 4 },
    connections: { answers: perSecond * 4, served: perSecond },
    seconds: 6,
  };
}

describe('traffic by its connections', () => {
  it('is a flood if its large packets belong to none, whatever their length', () => {
    const rates = { tcp_data: 6_000 };
    assert.deepEqual(recorded({ rates, connections: { strayData: 6_000 }, seconds: 4 }), [
      'tcp_ack_flood',
    ]);
    // Without this knowledge, and as an upload, it is none.
    assert.deepEqual(recorded({ rates, connections: null, seconds: 4 }), []);
    assert.deepEqual(recorded({ rates, connections: { answers: 3_000 }, seconds: 4 }), []);
  });

  it('is no attack if it is a crowd that is served, at any rate and from its first second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 20_000 }), (perSecond) => {
        assert.deepEqual(recorded(crowdOf(perSecond)), []);
      }),
      { numRuns: 30 },
    );
    assert.deepEqual(recorded({ ...crowdOf(700), connections: null }), ['tcp_ack_flood'], 'before');
  });

  it('is a flood as far as nothing is served, also beside a crowd', () => {
    const crowd = crowdOf(700);
    const rates = { ...crowd.rates, tcp_syn: 700 + 6_000 };
    assert.deepEqual(recorded({ ...crowd, rates }), ['tcp_syn_flood']);
  });

  it('is a flood of real sources in their connections, as far as the host does not answer it', () => {
    const crowd = crowdOf(50);
    const rates = { tcp_syn: 50, tcp_ack: 200 + 6_000 };
    assert.deepEqual(recorded({ ...crowd, rates }), ['tcp_ack_flood']);
    // Connections that are opened and never served.
    const held = { rates: { tcp_syn: 3_000, tcp_ack: 3_000 }, connections: { answers: 0 } };
    assert.equal(recorded({ ...held, seconds: 6 }).length, 1);
  });

  it('counts no forged acknowledgement as a receipt of what the host sends', () => {
    const known = { strayAcks: 6_000, answers: 9_000 };
    const rates = { tcp_ack: 6_000 };
    assert.deepEqual(recorded({ rates, connections: known, seconds: 4 }), ['tcp_ack_flood']);
  });

  it('keeps all packets and bytes, and takes no more than there are', () => {
    const amount = fc.nat(20_000);
    const amounts = fc.record({ packets: amount, bytes: fc.nat(10_000_000) });
    const connections: fc.Arbitrary<Connections> = fc.record({
      strayData: amounts,
      strayAcks: amounts,
      answers: amount,
      served: amount,
    });
    const rates = fc.record({ tcp_syn: amount, tcp_ack: amount, tcp_data: amount, udp: amount });
    fc.assert(
      fc.property(rates, connections, (of, known) => {
        const before = counted(HOST, PREFIX, of);
        const after = byConnections(before, known);
        const sum = (one: SubjectSample, field: 'packets' | 'bytes'): number =>
          one.vectors.reduce((all, count) => all + count[field], 0);
        assert.equal(sum(after, 'packets'), before.packets);
        assert.equal(sum(after, 'bytes'), before.bytes);
        assert.ok(after.vectors.every(({ packets, bytes }) => packets >= 0 && bytes >= 0));
        const data = after.vectors.find(({ vector }) => vector === VECTOR_INDEX.tcp_data);
        assert.deepEqual(
          [after.dataPackets, after.dataBytes],
          [data?.packets ?? 0, data?.bytes ?? 0],
        );
        assert.equal(after.receiptPackets, 0);
      }),
    );
  });

  it('is as before without vectors', () => {
    const one = { ...counted(HOST, PREFIX, { udp: 100 }), vectors: [], receiptPackets: 3 };
    assert.equal(byConnections(one, NONE), one);
  });
});
