import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Aggregate } from '../aggregate/aggregate.ts';
import { decode } from './decode.ts';
import { Exporter } from '../exporter/exporter.ts';
import { EGRESS, INGRESS, Interfaces } from '../exporter/interfaces.ts';
import {
  addressBytes,
  ipv4,
  message,
  type Part,
  ports,
  rawHeader,
  set,
  sflow,
  type Spec,
  templateSet,
} from '../testing/datagrams.ts';

const TARGET = '203.0.113.10';

/** The traffic of the target in datagrams of one exporter. */
function counted(datagrams: readonly Buffer[]): { packets: number; exporter: Exporter } {
  const exporter = new Exporter('192.0.2.1');
  const detail = { packets: 0, bytes: 0 };
  const aggregate = new Aggregate({ prefixes: null, addresses: 64, seed: 1, detail, nowMs: 0 });
  const emit = (record: Exporter['record']): void => aggregate.add(record, 0);
  for (const bytes of datagrams) decode(bytes, { exporter, port: 50_000, nowMs: 0, emit });
  const { addresses } = aggregate.close(0, 250);
  return { packets: addresses.find(({ subject }) => subject === TARGET)?.packets ?? 0, exporter };
}

/** A flow to the target with its ingress and egress interfaces; null if not exported. */
function flow(direction: number, input: number | null, output: number, packets: number): Part[] {
  const sides: Part[] = input === null ? [] : [[input, 2]];
  return [
    addressBytes('198.51.100.7'),
    addressBytes(TARGET),
    [17, 1],
    [53, 2],
    [4444, 2],
    [packets * 100, 4],
    [packets, 4],
    [direction, 1],
    [output, 4],
    ...sides,
  ];
}

const SPECS: readonly Spec[] = [
  [8, 4],
  [12, 4],
  [4, 1],
  [7, 2],
  [11, 2],
  [1, 4],
  [2, 4],
  [61, 1],
  [14, 4],
];
const WITH_INPUT: readonly Spec[] = [...SPECS, [10, 2]];

for (const version of [9, 10] as const) {
  const reported = (specs: readonly Spec[], ...flows: readonly Part[][]): Buffer =>
    message(version, [templateSet(version, 300, specs), ...flows.map((one) => set(300, ...one))]);

  describe(`direction in ${version === 9 ? 'NetFlow 9' : 'IPFIX'}`, () => {
    it('counts a packet once that is exported on ingress and on egress', () => {
      const both = reported(WITH_INPUT, flow(INGRESS, 1, 2, 700), flow(EGRESS, 1, 2, 700));
      const { packets, exporter } = counted([both]);
      assert.equal(packets, 700);
      assert.equal(exporter.counters.reportedTwice, 1);
    });

    it('counts egress of interfaces that export no ingress for it', () => {
      // Interface 2 of the customers exports both directions; ingress on interface 1 is not exported.
      const answers = flow(INGRESS, 2, 1, 50).with(1, addressBytes('198.51.100.7'));
      const both = reported(WITH_INPUT, answers, flow(EGRESS, 1, 2, 700), flow(EGRESS, 1, 2, 300));
      assert.equal(counted([both]).packets, 1000);
    });

    it('counts the larger direction when interfaces are not exported', () => {
      const both = reported(SPECS, flow(INGRESS, null, 2, 700), flow(EGRESS, null, 2, 690));
      assert.equal(counted([both]).packets, 700);
    });

    it('counts everything of an exporter with egress only', () => {
      const out = reported(WITH_INPUT, flow(EGRESS, 1, 2, 700), flow(EGRESS, 3, 2, 300));
      assert.equal(counted([out]).packets, 1000);
    });
  });
}

describe('direction in sFlow', () => {
  const header = rawHeader(
    ipv4({ destination: TARGET, protocol: 17, totalBytes: 512, transport: ports(53, 9999) }),
    11,
  );
  const sample = (source: number, input: number, output: number, expanded: boolean) => ({
    rate: 100,
    records: [header],
    source,
    input,
    output,
    expanded,
  });

  for (const expanded of [false, true]) {
    it(`counts a packet once if both sides of a switch sample${expanded ? ', expanded' : ''}`, () => {
      const samples = [1, 2, 1, 2].map((source) => sample(source, 1, 2, expanded));
      assert.equal(counted([sflow(samples)]).packets, 200);
    });

    it(`counts everything if only egress is sampled${expanded ? ', expanded' : ''}`, () => {
      const samples = [1, 3, 4].map((input) => sample(2, input, 2, expanded));
      assert.equal(counted([sflow(samples)]).packets, 300);
    });
  }
});

describe('interfaces of an exporter', () => {
  it('are bounded, and silent ones are dropped', () => {
    const interfaces = new Interfaces();
    for (let input = 1; input <= 20_000; input++) interfaces.classify(1, INGRESS, input, 0);
    assert.ok(interfaces.size <= 8_192);
    assert.equal(interfaces.classify(1, EGRESS, 20_000, 1), 'twice');
    assert.equal(interfaces.classify(1, EGRESS, 0, 1), 'unsure');
    assert.equal(interfaces.classify(1, EGRESS, 20_000, 601_000), 'once');
    assert.equal(interfaces.classify(1, EGRESS, 0, 601_000), 'once');
  });

  it('are those of one exporting process, of a bounded number', () => {
    const interfaces = new Interfaces();
    interfaces.classify(1, INGRESS, 3, 0);
    assert.equal(interfaces.classify(2, EGRESS, 3, 1), 'once');
    assert.equal(interfaces.classify(2, EGRESS, 0, 1), 'once');
    assert.equal(interfaces.classify(1, EGRESS, 3, 1), 'twice');
    for (let port = 1; port <= 60_000; port++) interfaces.classify(port, INGRESS, 3, 2);
    assert.ok(interfaces.size <= 100);
  });
});
