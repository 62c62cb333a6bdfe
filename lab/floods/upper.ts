import { randomBytes, randomInt } from 'node:crypto';
import { bytesOf, type Part } from '@portcullis/collector/testing/datagrams.ts';

/**
 * The content of a flood. `few`: UDP of some sources. `download`: large segments of one connection, no flood.
 * `udp-no-length` and `udp-any-length`: the UDP header has a wrong length. `no-next`: protocol 255 of IPv4 and next header
 * 59 of IPv6. `too-big` and `solicitation` are ICMPv6 alone.
 */
export type FloodKind =
  | 'udp'
  | 'udp-no-length'
  | 'udp-any-length'
  | 'syn'
  | 'syn-ack'
  | 'ack'
  | 'psh-ack'
  | 'rst'
  | 'fin-ack'
  | 'no-flags'
  | 'icmp'
  | 'unreachable'
  | 'exceeded'
  | 'too-big'
  | 'solicitation'
  | 'fragments'
  | 'first-fragments'
  | 'both-fragments'
  | 'dns'
  | 'ntp'
  | 'syn+udp'
  | 'gre'
  | 'esp'
  | 'sctp'
  | 'no-next'
  | 'few'
  | 'download';

/** A number, or one that each packet draws between two, both included. */
export type Drawn = number | readonly [least: number, most: number];

/** The part of a packet above IP. */
export interface Upper {
  readonly protocol: number;
  /** Starts with the header; `checksumAt`: where its checksum belongs, -1 without one. */
  readonly bytes: Buffer;
  readonly checksumAt: number;
  /** The field as in an IPv4 header: offset in eights, and 0x2000 where more follows. */
  readonly fragment?: number;
}

/** Settings of a flood that replace those of its kind. */
export interface UpperOptions {
  readonly kind: FloodKind;
  /** Destination ports, of which each packet draws one; `random`: any. */
  readonly ports?: readonly number[] | 'random';
  readonly sourcePort?: number;
  /** Length of the payload. */
  readonly bytes?: Drawn;
  /** How the payload starts, as hex; zeros follow. */
  readonly payload?: string;
}

interface Draw extends UpperOptions {
  readonly family: 4 | 6;
  readonly index: number;
}

const TCP = 6;
const UDP = 17;
const FLAGS = { syn: 0x02, rst: 0x04, psh: 0x08, ack: 0x10, fin: 0x01 } as const;
/** Where games and web servers listen. */
const PORT = 27_015;
/** Lengths of answers: DNS with EDNS, and a full `monlist`. */
const DNS_BYTES = 1200;
const NTP_BYTES = 440;
const SEGMENT_BYTES = 1400;
const FRAGMENT_BYTES = 1024;
const MORE_FRAGMENTS = 0x2000;
const UDP_HEADER_BYTES = 8;

export function upperOf(draw: Draw): Upper {
  return UPPER[draw.kind](draw);
}

const UPPER: Readonly<Record<FloodKind, (draw: Draw) => Upper>> = {
  udp: (draw) => udp(draw, 90),
  few: (draw) => udp(draw, 90),
  'udp-no-length': (draw) => withUdpLength(udp(draw, 90), 0),
  'udp-any-length': (draw) => withUdpLength(udp(draw, 90), randomInt(65_536)),
  dns: (draw) => udp({ sourcePort: 53, ports: 'random', ...draw }, DNS_BYTES),
  ntp: (draw) => udp({ sourcePort: 123, ports: 'random', ...draw }, NTP_BYTES),
  syn: (draw) => tcp(draw, FLAGS.syn),
  'syn-ack': (draw) => tcp(draw, FLAGS.syn | FLAGS.ack),
  ack: (draw) => tcp(draw, FLAGS.ack),
  'psh-ack': (draw) => tcp(draw, FLAGS.psh | FLAGS.ack),
  rst: (draw) => tcp(draw, FLAGS.rst),
  'fin-ack': (draw) => tcp(draw, FLAGS.fin | FLAGS.ack),
  'no-flags': (draw) => tcp(draw, 0),
  download: (draw) => tcp({ sourcePort: 443, bytes: SEGMENT_BYTES, ...draw }, FLAGS.ack),
  'syn+udp': (draw) => (draw.index % 2 === 0 ? tcp(draw, FLAGS.syn) : udp(draw, 0)),
  icmp: (draw) => icmp(draw, draw.family === 4 ? 8 : 128),
  unreachable: (draw) => icmp(draw, draw.family === 4 ? 3 : 1),
  exceeded: (draw) => icmp(draw, draw.family === 4 ? 11 : 3),
  'too-big': (draw) => icmp(draw, draw.family === 4 ? 3 : 2),
  solicitation: (draw) => icmp(draw, draw.family === 4 ? 8 : 135),
  // GRE of version 0, around IPv4.
  gre: (draw) => plain(draw, 47, Buffer.from('00000800', 'hex')),
  esp: (draw) => plain(draw, 50, randomBytes(8)),
  sctp: (draw) => plain(draw, 132, randomBytes(12)),
  'no-next': (draw) => plain(draw, draw.family === 4 ? 255 : 59, Buffer.alloc(0)),
  fragments: (draw) => fragment(draw, 'later'),
  'first-fragments': (draw) => fragment(draw, 'first'),
  'both-fragments': (draw) => fragment(draw, draw.index % 2 === 0 ? 'first' : 'later'),
};

function numberOf(drawn: Drawn): number {
  return typeof drawn === 'number' ? drawn : randomInt(drawn[0], drawn[1] + 1);
}

function portOf({ ports = [PORT] }: UpperOptions): number {
  if (ports === 'random') return randomInt(1, 65_536);
  return ports[randomInt(ports.length)] ?? PORT;
}

function payloadOf({ bytes, payload = '' }: UpperOptions, usualBytes: number): Buffer {
  const start = Buffer.from(payload, 'hex');
  const all = Buffer.alloc(Math.max(start.length, numberOf(bytes ?? usualBytes)));
  start.copy(all);
  return all;
}

function udp(draw: Draw, usualBytes: number): Upper {
  const payload = payloadOf(draw, usualBytes);
  const header: readonly Part[] = [
    [draw.sourcePort ?? randomInt(1024, 65_536), 2],
    [portOf(draw), 2],
    [UDP_HEADER_BYTES + payload.length, 2],
    [0, 2],
  ];
  return { protocol: UDP, bytes: bytesOf(...header, payload), checksumAt: 6 };
}

function withUdpLength(upper: Upper, length: number): Upper {
  upper.bytes.writeUInt16BE(length, 4);
  return upper;
}

function tcp(draw: Draw, flags: number): Upper {
  const ports: readonly Part[] = [
    [draw.sourcePort ?? randomInt(1024, 65_536), 2],
    [portOf(draw), 2],
  ];
  const numbers: readonly Part[] = [
    [randomInt(2 ** 32), 4],
    [0, 4],
    [0x50, 1],
    [flags, 1],
  ];
  const rest: readonly Part[] = [
    [64_240, 2],
    [0, 2],
    [0, 2],
  ];
  const bytes = bytesOf(...ports, ...numbers, ...rest, payloadOf(draw, 0));
  return { protocol: TCP, bytes, checksumAt: 16 };
}

function icmp(draw: Draw, type: number): Upper {
  const header: readonly Part[] = [
    [type, 1],
    [0, 3],
    [randomInt(1024, 65_536), 2],
    [draw.index & 0xffff, 2],
  ];
  const protocol = draw.family === 4 ? 1 : 58;
  return { protocol, bytes: bytesOf(...header, payloadOf(draw, 56)), checksumAt: 2 };
}

function plain(draw: Draw, protocol: number, header: Buffer): Upper {
  return { protocol, bytes: Buffer.concat([header, payloadOf(draw, 60)]), checksumAt: -1 };
}

/** The first has a UDP header, a later one only payload. */
function fragment(draw: Draw, part: 'first' | 'later'): Upper {
  if (part === 'first') {
    const { bytes } = udp(draw, FRAGMENT_BYTES - UDP_HEADER_BYTES);
    return { protocol: UDP, bytes, checksumAt: -1, fragment: MORE_FRAGMENTS };
  }
  const bytes = Buffer.alloc(FRAGMENT_BYTES, 'f');
  return { protocol: UDP, bytes, checksumAt: -1, fragment: 185 };
}
