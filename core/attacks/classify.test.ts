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

describe('traffic', () => {
  it('is named by the one vector that it is mostly of', () => {
    assert.equal(named({ tcp_syn: [9000, 60], tcp_ack: [1000, 52] }), 'tcp_syn_flood');
    assert.equal(named({ udp: [9000, 1400], icmp: [500, 84] }), 'udp_flood');
    assert.equal(named({ tcp_other: [9000, 40] }), 'other_flood');
    assert.equal(named({}), 'other_flood');
  });

  it('of two vectors above 30 % each, or of many of which none has half, is of several', () => {
    assert.equal(named({ tcp_syn: [5000, 60], udp: [5000, 60] }), 'multi_vector');
    assert.equal(named({ tcp_syn: [7200, 60], udp: [2800, 60] }), 'tcp_syn_flood');
    assert.equal(
      named({ tcp_syn: [250, 60], udp: [250, 60], icmp: [250, 60], gre: [250, 60] }),
      'multi_vector',
    );
  });

  it('weighs few large answers and many small packets by what they do to a threshold', () => {
    // By packets 17 %, by bytes 96 %: what it would take of a threshold alone is between.
    assert.equal(named({ udp_dns: [4000, 60_000], tcp_syn: [20_000, 60] }), 'multi_vector');
    assert.equal(named({ udp_dns: [4000, 1400], tcp_syn: [20_000, 60] }), 'tcp_syn_flood');
    assert.equal(named({ udp_dns: [20_000, 1400], tcp_syn: [20_000, 60] }), 'multi_vector');
  });

  it('from a reflector’s port is amplification only where answers are long', () => {
    assert.equal(named({ udp_dns: [9000, 1400] }), 'dns_amplification');
    assert.equal(named({ udp_dns: [9000, 90] }), 'udp_flood');
    assert.equal(named({ udp_ntp: [5000, 468], udp_dns: [4500, 1400] }), 'multi_vector');
  });

  it('in fragments belongs to the reflector whose first parts came too', () => {
    assert.equal(named({ fragment: [6000, 1500], udp_dns: [3000, 1500] }), 'dns_amplification');
    assert.equal(
      named({ fragment: [6000, 1500], fragment_first: [3000, 1500] }),
      'ip_fragment_flood',
    );
    assert.equal(named({ fragment: [6000, 1500], udp_dns: [100, 1500] }), 'ip_fragment_flood');
  });

  it('of transfers counts by its bytes: a download beside an attack does not name it', () => {
    assert.equal(named({ tcp_syn: [24_000, 60], tcp_data: [20_000, 1400] }), 'tcp_syn_flood');
  });
});
