import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decode } from './decode.ts';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import {
  addressBytes,
  bytesOf,
  ethernet,
  ipv4,
  message,
  netflowV5,
  optionsTemplateSet,
  type Part,
  ports,
  set,
  type Spec,
  templateSet,
  UPTIME_MS,
  type V5Flow,
} from '../testing/datagrams.ts';
import { created, NOW_MS, one, PORT, read, TARGET, TARGET_WORDS } from '../testing/decoded.ts';

const FLOW: V5Flow = {
  source: '198.51.100.7',
  destination: TARGET,
  protocol: 6,
  sourcePort: 40_000,
  destinationPort: 443,
  tcpFlags: 0x1b,
  packets: 10,
  bytes: 5000,
  firstMs: UPTIME_MS - 3000,
  lastMs: UPTIME_MS - 1000,
};

describe('NetFlow 5', () => {
  it("reads every field, with times by the exporter's uptime", () => {
    const record = one(read(created(), netflowV5([FLOW])));
    assert.deepEqual([...record.destination], TARGET_WORDS);
    assert.deepEqual([...record.source], [0, 0, 0, 0xc6336407]);
    const { protocol, sourcePort, destinationPort, tcpFlags, packets, bytes } = record;
    assert.deepEqual(
      { protocol, sourcePort, destinationPort, tcpFlags, packets, bytes },
      {
        protocol: 6,
        sourcePort: 40_000,
        destinationPort: 443,
        tcpFlags: 0x1b,
        packets: 10,
        bytes: 5000,
      },
    );
    assert.deepEqual([record.agoMs, record.durationMs], [1000, 2000]);
  });

  it('multiplies by the sampling rate of the header or of the operator', () => {
    const reported = one(read(created(50), netflowV5([FLOW], { sampling: 0x4000 | 100 })));
    assert.deepEqual(
      [reported.packets, reported.bytes, reported.samplingRate],
      [1000, 500_000, 100],
    );
    const given = one(read(created(50), netflowV5([FLOW])));
    assert.deepEqual([given.packets, given.samplingRate], [500, 50]);
  });

  it('reads no record of a datagram shorter than its header says', () => {
    const exporter = created();
    assert.deepEqual(read(exporter, netflowV5([FLOW], { count: 2 })), []);
    assert.equal(exporter.counters.malformed, 1);
  });

  it('counts gaps in sequence numbers, but not reordered datagrams', () => {
    const exporter = created();
    const numbered = (sequence: number): Buffer => netflowV5([FLOW], { sequence });
    read(exporter, numbered(0), numbered(1), numbered(5), numbered(4), numbered(6));
    assert.equal(exporter.sequences.lost, 2);
    // A restart is no loss of 4 billion flows.
    read(exporter, numbered(4_000_000_000), numbered(4_000_000_001));
    assert.equal(exporter.sequences.lost, 2);
  });
});

const SPECS: readonly Spec[] = [
  [8, 4],
  [12, 4],
  [4, 1],
  [7, 2],
  [11, 2],
  [6, 1],
  [1, 8],
  [2, 4],
];
const record4 = (packets: number): Part[] => [
  addressBytes('198.51.100.7'),
  addressBytes(TARGET),
  [17, 1],
  [53, 2],
  [4444, 2],
  [0, 1],
  [packets * 1400, 8],
  [packets, 4],
];

for (const version of [9, 10] as const) {
  describe(version === 9 ? 'NetFlow 9' : 'IPFIX', () => {
    it('reads records by their template and ignores padding', () => {
      const data = set(300, ...record4(3), ...record4(4), [0, 2]);
      const records = read(created(), message(version, [templateSet(version, 300, SPECS), data]));
      assert.deepEqual(
        records.map(({ packets, bytes }) => [packets, bytes]),
        [
          [3, 4200],
          [4, 5600],
        ],
      );
      assert.deepEqual([...one(records.slice(0, 1)).destination], TARGET_WORDS);
      assert.equal(records[0]?.sourcePort, 53);
    });

    it('keeps data until its template arrives, for a bounded time', () => {
      const exporter = created();
      const data = message(version, [set(300, ...record4(3))]);
      assert.deepEqual(read(exporter, data), []);
      const template = message(version, [templateSet(version, 300, SPECS)]);
      assert.equal(one(read(exporter, template)).packets, 3);
      assert.deepEqual(read(exporter, template), []);
      const late = created();
      read(late, data);
      const emit = (): void => assert.fail('too late');
      decode(template, { exporter: late, port: PORT, nowMs: NOW_MS + 31_000, emit });
    });

    it('keeps templates of domains and exporters apart', () => {
      const exporter = created();
      read(exporter, message(version, [templateSet(version, 300, SPECS)], { domain: 1 }));
      const data = message(version, [set(300, ...record4(3))], { domain: 2 });
      assert.deepEqual(read(exporter, data), []);
      assert.deepEqual(read(created(), data), []);
    });

    it("uses the sampling rate of the record's sampler, its domain or the operator", () => {
      const exporter = created(7);
      const options = optionsTemplateSet(
        version,
        400,
        [[version === 9 ? 1 : 144, 4]],
        [
          [48, 1],
          [50, 4],
        ],
      );
      const rates = set(400, [0, 4], [1, 1], [1000, 4], [0, 4], [2, 1], [2000, 4]);
      const named = templateSet(version, 300, [...SPECS, [48, 1]]);
      const plain = templateSet(version, 301, SPECS);
      read(exporter, message(version, [options, rates, named, plain]));
      const data = set(300, ...record4(1), [1, 1]);
      assert.equal(one(read(exporter, message(version, [data]))).packets, 1000);
      const other = set(301, ...record4(1));
      // Two samplers differ, and the record names none.
      assert.equal(one(read(exporter, message(version, [other]))).packets, 7);
      const elsewhere = message(version, [plain, other], { domain: 8 });
      assert.equal(one(read(exporter, elsewhere)).packets, 7);
    });

    it('reads both families, also from records with fields of both', () => {
      const specs: Spec[] = [[27, 16], [28, 16], ...SPECS];
      const filled = [addressBytes('2001:db8::1'), addressBytes('2001:db8::2'), [0, 8] as Part];
      const six = set(300, ...filled, ...record4(2).slice(2));
      const four = set(300, [0, 32], ...record4(2));
      const records = read(
        created(),
        message(version, [templateSet(version, 300, specs), six, four]),
      );
      assert.deepEqual(
        records.map(({ family }) => family),
        [6, 4],
      );
      assert.deepEqual([...(records[0] as FlowRecord).destination], [0x20010db8, 0, 0, 2]);
      assert.deepEqual([...(records[1] as FlowRecord).destination], TARGET_WORDS);
    });

    it('keeps used templates in a flood of templates, within its bounds', () => {
      const exporter = created();
      const used = message(version, [templateSet(version, 300, SPECS), set(300, ...record4(1))]);
      read(exporter, used);
      for (let domain = 100; domain < 20_000; domain++) {
        read(exporter, message(version, [templateSet(version, 301, SPECS)], { domain }));
        read(exporter, message(version, [set(302, Buffer.alloc(1200))], { domain }));
      }
      assert.equal(read(exporter, message(version, [set(300, ...record4(1))])).length, 1);
      const store = version === 9 ? exporter.netflow : exporter.ipfix;
      assert.ok(store.size.objects <= 3000, `${store.size.objects} objects`);
      assert.ok(store.size.waitingBytes <= 131_072);
    });
  });
}

for (const version of [9, 10] as const) {
  it(`records of version ${version} may have every field in a variable length`, () => {
    const specs = SPECS.map(([field]): Spec => [field, 0xffff]);
    const fields = record4(5).map((part) => (Buffer.isBuffer(part) ? part : bytesOf(part)));
    const data = set(300, ...fields.flatMap((one): Part[] => [[one.length, 1], one]));
    const record = one(read(created(), message(version, [templateSet(version, 300, specs), data])));
    const { packets, bytes, protocol, sourcePort, destinationPort } = record;
    assert.deepEqual(
      [packets, bytes, protocol, sourcePort, destinationPort],
      [5, 7000, 17, 53, 4444],
    );
    assert.deepEqual([...record.destination], TARGET_WORDS);
  });
}

describe('IPFIX', () => {
  it('skips enterprise fields and fields of variable length', () => {
    const specs: Spec[] = [[0x8001, 2], [82, 0xffff], ...SPECS, [0x8002, 0xffff]];
    const long = Buffer.alloc(300, 'x');
    const data = set(
      300,
      [0xffff, 2],
      [3, 1],
      Buffer.from('eth'),
      ...record4(5),
      [255, 1],
      [long.length, 2],
      long,
      [0xffff, 2],
      [0, 1],
      ...record4(6),
      [0, 1],
    );
    const records = read(created(), message(10, [templateSet(10, 300, specs), data]));
    assert.deepEqual(
      records.map(({ packets }) => packets),
      [5, 6],
    );
  });

  it('reads both directions of a bidirectional flow (RFC 5103)', () => {
    const specs: Spec[] = [
      [8, 4],
      [12, 4],
      [4, 1],
      [7, 2],
      [11, 2],
      [6, 1],
      [1, 4],
      [2, 4],
      [0x8006, 1],
      [0x8001, 8],
      [0x8002, 4],
    ];
    const flow = (reverse: number): Part[] => [
      addressBytes('198.51.100.7'),
      addressBytes(TARGET),
      [6, 1],
      [40_000, 2],
      [443, 2],
      [0x02, 1],
      [500, 4],
      [5, 4],
      [0x12, 1],
      [0, 4],
      [reverse * 1400, 4],
      [reverse, 4],
    ];
    const records = read(
      created(10),
      message(10, [templateSet(10, 300, specs), set(300, ...flow(7), ...flow(0))]),
    );
    const seen = records.map(({ source, destination, ...record }) => [
      source[3],
      destination[3],
      record.sourcePort,
      record.destinationPort,
      record.tcpFlags,
      record.packets,
      record.bytes,
    ]);
    const forward = [0xc6336407, 0xcb00710a, 40_000, 443, 0x02, 50, 5000];
    const reverse = [0xcb00710a, 0xc6336407, 443, 40_000, 0x12, 70, 98_000];
    assert.deepEqual(seen, [forward, reverse, forward]);
  });

  it('forgets withdrawn templates', () => {
    const exporter = created();
    const templates = [templateSet(10, 300, SPECS), templateSet(10, 301, SPECS)];
    const data = (id: number): Buffer => message(10, [set(id, ...record4(1))]);
    read(exporter, message(10, templates));
    read(exporter, message(10, [set(2, [300, 2], [0, 2])]));
    assert.equal(read(exporter, data(300)).length, 0);
    assert.equal(read(exporter, data(301)).length, 1);
    read(exporter, message(10, [set(2, [2, 2], [0, 2])]));
    assert.equal(read(exporter, data(301)).length, 0);
  });

  it('reads sampled packets', () => {
    const packet = ethernet(
      0x0800,
      ipv4({ destination: TARGET, protocol: 17, totalBytes: 468, transport: ports(123, 80) }),
    );
    const specs: Spec[] = [
      [305, 4],
      [306, 4],
      [315, 0xffff],
    ];
    const data = set(300, [1, 4], [499, 4], [packet.length, 1], packet);
    const record = one(read(created(), message(10, [templateSet(10, 300, specs), data])));
    assert.deepEqual([record.packets, record.bytes, record.sourcePort], [500, 468 * 500, 123]);
  });
});
