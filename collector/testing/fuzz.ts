import { processorClock } from '@portcullis/core/testing/processor-clock.ts';
import { Aggregate } from '../aggregate/aggregate.ts';
import { decode } from '../decode/decode.ts';
import { Exporter } from '../exporter/exporter.ts';
import { type FlowRecord, MAX_SAMPLING_RATE } from '@portcullis/core/attacks/flow-record.ts';
import {
  addressBytes,
  bytesOf,
  ethernet,
  ipv4,
  message,
  netflowV5,
  optionsTemplateSet,
  ports,
  rawHeader,
  set,
  sflow,
  templateSet,
} from './datagrams.ts';

export interface Fuzzed {
  readonly datagrams: number;
  readonly records: number;
  readonly malformed: number;
  /** In CPU time. */
  readonly slowestMs: number;
  readonly objects: number;
  readonly waitingBytes: number;
  /** The description of an impossible record, or null. */
  readonly wrong: string | null;
}

/** Decodes this number of datagrams: valid ones with changed, truncated, joined and repeated bytes, or random ones. */
export function fuzz(datagrams: number, seed: number): Fuzzed {
  const drawn = fuzzedDatagrams(seed);
  const exporter = new Exporter('192.0.2.1');
  const aggregate = new Aggregate({
    prefixes: null,
    addresses: 4096,
    seed,
    detail: { packets: 0, bytes: 0 },
    nowMs: 0,
  });
  let wrong: string | null = null;
  let nowMs = 0;
  const emit = (record: FlowRecord): void => {
    wrong ??= complaintAbout(record);
    aggregate.add(record, nowMs);
  };
  let slowestMs = 0;
  for (let index = 0; index < datagrams; index++) {
    const bytes = drawn.next().value;
    nowMs = index / 4;
    const tookMs = processorClock();
    decode(bytes, { exporter, port: 50_000 + (index % 2), nowMs, emit });
    slowestMs = Math.max(slowestMs, tookMs());
    if (index % 1000 === 0) aggregate.close(nowMs, 250);
  }
  const stores = [exporter.netflow.size, exporter.ipfix.size];
  return {
    datagrams: exporter.counters.datagrams,
    records: exporter.counters.records,
    malformed: exporter.counters.malformed,
    slowestMs,
    objects: stores.reduce((sum, { objects }) => sum + objects, 0),
    waitingBytes: stores.reduce((sum, store) => sum + store.waitingBytes, 0),
    wrong,
  };
}

function complaintAbout(record: FlowRecord): string | null {
  const { packets, bytes, samplingRate, agoMs, durationMs, protocol, sourcePort } = record;
  const numbers = { packets, bytes, samplingRate, agoMs, durationMs, protocol, sourcePort };
  const odd = Object.entries(numbers).find(([, value]) => !Number.isFinite(value));
  if (odd !== undefined) return `${odd[0]} is ${odd[1]}`;
  if (packets <= 0 || bytes < 0) return `${packets} packets of ${bytes} bytes`;
  if (samplingRate < 1 || samplingRate > MAX_SAMPLING_RATE) return `a rate of ${samplingRate}`;
  if (agoMs < -1000 || durationMs < 0) return 'it ends before it begins, or has not come yet';
  return protocol > 255 || sourcePort > 65_535 ? 'a number out of its range' : null;
}

/** An endless sequence of datagrams, deterministic by seed: valid ones with changed bytes, or random ones. */
export function* fuzzedDatagrams(seed: number): Generator<Buffer, never> {
  const draw = randomOf(seed);
  const seeds = wellFormed();
  for (;;) yield mutated(seeds, draw);
}

type Draw = (below: number) => number;

/** xorshift32: the same datagrams for the same seed. */
function randomOf(seed: number): Draw {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

function wellFormed(): Buffer[] {
  const flow = {
    source: '198.51.100.7',
    destination: '203.0.113.10',
    protocol: 17,
    sourcePort: 53,
    destinationPort: 4444,
    tcpFlags: 0,
    packets: 10,
    bytes: 5000,
    firstMs: 1,
    lastMs: 2,
  };
  const packet = ipv4({ ...flow, totalBytes: 500, transport: ports(53, 9999) });
  const frame = ethernet(0x0800, packet, [0x8100, 2], [7, 2]);
  const headers = [
    rawHeader(frame),
    rawHeader(packet, 11),
    rawHeader(ethernet(0x8847, bytesOf([0x140, 4], packet))),
  ];
  return [
    netflowV5([flow, flow, flow]),
    sflow(headers.map((header) => ({ rate: 100, records: [header] }))),
    sflow([{ rate: 100, records: headers, expanded: true }]),
    ...byTemplates(),
  ];
}

function byTemplates(): Buffer[] {
  const specs = [
    [8, 4],
    [12, 4],
    [4, 1],
    [7, 2],
    [11, 2],
    [6, 1],
    [1, 4],
    [2, 4],
  ] as const;
  const data = bytesOf(
    addressBytes('198.51.100.7'),
    addressBytes('203.0.113.10'),
    [17, 1],
    [53, 2],
    [99, 2],
    [0, 1],
    [1000, 4],
    [10, 4],
  );
  const rates = [
    [34, 4],
    [48, 1],
  ] as const;
  const withTemplates = ([9, 10] as const).map((version) =>
    message(version, [
      templateSet(version, 300, specs),
      templateSet(
        version,
        301,
        version === 10 ? [...specs, [82, 0xffff], [0x8001, 2]] : [...specs, [34, 4]],
      ),
      optionsTemplateSet(version, 302, [[1, 4]], rates),
      set(302, [1, 4], [100, 4], [1, 1]),
      set(300, data, data, data),
      set(301, data, [3, 1], [0, 5]),
    ]),
  );
  const plain = ([9, 10] as const).map((version) => message(version, [set(300, data, data)]));
  return [...withTemplates, ...plain];
}

const EDGES = [0, 1, 2, 3, 4, 5, 127, 128, 254, 255];

function mutated(seeds: readonly Buffer[], draw: Draw): Buffer {
  const kind = draw(20);
  if (kind === 0) return Buffer.from(Array.from({ length: draw(1500) }, () => draw(256)));
  let bytes = Buffer.from(seeds[draw(seeds.length)] as Buffer);
  if (kind === 1) bytes = Buffer.concat([bytes, seeds[draw(seeds.length)] as Buffer]);
  if (kind === 2) bytes = Buffer.concat(Array<Buffer>(1 + draw(40)).fill(bytes));
  if (kind < 6) bytes = bytes.subarray(0, draw(bytes.length + 1));
  // Most have few changes, so that decoding gets far.
  const changes = draw(4) === 0 ? draw(40) : draw(4);
  for (let change = 0; change < changes && bytes.length > 0; change++) {
    const value = draw(2) === 0 ? (EDGES[draw(EDGES.length)] as number) : draw(256);
    bytes[draw(bytes.length)] = value;
  }
  return bytes;
}
