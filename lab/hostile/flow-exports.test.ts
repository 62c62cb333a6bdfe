import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { FlowWatch } from '@portcullis/cli/commands/collector/flow-watch.ts';
import { Collector } from '@portcullis/collector/collector.ts';
import {
  addressBytes,
  message,
  optionsTemplateSet,
  type Part,
  set,
  type Spec,
  templateSet,
} from '@portcullis/collector/testing/datagrams.ts';
import { detailOf } from '@portcullis/core/attacks/detector/detector.ts';

const THRESHOLDS = { pps: 20_000, bps: 1e9, holdMs: 60_000 };
const TIMEOUT = { timeout: 60_000 };
/** The start of ::ffff:0:0/96. */
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');
const ADDRESS = '127.0.0.1';

/** A collector as `portcullis collector` runs it, and exporting processes that send to it from ports of their own. */
async function fixture(t: TestContext, rate = 1) {
  const packets = new Map<string, number>();
  const watch = new FlowWatch({ thresholdsOf: () => THRESHOLDS, maxSubjects: 1000 });
  const attacks: string[] = [];
  let wake = (): void => {};
  const collector = await Collector.open({
    listen: [{ host: ADDRESS, family: 4, port: 0 }],
    exporters: new Map([[ADDRESS, rate]]),
    prefixes: null,
    detail: detailOf(THRESHOLDS),
    onSample: (sample) => {
      watch.add(sample);
      attacks.push(...watch.take(0).events.map(({ attack }) => attack.subject));
      for (const { subject, packets: count } of sample.addresses) {
        packets.set(subject, (packets.get(subject) ?? 0) + count);
      }
      wake();
    },
  });
  t.after(() => collector.close());
  const port = collector.sockets[0]?.port ?? 0;
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
  };
  let sent = 0;
  const exporter = async () => {
    const socket: Socket = createSocket('udp4');
    t.after(() => socket.close());
    socket.bind(0, ADDRESS);
    await once(socket, 'listening');
    /** Resolves when the collector has read it: the order of datagrams of several ports is the tests' subject. */
    return async (bytes: Buffer | string): Promise<void> => {
      socket.send(typeof bytes === 'string' ? Buffer.from(bytes, 'hex') : bytes, port, ADDRESS);
      sent += 1;
      await until(() => collector.counters().datagrams === sent);
    };
  };
  return {
    exporter,
    attacks,
    counters: () => collector.counters(),
    /** The packets of each destination, when there are records to so many. */
    packets: async (destinations: number): Promise<Record<string, number>> => {
      await until(() => packets.size >= destinations);
      return Object.fromEntries([...packets].toSorted(([a], [b]) => a.localeCompare(b)));
    },
  };
}

const SPECS: readonly Spec[] = [
  [12, 4],
  [2, 4],
  [1, 4],
];
const flowTo = (destination: string, packets: number): Part[] => [
  addressBytes(destination),
  [packets, 4],
  [packets * 100, 4],
];

describe('flow exports', () => {
  it('with a field of variable length in NetFlow 9 are read', TIMEOUT, async (t) => {
    const { exporter, packets, counters } = await fixture(t);
    const send = await exporter();
    await send(
      '00090001000186a06553f1000000000100000000000000480104000800080004000c000400010004000200040004000100070002000b00020060ffff0105000700080004000c000400010004000200040004000100070002000b0002',
    );
    await send(
      '00090001000186a06553f10000000002000000000104001ec6336407cb00710a000aae6000001b5811003569870441424344',
    );
    await send(
      '00090001000186a06553f10000000003000000000105001' +
        '9c6336407cb00710b0007a120000013881100356987',
    );
    assert.deepEqual(await packets(2), { '203.0.113.10': 7000, '203.0.113.11': 5000 });
    assert.equal(counters().malformed, 0);
  });

  it(
    'of two processes behind one address are read each by its own templates',
    TIMEOUT,
    async (t) => {
      const { exporter, packets, counters, attacks } = await fixture(t);
      const [a, b] = [await exporter(), await exporter()];
      await a(
        '00090001000186a06553f10000000001000000000000001c01000005000c000400080004000200040001000400040001',
      );
      await b(
        '00090001000186a06553f100000001f4000000000000001c01000005000200040001000400080004000c000400040001',
      );
      await a(
        '00090001000186a06553f10000000002000000000100001' +
          '8cb00710ac6336407000000010000006411000000',
      );
      await b(
        '00090001000186a06553f100000001f500000000010000180000000100000064c6336407cb00710b11000000',
      );
      assert.deepEqual(await packets(2), { '203.0.113.10': 1, '203.0.113.11': 1 });
      assert.deepEqual(attacks, []);
      const { lost, malformed, implausible } = counters();
      assert.deepEqual([lost, malformed, implausible], [0, 0, 0]);
    },
  );

  it(
    'of two processes behind one address keep samplers, interfaces and withdrawals apart',
    TIMEOUT,
    async (t) => {
      const { exporter, packets, counters } = await fixture(t, 7);
      const [a, b] = [await exporter(), await exporter()];
      const sided: Spec[] = [...SPECS, [10, 2], [61, 1]];
      const rate = [
        optionsTemplateSet(10, 400, [[144, 4]], [[34, 4]]),
        set(400, [1, 4], [1000, 4]),
      ];
      await a(message(10, [templateSet(10, 300, sided), ...rate]));
      await b(message(10, [templateSet(10, 300, sided)]));
      // Ingress on interface 3 of one, egress of packets from interface 3 of the other.
      await a(message(10, [set(300, ...flowTo('203.0.113.1', 2), [3, 2], [0, 1])]));
      await b(message(10, [set(300, ...flowTo('203.0.113.2', 2), [3, 2], [1, 1])]));
      await a(message(10, [set(2, [2, 2], [0, 2])]));
      await b(message(10, [set(300, ...flowTo('203.0.113.3', 3), [3, 2], [1, 1])]));
      assert.deepEqual(await packets(3), {
        '203.0.113.1': 2000,
        '203.0.113.2': 14,
        '203.0.113.3': 21,
      });
      assert.equal(counters().reportedTwice, 0);
    },
  );

  it('of more than a line can carry open no attack and are counted', TIMEOUT, async (t) => {
    const { exporter, packets, counters, attacks } = await fixture(t);
    const send = await exporter();
    const wide: Spec[] = [
      [12, 4],
      [2, 8],
      [1, 8],
    ];
    const impossible = (count: number | bigint, bytes: number | bigint): Part[] => [
      addressBytes('203.0.113.66'),
      [count, 8],
      [bytes, 8],
    ];
    const data = [
      impossible(2 ** 34, 2 ** 41),
      impossible(0xffffffffffffffffn, 0xffffffffffffffffn),
      impossible(0xcb00710a, 100),
      impossible(100, 2 ** 42),
    ].map((one) => set(300, ...one));
    await send(message(9, [templateSet(9, 300, wide), ...data]));
    await send(message(9, [templateSet(9, 301, SPECS), set(301, ...flowTo('203.0.113.1', 9))]));
    assert.deepEqual(await packets(1), { '203.0.113.1': 9 });
    assert.equal(counters().implausible, 4);
    assert.deepEqual(attacks, []);
  });

  it('of IPv4-mapped addresses count for the IPv4 address', TIMEOUT, async (t) => {
    const { exporter, packets } = await fixture(t);
    const send = await exporter();
    const specs: Spec[] = [
      [27, 16],
      [28, 16],
      [2, 4],
      [1, 4],
    ];
    const data = [
      Buffer.concat([MAPPED, addressBytes('198.51.100.7')]),
      Buffer.concat([MAPPED, addressBytes('203.0.113.10')]),
      [3, 4],
      [300, 4],
    ] as const;
    await send(message(10, [templateSet(10, 300, specs), set(300, ...data)]));
    assert.deepEqual(await packets(1), { '203.0.113.10': 3 });
  });
});
