import { formatAddress } from '@portcullis/core/net/address.ts';
import { LAYOUT, REASONS, type Reason } from './layout.ts';

/** The beginning of a packet that was dropped early. */
export interface Sample {
  /** Nanoseconds of CLOCK_MONOTONIC. */
  readonly at: bigint;
  readonly ifindex: number;
  readonly slot: number;
  readonly reason: Reason;
  readonly packet: SampledPacket;
}
export interface SampledPacket {
  readonly source: string;
  readonly destination: string;
  readonly protocol: number;
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** From the IP header on. */
  readonly length: number;
}

const HEADER_BYTES = 32;
const ETHERNET_BYTES = 14;
const TAGGED = new Set([0x8100, 0x88a8]);
const EXTENSIONS = new Set([0, 43, 60]);
const WITH_PORTS = new Set([6, 17]);

/** Null for what no program of ours wrote. */
export function readSample(record: Buffer): Sample | null {
  if (record.length < HEADER_BYTES + LAYOUT.SAMPLE_BYTES) return null;
  const captured = Math.min(record.readUInt32LE(20), LAYOUT.SAMPLE_BYTES);
  const frame = record.subarray(HEADER_BYTES, HEADER_BYTES + captured);
  const packet = readFrame(frame, record.readUInt32LE(16));
  const reason = REASONS[record.readUInt32LE(24)];
  if (packet === null || reason === undefined) return null;
  const [ifindex, slot] = [record.readUInt32LE(8), record.readUInt32LE(12)];
  return { at: record.readBigUInt64LE(0), ifindex, slot, reason, packet };
}

function readFrame(frame: Buffer, length: number): SampledPacket | null {
  let at = ETHERNET_BYTES;
  for (let tags = 0; tags < 2 && at + 4 <= frame.length; tags++) {
    if (!TAGGED.has(frame.readUInt16BE(at - 2))) break;
    at += 4;
  }
  if (frame.length < at + 20) return null;
  const version = (frame[at] ?? 0) >> 4;
  if (version === 4) return readIpv4(frame.subarray(at), length - at);
  return version === 6 && frame.length >= at + 40 ? readIpv6(frame.subarray(at), length - at) : null;
}

function readIpv4(ip: Buffer, length: number): SampledPacket {
  const protocol = ip[9] ?? 0;
  const upper = ((ip[0] ?? 0) & 15) * 4;
  return {
    source: addressAt(ip, 12, 4),
    destination: addressAt(ip, 16, 4),
    protocol,
    ...portsAt(ip, upper, protocol),
    length,
  };
}

function readIpv6(ip: Buffer, length: number): SampledPacket {
  let next = ip[6] ?? 0;
  let upper = 40;
  while (EXTENSIONS.has(next) && upper + 2 <= ip.length) {
    next = ip[upper] ?? 0;
    upper += ((ip[upper + 1] ?? 0) + 1) * 8;
  }
  return {
    source: addressAt(ip, 8, 6),
    destination: addressAt(ip, 24, 6),
    protocol: next,
    ...portsAt(ip, upper, next),
    length,
  };
}

function addressAt(ip: Buffer, at: number, family: 4 | 6): string {
  const bytes = ip.subarray(at, at + (family === 4 ? 4 : 16));
  return formatAddress({ family, value: BigInt(`0x${bytes.toString('hex')}`) });
}

function portsAt(
  ip: Buffer,
  at: number,
  protocol: number,
): Pick<SampledPacket, 'sourcePort' | 'destinationPort'> {
  if (!WITH_PORTS.has(protocol) || at + 4 > ip.length) {
    return { sourcePort: null, destinationPort: null };
  }
  return { sourcePort: ip.readUInt16BE(at), destinationPort: ip.readUInt16BE(at + 2) };
}
