import { randomInt } from 'node:crypto';
import { formatAddress } from '@portcullis/core/net/address.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { addressBytes, bytesOf, type Part } from '@portcullis/collector/testing/datagrams.ts';

/** What a flood is made of. `few`: UDP of some sources. `download`: large segments of one connection, no flood. */
export const FLOOD_KINDS = [
  'udp',
  'syn',
  'ack',
  'icmp',
  'fragments',
  'dns',
  'ntp',
  'syn+udp',
  'gre',
  'few',
  'download',
] as const;
export type FloodKind = (typeof FLOOD_KINDS)[number];

/** Where frames of a flood go to. */
export interface Aim {
  readonly kind: FloodKind;
  /** An address; or a prefix that it is spread over, one packet to each address of it by turns. */
  readonly target: string;
  /** MAC of whoever takes them. */
  readonly to: string;
}

interface Upper {
  readonly protocol: number;
  /** Starts with the header; `checksumAt`: where its checksum belongs, -1 without one. */
  readonly bytes: Buffer;
  readonly checksumAt: number;
  /** As in an IPv4 header: offset in eights, and 0x2000 where more follows. */
  readonly fragment?: number;
}

const TCP = 6;
const UDP = 17;
const GRE = 47;
const SYN = 0x02;
const ACK = 0x10;
/** Where games and web servers listen. */
const PORT = 27_015;
/** Lengths of answers: DNS with EDNS, and a full `monlist`. */
const DNS_BYTES = 1200;
const NTP_BYTES = 440;
const SEGMENT_BYTES = 1400;
/** Always the same. */
const FEW = 4;

/** So many whole Ethernet frames, their checksums right, from as many forged sources. */
export function floodFrames(aim: Aim, count: number): Buffer[] {
  const from = sourceOf(aim);
  return Array.from({ length: count }, (_, index) => {
    const target = targetOf(aim.target, index);
    return frameOf({ ...aim, target }, from(), index);
  });
}

/** Of an IPv6 prefix, one address in each /64. */
function targetOf(target: string, index: number): string {
  if (!target.includes('/')) return target;
  const prefix = parseCidr(target);
  if (!prefix.ok) throw new Error(prefix.reason);
  const { family, value, length } = prefix.value;
  const [bits, shift] = family === 4 ? [32, 0n] : [64, 64n];
  const host = BigInt(index) % (1n << BigInt(bits - length));
  return formatAddress({ family, value: value + (host << shift) + (family === 4 ? 0n : 1n) });
}

function sourceOf({ kind, target }: Aim): () => string {
  const isIpv6 = target.includes(':');
  const draw = (): string =>
    isIpv6
      ? `2001:db8:bad:${randomInt(65_536).toString(16)}::${randomInt(1, 65_536).toString(16)}`
      : `11.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
  const one = draw();
  if (kind === 'few')
    return () => `${isIpv6 ? '2001:db8:bad::' : '11.66.0.'}${randomInt(1, FEW + 1)}`;
  return kind === 'download' ? () => one : draw;
}

function frameOf({ kind, target, to }: Aim, source: string, index: number): Buffer {
  const family = target.includes(':') ? 6 : 4;
  const upper = upperOf(kind, family, index);
  const addresses = [addressBytes(source), addressBytes(target)] as const;
  fillChecksum(upper, addresses, family);
  const packet = family === 4 ? ipv4(upper, addresses) : ipv6(upper, addresses);
  const mac = Buffer.from(to.replaceAll(':', ''), 'hex');
  return bytesOf(mac, [0x02_00_00_00_00_99, 6], [family === 4 ? 0x0800 : 0x86dd, 2], packet);
}

function upperOf(kind: FloodKind, family: 4 | 6, index: number): Upper {
  const port = randomInt(1024, 65_536);
  switch (kind) {
    case 'udp':
    case 'few':
      return udp(port, PORT, 90);
    case 'dns':
      return udp(53, port, DNS_BYTES);
    case 'ntp':
      return udp(123, port, NTP_BYTES);
    case 'syn':
      return tcp(port, SYN, 0);
    case 'ack':
      return tcp(port, ACK, 0);
    case 'download':
      return tcp(443, ACK, SEGMENT_BYTES);
    case 'syn+udp':
      return index % 2 === 0 ? tcp(port, SYN, 0) : udp(port, PORT, 0);
    case 'icmp': {
      const echo: readonly Part[] = [
        [family === 4 ? 8 : 128, 1],
        [0, 3],
        [port, 2],
        [index, 2],
      ];
      const protocol = family === 4 ? 1 : 58;
      return { protocol, bytes: bytesOf(...echo, Buffer.alloc(56)), checksumAt: 2 };
    }
    case 'gre': {
      // Of version 0, around IPv4.
      const header: readonly Part[] = [
        [0, 2],
        [0x0800, 2],
      ];
      return { protocol: GRE, bytes: bytesOf(...header, Buffer.alloc(60)), checksumAt: -1 };
    }
    case 'fragments':
    default:
      return { protocol: UDP, bytes: Buffer.alloc(1024, 'f'), checksumAt: -1, fragment: 185 };
  }
}

function udp(source: number, destination: number, payloadBytes: number): Upper {
  const length = 8 + payloadBytes;
  const header: readonly Part[] = [
    [source, 2],
    [destination, 2],
    [length, 2],
    [0, 2],
  ];
  return { protocol: UDP, bytes: bytesOf(...header, Buffer.alloc(payloadBytes)), checksumAt: 6 };
}

function tcp(source: number, flags: number, payloadBytes: number): Upper {
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
  const bytes = bytesOf([source, 2], [PORT, 2], ...numbers, ...rest, Buffer.alloc(payloadBytes));
  return { protocol: TCP, bytes, checksumAt: 16 };
}

type Addresses = readonly [source: Buffer, destination: Buffer];

/** ICMP of IPv4 alone has no pseudo-header. */
function fillChecksum({ protocol, bytes, checksumAt }: Upper, addresses: Addresses, family: 4 | 6) {
  if (checksumAt < 0) return;
  const pseudo = bytesOf(...addresses, [bytes.length, 4], [protocol, 4]);
  const before = protocol === 1 && family === 4 ? 0 : sumOf(pseudo);
  bytes.writeUInt16BE(folded(before + sumOf(bytes)) || 0xffff, checksumAt);
}

function ipv4({ protocol, bytes, fragment = 0 }: Upper, addresses: Addresses): Buffer {
  const header = bytesOf(
    [0x4500, 2],
    [20 + bytes.length, 2],
    [randomInt(65_536), 2],
    [fragment, 2],
    [64, 1],
    [protocol, 1],
    [0, 2],
    ...addresses,
  );
  header.writeUInt16BE(folded(sumOf(header)), 10);
  return Buffer.concat([header, bytes]);
}

function ipv6({ protocol, bytes, fragment }: Upper, addresses: Addresses): Buffer {
  const parts: readonly Part[] = [
    [protocol, 1],
    [0, 1],
    [(fragment ?? 0) << 3, 2],
  ];
  const between =
    fragment === undefined ? Buffer.alloc(0) : bytesOf(...parts, [randomInt(2 ** 32), 4]);
  const next = fragment === undefined ? protocol : 44;
  const length = between.length + bytes.length;
  return bytesOf([6 << 28, 4], [length, 2], [next, 1], [64, 1], ...addresses, between, bytes);
}

function sumOf(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  return bytes.length % 2 === 0 ? sum : sum + ((bytes.at(-1) ?? 0) << 8);
}

function folded(sum: number): number {
  let rest = sum;
  while (rest > 0xffff) rest = (rest & 0xffff) + (rest >>> 16);
  return ~rest & 0xffff;
}
