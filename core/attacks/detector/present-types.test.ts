import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttackEvent, PresentType } from '../attack.ts';
import { planMitigations } from '../mitigation/plan-mitigations.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '../sample.ts';
import { type Vector, VECTOR_INDEX } from '../vectors.ts';
import { BEGIN_MS, HOSTS, PREFIX } from '../testing/samples.ts';
import { INITIAL, step } from './detector.ts';

const THRESHOLDS = { pps: 2000, bps: 1e9, holdMs: 5000 };
const SETTINGS = { thresholdsOf: () => THRESHOLDS, maxSubjects: 10 };
const [HOST] = HOSTS;
const SECOND = 1000 / BUCKET_MS;

type Rates = Partial<Record<Vector, number>>;

/** Packets of 60 bytes to one host: the rates of each piece, in packets per second, and its seconds. */
function play(...pieces: readonly (readonly [rates: Rates, seconds: number])[]) {
  let state = INITIAL;
  let index = 0;
  const events: AttackEvent[] = [];
  /** The types that are mitigated, after each bucket. */
  const mitigated: (readonly PresentType[])[] = [];
  let last: AttackEvent['attack'] | null = null;
  for (const [rates, seconds] of pieces) {
    for (let bucket = 0; bucket < seconds * SECOND; bucket += 1) {
      index += 1;
      const stepped = step(state, sampleOf(index, rates), SETTINGS);
      state = stepped.state;
      events.push(...stepped.events);
      last = stepped.events.findLast(({ attack }) => attack.subject === HOST)?.attack ?? last;
      mitigated.push(last?.endedAtMs === null ? (last.present ?? []) : []);
    }
  }
  /** A point of the second that begins at this time. */
  const during = (second: number): readonly PresentType[] => mitigated[second * SECOND - 1] ?? [];
  return {
    events,
    during,
    kinds: events.map(({ kind }) => kind).filter((kind) => kind !== 'changed'),
  };
}

function sampleOf(index: number, rates: Rates): Sample {
  const vectors = (Object.entries(rates) as [Vector, number][]).map(([vector, pps]) => {
    const packets = (pps * BUCKET_MS) / 1000;
    return { vector: VECTOR_INDEX[vector], packets, bytes: packets * 60 };
  });
  const packets = vectors.reduce((sum, one) => sum + one.packets, 0);
  const traffic = {
    packets,
    bytes: packets * 60,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors,
  };
  const address: SubjectSample = { ...traffic, subject: HOST, prefix: PREFIX };
  const isBusy = packets > 0;
  return {
    atMs: BEGIN_MS + index * BUCKET_MS,
    durationMs: BUCKET_MS,
    addresses: isBusy ? [address] : [],
    prefixes: isBusy ? [{ ...traffic, subject: PREFIX, prefix: null }] : [],
  };
}

describe('the types of an attack that are mitigated', () => {
  it('are all that exceed a threshold by themselves, however small their share of the whole', () => {
    const mixed = play([{ udp: 12_000, tcp_syn: 4_000 }, 4], [{ udp: 6_000, icmp: 2_400 }, 4]);
    assert.deepEqual(mixed.during(2), ['tcp_syn_flood', 'udp_flood']);
    assert.ok(mixed.during(6).includes('icmp_flood'));
    assert.deepEqual(mixed.kinds, ['opened'], 'one record');
  });

  it('name TCP with invalid flags for themselves, but not in the record', () => {
    const { during, events } = play([{ tcp_other: 6_000 }, 4]);
    assert.deepEqual(during(3), ['tcp_other_flood']);
    assert.equal(events[0]?.attack.type, 'other_flood');
  });

  it('have a type within a second after it passed the threshold by a fifth', () => {
    const { during } = play([{ udp: 6_000 }, 8], [{ udp: 6_000, tcp_syn: 2_400 }, 3]);
    assert.deepEqual(during(8), ['udp_flood']);
    assert.deepEqual(during(9), ['tcp_syn_flood', 'udp_flood']);
  });

  it('follow an attack that changes its vector every three seconds', () => {
    const order = ['udp', 'tcp_syn', 'udp_dns', 'icmp', 'tcp_ack'] as const;
    const { during, kinds } = play(...order.map((vector) => [{ [vector]: 6_000 }, 3] as const));
    const types = [
      'udp_flood',
      'tcp_syn_flood',
      'udp_flood',
      'icmp_flood',
      'tcp_ack_flood',
    ] as const;
    for (const [index, type] of types.entries())
      assert.ok(during(index * 3 + 1).includes(type), type);
    assert.deepEqual(kinds, ['opened']);
  });

  it('lose a type that was below its threshold for the hold time, not one in a pause', () => {
    const both = { udp: 6_000, icmp: 6_000 };
    const { during } = play([both, 3], [{ udp: 6_000 }, 3], [both, 1], [{ udp: 6_000 }, 8]);
    assert.deepEqual(during(6), ['icmp_flood', 'udp_flood']);
    assert.deepEqual(during(14), ['udp_flood']);
  });

  it('are those of now when a record continues after a pause', () => {
    const { during, kinds } = play([{ udp: 6_000 }, 6], [{}, 12], [{ icmp: 6_000 }, 4]);
    assert.deepEqual(kinds, ['opened', 'ended', 'continued']);
    assert.deepEqual(during(19), ['icmp_flood']);
  });

  it('stay in the pauses of pulses that were seen, for at most a minute', () => {
    const pulses = Array.from(
      { length: 6 },
      () =>
        [
          [{ udp: 8_000 }, 5],
          [{}, 5],
        ] as const,
    ).flat();
    const { kinds, during } = play(...pulses);
    // The first pause is as long as the hold time; the others end nothing.
    assert.deepEqual(kinds, ['opened', 'ended', 'continued']);
    for (const second of [19, 29, 39]) assert.deepEqual(during(second), ['udp_flood']);
    assert.equal(play(...pulses, [{}, 61]).kinds.at(-1), 'ended');
  });

  it('of a record that resumes are of what comes now, also where no type exceeds a threshold by itself', () => {
    const { events } = play([{ udp: 6_000 }, 6], [{}, 12], [{ icmp: 1_300, gre: 1_300 }, 5]);
    const again = events.filter(({ kind }) => kind === 'continued');
    assert.equal(again.length, 1);
    for (const { attack } of [...again, ...events.slice(-1)]) {
      const actions = planMitigations(attack, null, { thresholds: THRESHOLDS });
      const limited = actions.flatMap((one) => (one.kind === 'limit' ? one.protocol : []));
      assert.deepEqual(new Set(limited), new Set(['gre', 'icmp']));
    }
  });

  it('get a measure each', () => {
    const present = ['icmp_flood', 'tcp_syn_flood', 'udp_flood'] as const;
    const attack = { type: 'udp_flood', shares: [], present, subject: HOST } as const;
    const actions = planMitigations(attack, null, { thresholds: THRESHOLDS });
    const limited = actions.flatMap((one) => (one.kind === 'limit' ? one.protocol : []));
    assert.deepEqual(new Set(limited), new Set(['icmp', 'tcp', 'udp']));
  });
});
