import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FragmentPart, VECTORS, vectorOf } from './vectors.ts';

test('assigns every packet to one vector by its header', () => {
  const cases: [
    protocol: number,
    source: number,
    flags: number,
    part: FragmentPart,
    bytes: number,
    vector: string,
  ][] = [
    [6, 1, 0x02, 0, 60, 'tcp_syn'],
    [6, 1, 0xc2, 0, 60, 'tcp_syn'],
    [6, 1, 0x12, 0, 60, 'tcp_syn_ack'],
    [6, 1, 0x10, 0, 60, 'tcp_ack'],
    [6, 1, 0x18, 0, 1400, 'tcp_data'],
    [6, 1, 0x1b, 0, 900, 'tcp_data'],
    [6, 1, 0x04, 0, 40, 'tcp_rst'],
    [6, 1, 0x14, 0, 40, 'tcp_rst'],
    [6, 1, 0x00, 0, 40, 'tcp_other'],
    [6, 1, 0x29, 0, 40, 'tcp_other'],
    [17, 53, 0, 0, 1400, 'udp_dns'],
    [17, 11_211, 0, 1, 1500, 'udp_memcached'],
    [17, 5000, 0, 0, 100, 'udp'],
    [17, 5000, 0, 1, 1500, 'fragment_first'],
    [17, 0, 0, 2, 1500, 'fragment'],
    [1, 0, 0, 0, 84, 'icmp'],
    [58, 0, 0, 0, 84, 'icmp'],
    [47, 0, 0, 0, 84, 'gre'],
    [50, 0, 0, 0, 84, 'other'],
  ];
  for (const [protocol, source, flags, part, bytes, vector] of cases) {
    assert.equal(VECTORS[vectorOf(protocol, source, flags, part, bytes)], vector);
  }
});
