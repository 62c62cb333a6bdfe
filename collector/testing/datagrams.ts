import { parseAddress } from '@portcullis/core/net/address.ts';

/** Datagrams of exporters, built from numbers and their lengths as in the format specifications. */
export type Part = readonly [value: number | bigint, bytes: number] | Buffer;

export function bytesOf(...parts: readonly Part[]): Buffer {
  return Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : numberOf(...part))));
}

function numberOf(value: number | bigint, length: number): Buffer {
  const hex = BigInt(value)
    .toString(16)
    .padStart(length * 2, '0');
  return Buffer.from(hex.slice(-length * 2), 'hex');
}

export function addressBytes(text: string): Buffer {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.reason);
  return numberOf(address.value.value, address.value.family === 4 ? 4 : 16);
}

export interface V5Flow {
  readonly source: string;
  readonly destination: string;
  readonly protocol: number;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly tcpFlags: number;
  readonly packets: number;
  readonly bytes: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export const UPTIME_MS = 600_000;
export const EXPORT_SECONDS = 1_790_000_000;

export function netflowV5(
  flows: readonly V5Flow[],
  { sequence = 0, sampling = 0, count = flows.length } = {},
): Buffer {
  const records = flows.map((flow) =>
    bytesOf(
      addressBytes(flow.source),
      addressBytes(flow.destination),
      [0, 8],
      [flow.packets, 4],
      [flow.bytes, 4],
      [flow.firstMs, 4],
      [flow.lastMs, 4],
      [flow.sourcePort, 2],
      [flow.destinationPort, 2],
      [0, 1],
      [flow.tcpFlags, 1],
      [flow.protocol, 1],
      [0, 9],
    ),
  );
  const times: Part[] = [
    [UPTIME_MS, 4],
    [EXPORT_SECONDS, 4],
    [0, 4],
  ];
  return bytesOf([5, 2], [count, 2], ...times, [sequence, 4], [0, 2], [sampling, 2], ...records);
}

/** Field numbers with lengths; in IPFIX the enterprise number follows a field number above 0x8000. */
export type Spec = readonly [field: number, length: number];

function specBytes(specs: readonly Spec[], enterprises: boolean): Buffer {
  return bytesOf(
    ...specs.flatMap(([field, length]): Part[] =>
      field > 0x8000 && enterprises
        ? [
            [field, 2],
            [length, 2],
            [29_305, 4],
          ]
        : [
            [field, 2],
            [length, 2],
          ],
    ),
  );
}

export function set(id: number, ...content: readonly Part[]): Buffer {
  const body = bytesOf(...content);
  return bytesOf([id, 2], [body.length + 4, 2], body);
}

export function templateSet(version: 9 | 10, id: number, specs: readonly Spec[]): Buffer {
  const kind = version === 9 ? 0 : 2;
  return set(kind, [id, 2], [specs.length, 2], specBytes(specs, version === 10));
}

export function optionsTemplateSet(
  version: 9 | 10,
  id: number,
  scopes: readonly Spec[],
  specs: readonly Spec[],
): Buffer {
  const fields = specBytes([...scopes, ...specs], version === 10);
  if (version === 9) {
    return set(1, [id, 2], [scopes.length * 4, 2], [specs.length * 4, 2], fields);
  }
  return set(3, [id, 2], [scopes.length + specs.length, 2], [scopes.length, 2], fields);
}

export function message(
  version: 9 | 10,
  sets: readonly Buffer[],
  { domain = 7, sequence = 0 } = {},
): Buffer {
  const body = Buffer.concat(sets);
  if (version === 9) {
    const times: Part[] = [
      [UPTIME_MS, 4],
      [EXPORT_SECONDS, 4],
    ];
    return bytesOf([9, 2], [sets.length, 2], ...times, [sequence, 4], [domain, 4], body);
  }
  return bytesOf(
    [10, 2],
    [body.length + 16, 2],
    [EXPORT_SECONDS, 4],
    [sequence, 4],
    [domain, 4],
    body,
  );
}

export interface Ipv4Packet {
  readonly source?: string;
  readonly destination: string;
  readonly protocol: number;
  /** Fragment offset and flags, as in the header. */
  readonly fragment?: number;
  readonly totalBytes: number;
  readonly transport: Buffer;
}

export function ipv4({ source = '192.0.2.9', destination, ...packet }: Ipv4Packet): Buffer {
  const { protocol, fragment = 0, totalBytes, transport } = packet;
  return bytesOf(
    [0x45, 1],
    [0, 1],
    [totalBytes, 2],
    [0, 2],
    [fragment, 2],
    [64, 1],
    [protocol, 1],
    [0, 2],
    addressBytes(source),
    addressBytes(destination),
    transport,
  );
}

/** `extensions`: extension headers, each with the number of the next header in its first byte. */
export function ipv6(
  destination: string,
  next: number,
  payloadBytes: number,
  payload: Buffer,
): Buffer {
  return bytesOf(
    [0x60, 1],
    [0, 3],
    [payloadBytes, 2],
    [next, 1],
    [64, 1],
    addressBytes('2001:db8::9'),
    addressBytes(destination),
    payload,
  );
}

export function ports(source: number, destination: number): Buffer {
  return bytesOf([source, 2], [destination, 2], [0, 4]);
}

export function tcp(source: number, destination: number, flags: number): Buffer {
  return bytesOf([source, 2], [destination, 2], [0, 8], [0x50, 1], [flags, 1], [0, 6]);
}

/** A frame with VLAN tags and MPLS labels. */
export function ethernet(type: number, payload: Buffer, ...tags: readonly Part[]): Buffer {
  return bytesOf([0, 12], ...tags, [type, 2], payload);
}

export interface SflowSample {
  readonly rate: number;
  readonly records: readonly Buffer[];
  readonly expanded?: boolean;
  /** Interface indexes: of the sampler, ingress and egress. */
  readonly source?: number;
  readonly input?: number;
  readonly output?: number;
}

export function rawHeader(frame: Buffer, protocol = 1, frameBytes = frame.length + 4): Buffer {
  const padding = (4 - (frame.length % 4)) % 4;
  const body = bytesOf(
    [protocol, 4],
    [frameBytes, 4],
    [4, 4],
    [frame.length, 4],
    frame,
    Buffer.alloc(padding),
  );
  return bytesOf([1, 4], [body.length, 4], body);
}

export function sflow(
  samples: readonly SflowSample[],
  { sequence = 1, uptimeMs = 5000 } = {},
): Buffer {
  const parts = samples.map(({ rate, records, expanded = false, ...sides }) => {
    const { source = 3, input = 0, output = 0 } = sides;
    const before: Part[] = expanded
      ? [
          [1, 4],
          [0, 4],
          [source, 4],
        ]
      : [
          [1, 4],
          [source, 4],
        ];
    const interfaces: Part[] = expanded
      ? [
          [0, 4],
          [input, 4],
          [0, 4],
          [output, 4],
        ]
      : [
          [input, 4],
          [output, 4],
        ];
    const counts: Part[] = [
      [rate, 4],
      [rate, 4],
      [0, 4],
    ];
    const body = bytesOf(...before, ...counts, ...interfaces, [records.length, 4], ...records);
    return bytesOf([expanded ? 3 : 1, 4], [body.length, 4], body);
  });
  const agent: Part[] = [[1, 4], addressBytes('192.0.2.1'), [0, 4]];
  return bytesOf([5, 4], ...agent, [sequence, 4], [uptimeMs, 4], [samples.length, 4], ...parts);
}
