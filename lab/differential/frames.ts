import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { FLAGS } from './segments.ts';

/**
 * Ethernet frames of packets. The source MAC is the packet's number: every part of a datagram carries it,
 * whatever the protocol, and nothing that judges looks at it.
 */
export interface Numbered {
  readonly id: number;
  /** The facts that a verdict may depend on. */
  readonly packet: Packet;
  readonly form: Form;
  /** The payload that the upper layer carries. A filter may read it. */
  readonly payload: Buffer;
}

/** How a packet is put on the wire, which changes no verdict but for the device that it enters by. */
export interface Form {
  /** Cut into parts on the wire, for the edge to put together: in order, or the last one first. */
  readonly cut: 'whole' | 'cut' | 'reversed';
  /** The number of the tag; null: untagged. A tag of 0 is a priority without a VLAN. */
  readonly vlan: number | null;
  /** IPv6 extension headers, in the order that they stand in. An IPv4 packet has options for each. */
  readonly extensions: readonly Extension[];
  /**
   * The flags of TCP. No rule asks for them, so every segment is judged alike, until a SYN proxy stands in front of a
   * port.
   */
  readonly flags: number;
  /** The sequence of TCP: what it sends begins here, and what it has got ends here. */
  readonly sequence: number;
  readonly acknowledged: number;
}

/**
 * The last is a part of what is cut, the others stand before a fragment header. Authentication (51) is none:
 * as in IPv4, it is a protocol of its own to whoever cannot check it.
 */
export const EXTENSIONS = ['hop-by-hop', 'routing', 'destination'] as const;
export type Extension = (typeof EXTENSIONS)[number];

export const PLAIN: Form = {
  cut: 'whole',
  vlan: null,
  extensions: [],
  flags: FLAGS.syn,
  sequence: 0,
  acknowledged: 0,
};

const ETHERTYPE: Readonly<Record<Family, number>> = { 4: 0x0800, 6: 0x86dd };
const VLAN = 0x8100;
const EXTENSION_HEADERS: Readonly<Record<Extension, number>> = {
  'hop-by-hop': 0,
  routing: 43,
  destination: 60,
};
const FRAGMENT_HEADER = 44;
const TCP = 6;
/** More than one part of 8 bytes, and the ports in the first. */
export const PAYLOAD = Buffer.alloc(48, 0x2e);
const CUT_AT = 32;

export function macOf(id: number): string {
  return [0x02, 0x00, id >>> 24, (id >>> 16) & 255, (id >>> 8) & 255, id & 255]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(':');
}

/** One frame, or several where the packet is cut. `to`: MAC of the edge. */
export function framesOf(numbered: Numbered, to: string): Buffer[] {
  const { id, packet, form } = numbered;
  const ethernet = Buffer.from(`${to}:${macOf(id)}`.replaceAll(':', ''), 'hex');
  const tag = form.vlan === null ? [] : [VLAN, form.vlan];
  const types = Buffer.from([...tag, ETHERTYPE[packet.family]].flatMap((one) => [one >> 8, one]));
  const build = packet.family === 4 ? ipv4 : ipv6;
  return partsOf(numbered).map((part) => Buffer.concat([ethernet, types, build(numbered, part)]));
}

interface Part {
  readonly data: Buffer;
  readonly offset: number;
  readonly more: boolean;
  /** Protocol of the first header in what is cut. */
  readonly protocol: number;
}

function partsOf({ packet, form, payload }: Numbered): Part[] {
  const { data, protocol } = fragmentable(packet, form, payload);
  const first = { data: data.subarray(0, CUT_AT), offset: 0, more: true, protocol };
  const rest = { data: data.subarray(CUT_AT), offset: CUT_AT, more: false, protocol };
  // A fragment of a datagram whose other parts never come.
  if (packet.fragment === 'first') return [first];
  if (packet.fragment === 'later') return [{ ...rest, more: true, data: alignedTo8(rest.data) }];
  if (form.cut === 'whole') return [{ data, offset: 0, more: false, protocol }];
  return form.cut === 'cut' ? [first, rest] : [rest, first];
}

function alignedTo8(data: Buffer): Buffer {
  return data.subarray(0, data.length & ~7);
}

function fragmentable(
  packet: Packet,
  form: Form,
  payload: Buffer,
): { data: Buffer; protocol: number } {
  const upper = { data: upperLayer(packet, form, payload), protocol: packet.protocol };
  if (packet.family === 4) return upper;
  return behind(form.extensions.filter(isFragmentable), upper);
}

function isFragmentable(extension: Extension): boolean {
  return extension === 'destination';
}

/** The protocol of the first header that is cut: what a later fragment says of the protocol. */
export function firstProtocol({ family, protocol }: Packet, { extensions }: Form): number {
  const [first] = family === 4 ? [] : extensions.filter(isFragmentable);
  return first === undefined ? protocol : EXTENSION_HEADERS[first];
}

/** Headers in front of what they lead to. */
function behind(
  extensions: readonly Extension[],
  upper: { readonly data: Buffer; readonly protocol: number },
): { data: Buffer; protocol: number } {
  let { data, protocol } = upper;
  for (const extension of extensions.toReversed()) {
    data = Buffer.concat([extensionHeader(extension, protocol), data]);
    protocol = EXTENSION_HEADERS[extension];
  }
  return { data, protocol };
}

/** 8 bytes: options that are padding, or a used-up route. */
function extensionHeader(extension: Extension, next: number): Buffer {
  if (extension === 'routing') return Buffer.from([next, 0, 4, 0, 0, 0, 0, 0]);
  return Buffer.from([next, 0, 1, 4, 0, 0, 0, 0]);
}

function upperLayer(packet: Packet, form: Form, payload: Buffer): Buffer {
  if (packet.icmp !== null) {
    const { type, code } = packet.icmp;
    return Buffer.concat([Buffer.from([type, code, 0, 0, 0, 77, 0, 1]), payload]);
  }
  if (packet.destinationPort === null) return payload;
  if (packet.protocol === TCP) return segment(packet, form, payload);
  const header = Buffer.alloc(8);
  header.writeUInt16BE(packet.sourcePort ?? 0, 0);
  header.writeUInt16BE(packet.destinationPort, 2);
  header.writeUInt16BE(8 + payload.length, 4);
  return Buffer.concat([header, payload]);
}

/** With its checksum, that the SYN proxy looks at; nothing else that judges does. */
function segment(
  { source, destination, sourcePort, destinationPort }: Packet,
  form: Form,
  payload: Buffer,
): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt16BE(sourcePort ?? 0, 0);
  header.writeUInt16BE(destinationPort ?? 0, 2);
  header.writeUInt32BE(form.sequence, 4);
  header.writeUInt32BE(form.acknowledged, 8);
  header[12] = 5 << 4;
  header[13] = form.flags;
  const data = Buffer.concat([header, payload]);
  const pseudo = Buffer.from([0, TCP, data.length >> 8, data.length & 255]);
  const summed = [addressBytes(source), addressBytes(destination), pseudo, data];
  data.writeUInt16BE(checksum(Buffer.concat(summed)), 16);
  return data;
}

function ipv4({ packet, form, id }: Numbered, { data, offset, more }: Part): Buffer {
  // No operation, four times for each.
  const options = Buffer.alloc(form.extensions.length * 4, 1);
  const header = Buffer.concat([Buffer.alloc(20), options]);
  header[0] = 0x40 | (header.length / 4);
  header.writeUInt16BE(header.length + data.length, 2);
  header.writeUInt16BE(id & 0xffff, 4);
  header.writeUInt16BE((more ? 0x2000 : 0) | (offset >> 3), 6);
  header[8] = packet.hopLimit;
  header[9] = packet.protocol;
  addressBytes(packet.source).copy(header, 12);
  addressBytes(packet.destination).copy(header, 16);
  header.writeUInt16BE(checksum(header), 10);
  return Buffer.concat([header, data]);
}

function ipv6({ packet, form, id }: Numbered, part: Part): Buffer {
  const unfragmented = form.extensions.filter((extension) => !isFragmentable(extension));
  const whole = !part.more && part.offset === 0;
  const { data, protocol } = behind(unfragmented, whole ? part : withFragmentHeader(part, id));
  const header = Buffer.alloc(40);
  header[0] = 0x60;
  header.writeUInt16BE(data.length, 4);
  header[6] = protocol;
  header[7] = packet.hopLimit;
  addressBytes(packet.source).copy(header, 8);
  addressBytes(packet.destination).copy(header, 24);
  return Buffer.concat([header, data]);
}

function withFragmentHeader({ data, offset, more, protocol }: Part, id: number) {
  const header = Buffer.alloc(8);
  header[0] = protocol;
  header.writeUInt16BE(offset | (more ? 1 : 0), 2);
  header.writeUInt32BE(id, 4);
  return { data: Buffer.concat([header, data]), protocol: FRAGMENT_HEADER };
}

function addressBytes(text: string): Buffer {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.reason);
  const { family, value } = address.value;
  return Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex');
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at % 2 === 0 ? byte << 8 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}
