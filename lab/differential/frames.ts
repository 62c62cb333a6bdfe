import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { type Family, parseAddress } from '@portcullis/core/net/address.ts';

/**
 * Ethernet frames of packets. The source MAC is the packet's number: every part of a datagram carries it,
 * whatever the protocol, and nothing that judges looks at it.
 */
export interface Numbered {
  readonly id: number;
  readonly packet: Packet;
  /** Cut into two parts on the wire, for the edge to put together. */
  readonly cut: boolean;
}

const ETHERTYPE: Readonly<Record<Family, number>> = { 4: 0x0800, 6: 0x86dd };
const FRAGMENT_HEADER = 44;
/** More than one part of 8 bytes, and the ports in the first. */
const PAYLOAD = Buffer.alloc(48, 0x2e);
const CUT_AT = 24;
const SYN = 0x02;

export function macOf(id: number): string {
  return [0x02, 0x00, id >>> 24, (id >>> 16) & 255, (id >>> 8) & 255, id & 255]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(':');
}

/** One frame, or two where the packet is cut. `to`: MAC of the edge. */
export function framesOf({ id, packet, cut }: Numbered, to: string): Buffer[] {
  const data = upperLayer(packet);
  const parts: Part[] = cut
    ? [
        { data: data.subarray(0, CUT_AT), offset: 0, more: true },
        { data: data.subarray(CUT_AT), offset: CUT_AT, more: false },
      ]
    : [alone(packet, data)];
  const ethernet = Buffer.from(`${to}:${macOf(id)}`.replaceAll(':', ''), 'hex');
  const type = Buffer.alloc(2);
  type.writeUInt16BE(ETHERTYPE[packet.family]);
  const build = packet.family === 4 ? ipv4 : ipv6;
  return parts.map((part) => Buffer.concat([ethernet, type, build(packet, part, id), part.data]));
}

interface Part {
  readonly data: Buffer;
  readonly offset: number;
  readonly more: boolean;
}

/** A first or later fragment of a datagram whose other parts never come. */
function alone({ fragment }: Packet, data: Buffer): Part {
  const first = data.subarray(0, CUT_AT);
  if (fragment === 'first') return { data: first, offset: 0, more: true };
  if (fragment === 'later') return { data: first, offset: CUT_AT, more: true };
  return { data, offset: 0, more: false };
}

function upperLayer(packet: Packet): Buffer {
  if (packet.icmp !== null) {
    const { type, code } = packet.icmp;
    return Buffer.concat([Buffer.from([type, code, 0, 0, 0, 77, 0, 1]), PAYLOAD]);
  }
  if (packet.destinationPort === null) return PAYLOAD;
  const tcp = packet.protocol === 6;
  const header = Buffer.alloc(tcp ? 20 : 8);
  header.writeUInt16BE(packet.sourcePort ?? 0, 0);
  header.writeUInt16BE(packet.destinationPort, 2);
  if (tcp) {
    header[12] = 5 << 4;
    header[13] = SYN;
  } else header.writeUInt16BE(8 + PAYLOAD.length, 4);
  return Buffer.concat([header, PAYLOAD]);
}

function ipv4(packet: Packet, { data, offset, more }: Part, id: number): Buffer {
  const header = Buffer.alloc(20);
  header[0] = 0x45;
  header.writeUInt16BE(20 + data.length, 2);
  header.writeUInt16BE(id & 0xffff, 4);
  header.writeUInt16BE((more ? 0x2000 : 0) | (offset >> 3), 6);
  header[8] = packet.hopLimit;
  header[9] = packet.protocol;
  addressBytes(packet.source).copy(header, 12);
  addressBytes(packet.destination).copy(header, 16);
  header.writeUInt16BE(checksum(header), 10);
  return header;
}

function ipv6(packet: Packet, { data, offset, more }: Part, id: number): Buffer {
  const fragmented = more || offset > 0;
  const header = Buffer.alloc(40);
  header[0] = 0x60;
  header.writeUInt16BE(data.length + (fragmented ? 8 : 0), 4);
  header[6] = fragmented ? FRAGMENT_HEADER : packet.protocol;
  header[7] = packet.hopLimit;
  addressBytes(packet.source).copy(header, 8);
  addressBytes(packet.destination).copy(header, 24);
  if (!fragmented) return header;
  const fragment = Buffer.alloc(8);
  fragment[0] = packet.protocol;
  fragment.writeUInt16BE(offset | (more ? 1 : 0), 2);
  fragment.writeUInt32BE(id, 4);
  return Buffer.concat([header, fragment]);
}

function addressBytes(text: string): Buffer {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.reason);
  const { family, value } = address.value;
  return Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex');
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < header.length; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}
