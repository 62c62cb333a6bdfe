import { randomInt } from 'node:crypto';
import { formatAddress } from '@portcullis/core/net/address.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { addressBytes, bytesOf, type Part } from '@portcullis/collector/testing/datagrams.ts';
import { type Upper, type UpperOptions, upperOf } from './upper.ts';

export type { FloodKind } from './upper.ts';

/** Where frames of a flood go to. */
export interface Aim extends UpperOptions {
  /** An address; or a prefix that it is spread over, one packet to each address of it by turns. */
  readonly target: string;
  /** MAC of whoever takes them. */
  readonly to: string;
  /** The number of forged sources, or their addresses; one of its own for each frame without. */
  readonly sources?: number | readonly string[];
  /** DSCP, by which a receiver tells floods apart; 0 without. */
  readonly mark?: number;
}

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

/** Targets: for an IPv6 prefix shorter than /64, one address in each /64. */
function targetOf(target: string, index: number): string {
  if (!target.includes('/')) return target;
  const prefix = parseCidr(target);
  if (!prefix.ok) throw new Error(prefix.reason);
  const { family, value, length } = prefix.value;
  const [bits, shift] = family === 6 && length < 64 ? [64, 64n] : [family === 4 ? 32 : 128, 0n];
  const host = BigInt(index) % (1n << BigInt(bits - length));
  return formatAddress({ family, value: value + (host << shift) + (family === 4 ? 0n : 1n) });
}

function sourceOf({ kind, target, sources }: Aim): () => string {
  const isIpv6 = target.includes(':');
  const draw = (): string =>
    isIpv6
      ? `2001:db8:bad:${randomInt(65_536).toString(16)}::${randomInt(1, 65_536).toString(16)}`
      : `11.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
  const one = draw();
  if (kind === 'few')
    return () => `${isIpv6 ? '2001:db8:bad::' : '11.66.0.'}${randomInt(1, FEW + 1)}`;
  if (kind === 'download') return () => one;
  if (sources === undefined) return draw;
  const named = typeof sources === 'number' ? Array.from({ length: sources }, draw) : sources;
  return () => named[randomInt(named.length)] ?? one;
}

function frameOf(aim: Aim, source: string, index: number): Buffer {
  const { target, to, mark = 0 } = aim;
  const family = target.includes(':') ? 6 : 4;
  const upper = upperOf({ ...aim, family, index });
  const addresses = [addressBytes(source), addressBytes(target)] as const;
  fillChecksum(upper, addresses, family);
  // DSCP and two bits of ECN.
  const packet = (family === 4 ? ipv4 : ipv6)(upper, addresses, mark << 2);
  const mac = Buffer.from(to.replaceAll(':', ''), 'hex');
  return bytesOf(mac, [0x02_00_00_00_00_99, 6], [family === 4 ? 0x0800 : 0x86dd, 2], packet);
}

type Addresses = readonly [source: Buffer, destination: Buffer];

/** ICMP of IPv4 alone has no pseudo-header. */
function fillChecksum({ protocol, bytes, checksumAt }: Upper, addresses: Addresses, family: 4 | 6) {
  if (checksumAt < 0) return;
  const pseudo = bytesOf(...addresses, [bytes.length, 4], [protocol, 4]);
  const before = protocol === 1 && family === 4 ? 0 : sumOf(pseudo);
  bytes.writeUInt16BE(folded(before + sumOf(bytes)) || 0xffff, checksumAt);
}

function ipv4(
  { protocol, bytes, fragment = 0 }: Upper,
  addresses: Addresses,
  trafficClass: number,
): Buffer {
  const header = bytesOf(
    [0x4500 | trafficClass, 2],
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

function ipv6(
  { protocol, bytes, fragment }: Upper,
  addresses: Addresses,
  trafficClass: number,
): Buffer {
  const more = ((fragment ?? 0) & 0x2000) === 0 ? 0 : 1;
  const parts: readonly Part[] = [
    [protocol, 1],
    [0, 1],
    [(((fragment ?? 0) & 0x1fff) << 3) | more, 2],
  ];
  const between =
    fragment === undefined ? Buffer.alloc(0) : bytesOf(...parts, [randomInt(2 ** 32), 4]);
  const next = fragment === undefined ? protocol : 44;
  const length = between.length + bytes.length;
  const first = 0x6000_0000 + trafficClass * 2 ** 20;
  return bytesOf([first, 4], [length, 2], [next, 1], [64, 1], ...addresses, between, bytes);
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
