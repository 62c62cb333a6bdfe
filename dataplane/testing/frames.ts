import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { addressBytes } from '../xdp/maps/layout.ts';

/** Properties of a frame besides its packet. */
export interface FrameOptions {
  /** VLAN tags, from the outer to the inner. */
  readonly tags?: readonly number[];
  /** IPv6 extension headers before the upper layer: 0, 43 or 60, eight bytes each. */
  readonly extensions?: readonly number[];
  /** TCP flags; SYN by default. */
  readonly flags?: number;
  readonly payload?: Buffer;
  /** Truncates the frame, whatever its headers say. */
  readonly cutAt?: number;
}

const MACS = Buffer.from('020000000001020000000002', 'hex');
const SYN = 2;

/** An unfragmented datagram. */
export function udpPacket(
  source: string,
  destination: string,
  destinationPort: number,
  sourcePort = 40_000,
): Packet {
  return {
    family: source.includes(':') ? 6 : 4,
    source,
    destination,
    protocol: 17,
    sourcePort,
    destinationPort,
    icmp: null,
    hopLimit: 64,
    fragment: 'none',
  };
}

/** An Ethernet frame of a packet, without checksums, which nothing reads. */
export function frameOf(packet: Packet, options: FrameOptions = {}): Buffer {
  const tags = (options.tags ?? []).flatMap((tag) => [u16(0x8100), u16(tag)]);
  const type = u16(packet.family === 4 ? 0x0800 : 0x86dd);
  const upper = upperLayer(packet, options);
  const ip = packet.family === 4 ? ipv4(packet, upper) : ipv6(packet, upper, options);
  const frame = Buffer.concat([MACS, ...tags, type, ip, upper]);
  return frame.subarray(0, options.cutAt ?? frame.length);
}

function upperLayer(packet: Packet, { flags = SYN, payload = Buffer.alloc(16) }: FrameOptions) {
  if (packet.fragment === 'later') return Buffer.alloc(32);
  if (packet.icmp !== null) {
    return Buffer.concat([Buffer.from([packet.icmp.type, packet.icmp.code]), Buffer.alloc(22)]);
  }
  if (packet.sourcePort === null || packet.destinationPort === null) return Buffer.alloc(24);
  const ports = Buffer.concat([u16(packet.sourcePort), u16(packet.destinationPort)]);
  if (packet.protocol !== 6) {
    return Buffer.concat([ports, u16(8 + payload.length), u16(0), payload]);
  }
  const rest = Buffer.alloc(16);
  rest[8] = 0x50;
  rest[9] = flags;
  return Buffer.concat([ports, rest, payload]);
}

function ipv4(packet: Packet, upper: Buffer): Buffer {
  const header = Buffer.alloc(20);
  header[0] = 0x45;
  header.writeUInt16BE(20 + upper.length, 2);
  header.writeUInt16BE({ none: 0, first: 0x2000, later: 0x2003 }[packet.fragment], 6);
  header[8] = packet.hopLimit;
  header[9] = packet.protocol;
  bytesOf(packet.source).copy(header, 12);
  bytesOf(packet.destination).copy(header, 16);
  return header;
}

function ipv6(packet: Packet, upper: Buffer, { extensions = [] }: FrameOptions): Buffer {
  const types = [...extensions, ...(packet.fragment === 'none' ? [] : [44]), packet.protocol];
  const headers = types.slice(0, -1).map((type, index) => {
    const next = types[index + 1] ?? 59;
    if (type !== 44) return Buffer.from([next, 0, 1, 4, 0, 0, 0, 0]);
    const offset = packet.fragment === 'first' ? 1 : (3 << 3) | 1;
    return Buffer.concat([Buffer.from([next, 0]), u16(offset), Buffer.alloc(4, 7)]);
  });
  const header = Buffer.alloc(40);
  header[0] = 0x60;
  header.writeUInt16BE(headers.length * 8 + upper.length, 4);
  header[6] = types[0] ?? 59;
  header[7] = packet.hopLimit;
  bytesOf(packet.source).copy(header, 8);
  bytesOf(packet.destination).copy(header, 24);
  return Buffer.concat([header, ...headers]);
}

function bytesOf(address: string): Buffer {
  const parsed = parseAddress(address);
  if (!parsed.ok) throw new Error(parsed.reason);
  const { family, value } = parsed.value;
  return addressBytes({ family, value });
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
