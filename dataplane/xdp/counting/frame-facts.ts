import { type Cidr } from '@portcullis/core/net/cidr.ts';

/** The fields that early-drop.bpf.c reads from a frame. */
export interface FrameFacts {
  /** VLAN tags, from the outer to the inner. */
  readonly tags: readonly number[];
  readonly source: Cidr;
  readonly destination: Cidr;
  readonly protocol: number;
  /** Null for protocols other than TCP and UDP. */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** The type of ICMP or ICMPv6. */
  readonly icmp: number | null;
  /** TCP flags. */
  readonly flags: number;
  /** The payload of a UDP datagram; null if it is cut off. */
  readonly payload: Buffer | null;
  /** The offset of the IP header. */
  readonly ip: number;
}

const ETHERTYPES: Readonly<Record<number, 4 | 6>> = { 0x0800: 4, 0x86dd: 6 };
const TAGGED = new Set([0x8100, 0x88a8]);
const SKIPPED = new Set([0, 43, 60]);
const UNREADABLE = new Set([0, 43, 60, 44, 51, 59, 135, 139, 140]);
const MAX_EXTENSIONS = 6;

/** Returns null for a frame that the programs pass unread. */
export function readFacts(frame: Buffer): FrameFacts | null {
  const tags: number[] = [];
  let at = 14;
  while (tags.length < 2 && at + 4 <= frame.length && TAGGED.has(frame.readUInt16BE(at - 2))) {
    tags.push(frame.readUInt16BE(at) & 0xfff);
    at += 4;
  }
  if (frame.length < at) return null;
  const family = ETHERTYPES[frame.readUInt16BE(at - 2)];
  const ip = frame.subarray(at);
  const upper = family === 4 ? upper4(ip) : family === 6 ? upper6(ip) : null;
  const fields = upper === null ? null : upperFields(ip.subarray(upper.at), upper.protocol);
  if (family === undefined || upper === null || fields === null) return null;
  const [source, destination] = family === 4 ? [12, 16] : [8, 24];
  return {
    tags,
    source: addressAt(ip, source, family),
    destination: addressAt(ip, destination, family),
    protocol: upper.protocol,
    ...fields,
    ip: at,
  };
}

interface Upper {
  readonly protocol: number;
  readonly at: number;
}

function upper4(ip: Buffer): Upper | null {
  const first = ip[0] ?? 0;
  const at = (first & 15) * 4;
  if (ip.length < 20 || first >> 4 !== 4 || at < 20) return null;
  if ((ip.readUInt16BE(6) & 0x3fff) !== 0) return null;
  return { protocol: ip[9] ?? 0, at };
}

function upper6(ip: Buffer): Upper | null {
  if (ip.length < 40 || (ip[0] ?? 0) >> 4 !== 6) return null;
  let protocol = ip[6] ?? 0;
  let at = 40;
  for (let count = 0; count < MAX_EXTENSIONS && SKIPPED.has(protocol); count++) {
    if (ip.length < at + 8) return null;
    protocol = ip[at] ?? 0;
    at += ((ip[at + 1] ?? 0) + 1) * 8;
  }
  return UNREADABLE.has(protocol) ? null : { protocol, at };
}

function upperFields(
  upper: Buffer,
  protocol: number,
): Pick<FrameFacts, 'sourcePort' | 'destinationPort' | 'icmp' | 'flags' | 'payload'> | null {
  const none = { sourcePort: null, destinationPort: null, icmp: null, flags: 0, payload: null };
  if (protocol === 1 || protocol === 58) {
    return upper.length < 8 ? null : { ...none, icmp: upper[0] ?? 0 };
  }
  if (protocol !== 6 && protocol !== 17) return none;
  if (upper.length < (protocol === 6 ? 20 : 8)) return null;
  return {
    sourcePort: upper.readUInt16BE(0),
    destinationPort: upper.readUInt16BE(2),
    icmp: null,
    flags: protocol === 6 ? (upper[13] ?? 0) : 0,
    payload: protocol === 17 ? payloadOf(upper) : null,
  };
}

function payloadOf(udp: Buffer): Buffer | null {
  const end = Math.max(8, udp.readUInt16BE(4));
  return end > udp.length ? null : udp.subarray(8, end);
}

function addressAt(ip: Buffer, at: number, family: 4 | 6): Cidr {
  const bytes = ip.subarray(at, at + (family === 4 ? 4 : 16));
  const value = BigInt(`0x${bytes.toString('hex')}`);
  return { family, value, length: family === 4 ? 32 : 128 };
}
