import { readWords, u16, u32 } from './bytes.ts';
import type { FlowRecord } from '../attacks/flow-record.ts';

/** The first protocol of a sampled header. */
export const ETHERNET = 0;
export const RAW_IP = 1;
export const MPLS = 2;
export type FirstHeader = typeof ETHERNET | typeof RAW_IP | typeof MPLS;

const NO_PACKET = -1;
/** The search stops at this depth of headers. */
const MAX_TAGS = 4;
const MAX_LABELS = 16;
const MAX_EXTENSIONS = 8;

const TYPE_IPV4 = 0x0800;
const TYPE_IPV6 = 0x86dd;

/**
 * Reads the start of a sampled packet into a cleared record: addresses, protocol, ports, flags, fragment and the length
 * of the IP packet. Skips VLAN tags, MPLS label stacks, Ethernet pseudowires and PPPoE. `frameBytes` is the length of the whole frame, used
 * if the IP header has no length (large offloaded packets). Returns false if there is no IP packet.
 */
export function readPacket(
  bytes: Uint8Array,
  begin: number,
  end: number,
  first: FirstHeader,
  frameBytes: number,
  record: FlowRecord,
): boolean {
  const at = afterLink(bytes, begin, end, first);
  if (at < 0 || at >= end) return false;
  const version = (bytes[at] as number) >> 4;
  const statedBytes =
    version === 4
      ? readIpv4(bytes, at, end, record)
      : version === 6
        ? readIpv6(bytes, at, end, record)
        : NO_PACKET;
  record.bytes = statedBytes > 0 ? statedBytes : Math.max(0, frameBytes - (at - begin));
  return statedBytes !== NO_PACKET;
}

function afterLink(bytes: Uint8Array, begin: number, end: number, first: FirstHeader): number {
  if (first === RAW_IP) return begin;
  return first === MPLS
    ? afterLabels(bytes, begin, end, true)
    : afterEthernet(bytes, begin, end, true);
}

/** `outer`: the frame is not inside a pseudowire, so it may contain one. */
function afterEthernet(bytes: Uint8Array, begin: number, end: number, outer: boolean): number {
  let at = begin + 12;
  for (let tags = 0; tags <= MAX_TAGS; tags++) {
    if (at + 2 > end) return NO_PACKET;
    const type = u16(bytes, at);
    at += 2;
    if (type === TYPE_IPV4 || type === TYPE_IPV6) return at;
    // 802.1Q, 802.1ad, and the value that older switches use for the outer tag.
    if (type === 0x8100 || type === 0x88a8 || type === 0x9100 || type === 0x9200) at += 2;
    else if (type === 0x8847 || type === 0x8848) return afterLabels(bytes, at, end, outer);
    else if (type === 0x8864) return afterPppoe(bytes, at, end);
    else return NO_PACKET;
  }
  return NO_PACKET;
}

/** RFC 3032. After the stack comes an IP packet, or an Ethernet frame if the labels are those of a pseudowire. */
function afterLabels(bytes: Uint8Array, begin: number, end: number, outer: boolean): number {
  for (let label = 0; label < MAX_LABELS; label++) {
    const at = begin + 4 * label;
    if (at + 4 > end) return NO_PACKET;
    if (((bytes[at + 2] as number) & 1) === 0) continue;
    const payload = at + 4;
    if (isIp(bytes, payload, end) || !outer) return payload;
    return afterPseudowire(bytes, payload, end);
  }
  return NO_PACKET;
}

/** RFC 4448: an Ethernet frame, usually after a control word (RFC 4385), whose first four bits are 0. */
function afterPseudowire(bytes: Uint8Array, at: number, end: number): number {
  const hasControlWord = at < end && (bytes[at] as number) >> 4 === 0;
  const behindWord = hasControlWord ? afterEthernet(bytes, at + 4, end, false) : NO_PACKET;
  return isIp(bytes, behindWord, end) ? behindWord : afterEthernet(bytes, at, end, false);
}

function isIp(bytes: Uint8Array, at: number, end: number): boolean {
  if (at < 0 || at >= end) return false;
  const version = (bytes[at] as number) >> 4;
  return version === 4 || version === 6;
}

/** RFC 2516: six bytes, then the protocol of PPP. */
function afterPppoe(bytes: Uint8Array, at: number, end: number): number {
  if (at + 8 > end) return NO_PACKET;
  const protocol = u16(bytes, at + 6);
  return protocol === 0x0021 || protocol === 0x0057 ? at + 8 : NO_PACKET;
}

function readIpv4(bytes: Uint8Array, at: number, end: number, record: FlowRecord): number {
  if (at + 20 > end) return NO_PACKET;
  const headerBytes = ((bytes[at] as number) & 15) * 4;
  if (headerBytes < 20) return NO_PACKET;
  record.family = 4;
  record.source[3] = u32(bytes, at + 12);
  record.destination[3] = u32(bytes, at + 16);
  const fragment = u16(bytes, at + 6);
  if ((fragment & 0x1fff) !== 0) record.part = 2;
  else if ((fragment & 0x2000) !== 0) record.part = 1;
  readTransport(bytes, at + headerBytes, end, bytes[at + 9] as number, record);
  return u16(bytes, at + 2);
}

function readIpv6(bytes: Uint8Array, at: number, end: number, record: FlowRecord): number {
  if (at + 40 > end) return NO_PACKET;
  record.family = 6;
  readWords(bytes, at + 8, record.source);
  readWords(bytes, at + 24, record.destination);
  const payloadBytes = u16(bytes, at + 4);
  let next = bytes[at + 6] as number;
  let position = at + 40;
  for (let headers = 0; headers < MAX_EXTENSIONS && position + 8 <= end; headers++) {
    if (next === 44) {
      const fragment = u16(bytes, position + 2);
      record.part = fragment >> 3 !== 0 ? 2 : (fragment & 1) !== 0 ? 1 : 0;
    } else if (next !== 0 && next !== 43 && next !== 60) break;
    const length = next === 44 ? 8 : ((bytes[position + 1] as number) + 1) * 8;
    next = bytes[position] as number;
    position += length;
    if (record.part === 2) break;
  }
  readTransport(bytes, position, end, next, record);
  return payloadBytes === 0 ? 0 : payloadBytes + 40;
}

/** Fields beyond the sampled bytes stay empty; a later fragment has no ports. */
function readTransport(
  bytes: Uint8Array,
  at: number,
  end: number,
  protocol: number,
  record: FlowRecord,
): void {
  record.protocol = protocol;
  if (record.part === 2) return;
  if (protocol === 1 || protocol === 58) {
    if (at < end) record.icmpType = bytes[at] as number;
    return;
  }
  const hasPorts = protocol === 6 || protocol === 17 || protocol === 132 || protocol === 136;
  if (!hasPorts || at + 4 > end) return;
  record.sourcePort = u16(bytes, at);
  record.destinationPort = u16(bytes, at + 2);
  if (protocol === 6 && at + 14 <= end) record.tcpFlags = bytes[at + 13] as number;
}
