import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addressBytes,
  bytesOf,
  ethernet,
  ipv4,
  ipv6,
  type Part,
  ports,
  rawHeader,
  sflow,
  tcp,
} from '../testing/datagrams.ts';
import { created, one, read, TARGET, TARGET_WORDS } from '../testing/decoded.ts';

describe('sFlow 5', () => {
  const UDP = ipv4({
    destination: TARGET,
    protocol: 17,
    totalBytes: 512,
    transport: ports(53, 9999),
  });
  const tagged = (...tags: readonly Part[]): Buffer => ethernet(0x0800, UDP, ...tags);

  for (const [name, header] of Object.entries({
    'an Ethernet frame': rawHeader(ethernet(0x0800, UDP)),
    'a VLAN tag': rawHeader(tagged([0x8100, 2], [100, 2])),
    'two VLAN tags': rawHeader(tagged([0x88a8, 2], [5, 2], [0x8100, 2], [100, 2])),
    'a stack of MPLS labels': rawHeader(
      ethernet(0x8847, bytesOf([0x00010040, 4], [0x00020140, 4], UDP)),
    ),
    'MPLS without Ethernet': rawHeader(bytesOf([0x00020140, 4], UDP), 13),
    'an Ethernet pseudowire': rawHeader(
      ethernet(0x8847, bytesOf([0x00010140, 4], ethernet(0x0800, UDP, [0x8100, 2], [7, 2]))),
    ),
    'an Ethernet pseudowire with a control word': rawHeader(
      ethernet(0x8847, bytesOf([0x00010140, 4], [0x00000001, 4], ethernet(0x0800, UDP))),
    ),
    'a bare IP packet': rawHeader(UDP, 11),
    PPPoE: rawHeader(ethernet(0x8864, bytesOf([0x1100, 2], [1, 2], [514, 2], [0x21, 2], UDP))),
  })) {
    it(`reads ${name}`, () => {
      const expanded = one(
        read(created(), sflow([{ rate: 1000, records: [header], expanded: true }])),
      );
      const plain = one(read(created(), sflow([{ rate: 1000, records: [header] }])));
      for (const record of [plain, expanded]) {
        assert.deepEqual([...record.destination], TARGET_WORDS);
        assert.deepEqual([record.packets, record.bytes], [1000, 512_000]);
        assert.deepEqual([record.sourcePort, record.destinationPort], [53, 9999]);
      }
    });
  }

  it('reads IPv6 behind extension headers, and fragments of both families', () => {
    const inner = bytesOf([17, 1], [0, 7], ports(1, 2));
    const extended = rawHeader(ipv6('2001:db8::10', 60, 900, inner), 12);
    const later6 = rawHeader(
      ipv6('2001:db8::10', 44, 900, bytesOf([17, 1], [0, 1], [0x0100, 2], [1, 4], ports(1, 2))),
      12,
    );
    const first4 = rawHeader(
      ipv4({
        destination: TARGET,
        protocol: 17,
        totalBytes: 900,
        fragment: 0x2000,
        transport: ports(53, 2),
      }),
      11,
    );
    const later4 = rawHeader(
      ipv4({
        destination: TARGET,
        protocol: 17,
        totalBytes: 900,
        fragment: 0x0010,
        transport: ports(53, 2),
      }),
      11,
    );
    const samples = [extended, later6, first4, later4].map((header) => ({
      rate: 1,
      records: [header],
    }));
    assert.deepEqual(
      read(created(), sflow(samples)).map(({ family, protocol, part, sourcePort, bytes }) => ({
        family,
        protocol,
        part,
        sourcePort,
        bytes,
      })),
      [
        { family: 6, protocol: 17, part: 0, sourcePort: 1, bytes: 940 },
        { family: 6, protocol: 17, part: 2, sourcePort: 0, bytes: 940 },
        { family: 4, protocol: 17, part: 1, sourcePort: 53, bytes: 900 },
        { family: 4, protocol: 17, part: 2, sourcePort: 0, bytes: 900 },
      ],
    );
  });

  it('counts a sample once for all its records, with TCP flags', () => {
    const syn = rawHeader(
      ipv4({ destination: TARGET, protocol: 6, totalBytes: 40, transport: tcp(5, 80, 2) }),
      11,
    );
    const reported = bytesOf(
      [3, 4],
      [32, 4],
      [40, 4],
      [6, 4],
      addressBytes('192.0.2.9'),
      addressBytes(TARGET),
      [5, 4],
      [80, 4],
      [2, 4],
      [0, 4],
    );
    const both = one(read(created(), sflow([{ rate: 10, records: [syn, reported] }])));
    const only = one(read(created(), sflow([{ rate: 10, records: [reported] }])));
    for (const record of [both, only]) {
      assert.deepEqual([record.packets, record.bytes, record.tcpFlags], [10, 400, 2]);
    }
  });

  it('loses a damaged sample only, and counts it', () => {
    const good = { rate: 1, records: [rawHeader(ethernet(0x0800, UDP))] };
    const overrun = bytesOf([1, 4], [4000, 4], [0, 4]);
    for (const expanded of [false, true]) {
      for (const records of [[overrun], [Buffer.alloc(4)], [bytesOf([1, 4], [0xffffffff, 4])]]) {
        const exporter = created();
        const damaged = { rate: 1, records, expanded };
        assert.equal(read(exporter, sflow([good, damaged, damaged, good])).length, 2);
        assert.equal(exporter.counters.malformed, 1);
      }
    }
  });

  it('reads the complete records of a truncated datagram', () => {
    const sample = { rate: 1, records: [rawHeader(ethernet(0x0800, UDP))] };
    const whole = sflow([sample, sample]);
    for (let length = 0; length < whole.length; length++) {
      const exporter = created();
      const records = read(exporter, whole.subarray(0, length));
      assert.ok(records.length <= 1);
      assert.equal(exporter.counters.malformed, 1);
    }
  });
});
