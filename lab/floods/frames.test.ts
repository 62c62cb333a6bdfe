import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VECTORS, vectorOf } from '@portcullis/core/attacks/vectors.ts';
import { decode } from '@portcullis/collector/decode/decode.ts';
import { Exporter } from '@portcullis/collector/exporter/exporter.ts';
import { rawHeader, sflow } from '@portcullis/collector/testing/datagrams.ts';
import { type FloodKind, floodFrames } from './frames.ts';

const VECTORS_OF: Readonly<Record<FloodKind, readonly string[]>> = {
  udp: ['udp'],
  syn: ['tcp_syn'],
  ack: ['tcp_ack'],
  icmp: ['icmp'],
  fragments: ['fragment'],
  dns: ['udp_dns'],
  ntp: ['udp_ntp'],
  'syn+udp': ['tcp_syn', 'udp'],
  gre: ['gre'],
  few: ['udp'],
  download: ['tcp_data'],
  'udp-no-length': ['udp'],
  'udp-any-length': ['udp'],
  'syn-ack': ['tcp_syn_ack'],
  'psh-ack': ['tcp_ack'],
  'fin-ack': ['tcp_ack'],
  rst: ['tcp_rst'],
  'no-flags': ['tcp_other'],
  unreachable: ['icmp'],
  exceeded: ['icmp'],
  'too-big': ['icmp'],
  solicitation: ['icmp'],
  'first-fragments': ['fragment_first'],
  'both-fragments': ['fragment_first', 'fragment'],
  esp: ['other'],
  sctp: ['other'],
  'no-next': ['other'],
};
const COUNT = 4;

/** Read by the decoder of what switches sample of real frames. */
function vectorsOf(kind: FloodKind, target: string): string[] {
  const exporter = new Exporter('192.0.2.1');
  const vectors: string[] = [];
  const frames = floodFrames({ kind, target, to: '02:00:00:00:00:01' }, COUNT);
  const samples = frames.map((frame) => ({
    rate: 1,
    records: [rawHeader(frame.subarray(0, 128), 1, frame.length + 4)],
  }));
  decode(sflow(samples), {
    exporter,
    port: 0,
    nowMs: 0,
    emit: ({ protocol, sourcePort, tcpFlags, part, bytes, packets }) => {
      vectors.push(VECTORS[vectorOf(protocol, sourcePort, tcpFlags, part, bytes / packets)] ?? '');
    },
  });
  return vectors;
}

describe('frames of a flood', () => {
  for (const [kind, expected] of Object.entries(VECTORS_OF)) {
    it(`of ${kind} are of that kind in both families`, () => {
      for (const target of ['203.0.113.10', '2001:db8:5::10']) {
        const vectors = vectorsOf(kind as FloodKind, target);
        assert.equal(vectors.length, COUNT);
        assert.deepEqual(new Set(vectors), new Set(expected));
      }
    });
  }
});
