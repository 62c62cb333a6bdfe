import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_THRESHOLDS } from './attack.ts';
import { classify, createTotals } from './classify.ts';
import { type Vector, VECTOR_INDEX } from './vectors.ts';

function named(
  counts: Readonly<Partial<Record<Vector, readonly [packets: number, bytes: number]>>>,
): string {
  const totals = createTotals();
  for (const [vector, [packets, bytes]] of Object.entries(counts)) {
    totals[VECTOR_INDEX[vector as Vector] * 2] = packets;
    totals[VECTOR_INDEX[vector as Vector] * 2 + 1] = packets * bytes;
  }
  return classify(totals, DEFAULT_THRESHOLDS).type;
}

describe('the classification of traffic', () => {
  it('uses the vector that has most of the traffic', () => {
    assert.equal(named({ tcp_syn: [9000, 60], tcp_ack: [1000, 52] }), 'tcp_syn_flood');
    assert.equal(named({ udp: [9000, 1400], icmp: [500, 84] }), 'udp_flood');
    assert.equal(named({ tcp_other: [9000, 40] }), 'other_flood');
    assert.equal(named({}), 'other_flood');
  });

  it('is multi_vector for two vectors above 30 %, or if no vector has half', () => {
    assert.equal(named({ tcp_syn: [5000, 60], udp: [5000, 60] }), 'multi_vector');
    assert.equal(named({ tcp_syn: [7200, 60], udp: [2800, 60] }), 'tcp_syn_flood');
    assert.equal(
      named({ tcp_syn: [250, 60], udp: [250, 60], icmp: [250, 60], gre: [250, 60] }),
      'multi_vector',
    );
  });

  it('compares few large answers and many small packets by their share of the threshold', () => {
    // 17 % of the packets and 96 % of the bytes; the share of the threshold is between them.
    assert.equal(named({ udp_dns: [4000, 60_000], tcp_syn: [20_000, 60] }), 'multi_vector');
    assert.equal(named({ udp_dns: [4000, 1400], tcp_syn: [20_000, 60] }), 'tcp_syn_flood');
    assert.equal(named({ udp_dns: [20_000, 1400], tcp_syn: [20_000, 60] }), 'multi_vector');
  });

  it('classifies traffic from a reflector’s port as amplification only if the packets are long', () => {
    assert.equal(named({ udp_dns: [9000, 1400] }), 'dns_amplification');
    assert.equal(named({ udp_dns: [9000, 90] }), 'udp_flood');
    assert.equal(named({ udp_ntp: [5000, 468], udp_dns: [4500, 1400] }), 'multi_vector');
  });

  it('assigns later fragments to the reflector that sent the first fragments', () => {
    assert.equal(named({ fragment: [6000, 1500], udp_dns: [3000, 1500] }), 'dns_amplification');
    assert.equal(
      named({ fragment: [6000, 1500], fragment_first: [3000, 1500] }),
      'ip_fragment_flood',
    );
    assert.equal(named({ fragment: [6000, 1500], udp_dns: [100, 1500] }), 'ip_fragment_flood');
  });

  it('counts data transfers by bytes, so that a concurrent download does not determine the type', () => {
    assert.equal(named({ tcp_syn: [24_000, 60], tcp_data: [20_000, 1400] }), 'tcp_syn_flood');
  });
});
