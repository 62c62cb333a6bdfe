import {
  addressBytes,
  bytesOf,
  ethernet,
  ipv4,
  message,
  netflowV5,
  ports,
  rawHeader,
  set,
  sflow,
  type Spec,
  templateSet,
} from '@portcullis/collector/testing/datagrams.ts';
import { type Chance, chanceOf } from '../detection/chance.ts';

/** Datagrams as busy exporters send them: as many records as fit, to many destinations, none of which is attacked. */
export interface Load {
  readonly format: LoadFormat;
  readonly datagrams: readonly Buffer[];
  readonly recordsEach: number;
}

export const LOAD_FORMATS = ['sFlow 5', 'NetFlow 5', 'NetFlow 9', 'IPFIX'] as const;
export type LoadFormat = (typeof LOAD_FORMATS)[number];

const DATAGRAMS = 2000;
const DESTINATIONS = 10_000;
const RECORDS = { 'sFlow 5': 7, 'NetFlow 5': 30, 'NetFlow 9': 24, IPFIX: 24 } as const;

/** The fields that routers put into a record, of which we read most. */
const SPECS: readonly Spec[] = [
  [8, 4],
  [12, 4],
  [15, 4],
  [10, 4],
  [14, 4],
  [2, 4],
  [1, 4],
  [22, 4],
  [21, 4],
  [7, 2],
  [11, 2],
  [6, 1],
  [4, 1],
  [5, 1],
  [16, 4],
  [17, 4],
  [9, 1],
  [13, 1],
];

export function loadOf(format: LoadFormat): Load {
  const chance = chanceOf(1);
  const recordsEach = RECORDS[format];
  const datagrams = Array.from({ length: DATAGRAMS }, (_, sequence) =>
    datagramOf(format, recordsEach, sequence, chance),
  );
  return { format, datagrams, recordsEach };
}

function datagramOf(format: LoadFormat, count: number, sequence: number, chance: Chance): Buffer {
  const flows = Array.from({ length: count }, () => flowOf(chance));
  if (format === 'NetFlow 5') return netflowV5(flows, { sequence: sequence * count });
  if (format === 'sFlow 5') {
    const samples = flows.map((flow) => {
      const transport = bytesOf(ports(flow.sourcePort, flow.destinationPort), Buffer.alloc(86));
      const packet = ipv4({ ...flow, totalBytes: flow.bytes, transport });
      return { rate: 1, records: [rawHeader(ethernet(0x0800, packet))] };
    });
    return sflow(samples, { sequence });
  }
  const version = format === 'NetFlow 9' ? 9 : 10;
  const records = flows.map((flow) =>
    bytesOf(
      addressBytes(flow.source),
      addressBytes(flow.destination),
      [0, 12],
      [flow.packets, 4],
      [flow.bytes, 4],
      [flow.firstMs, 4],
      [flow.lastMs, 4],
      [flow.sourcePort, 2],
      [flow.destinationPort, 2],
      [0, 1],
      [flow.protocol, 1],
      [0, 11],
    ),
  );
  const template = sequence % 100 === 0 ? [templateSet(version, 300, SPECS)] : [];
  const number = version === 9 ? sequence : sequence * count;
  return message(version, [...template, set(300, ...records)], { sequence: number });
}

function flowOf(chance: Chance) {
  const draw = (below: number): number => Math.floor(chance() * below);
  const host = draw(DESTINATIONS);
  return {
    source: `${1 + draw(220)}.${draw(256)}.${draw(256)}.${draw(256)}`,
    destination: `198.18.${host >> 8}.${host & 255}`,
    protocol: 17,
    sourcePort: 1024 + draw(60_000),
    destinationPort: 27_015,
    tcpFlags: 0,
    packets: 1,
    bytes: 100 + draw(1300),
    firstMs: 599_900,
    lastMs: 599_990,
  };
}
