import type { FragmentPart } from './vectors.ts';

/**
 * An exported flow: packets in one direction, in any format. A decoder reuses one record, so a receiver that keeps it
 * must copy it.
 */
export interface FlowRecord {
  family: 4 | 6;
  /** Four words of 32 bits, the most significant first; an IPv4 address is the last one. */
  readonly source: Uint32Array;
  readonly destination: Uint32Array;
  /** The IP protocol number. */
  protocol: number;
  /** 0 if the protocol has no ports or they were not exported. */
  sourcePort: number;
  destinationPort: number;
  /** The union of the TCP flags of all packets. */
  tcpFlags: number;
  part: FragmentPart;
  /** -1 if not exported. */
  icmpType: number;
  /** Estimates: the sampled number times `samplingRate`. */
  packets: number;
  /** Bytes of IP packets with their headers. */
  bytes: number;
  /** One in this many packets was sampled; 1 means all. Determines the error bounds. */
  samplingRate: number;
  /** The age of the last packet in milliseconds; negative within the uncertainty; 0 if not exported. */
  agoMs: number;
  /** The time between the first and the last packet. */
  durationMs: number;
  /** The number of the observer. Several exporters may see the same packets, and one exporter may see them twice. */
  observer: number;
}

export type Emit = (record: FlowRecord) => void;

/** One packet in 16 million. No device samples less, and one forged record would be a flood. */
export const MAX_SAMPLING_RATE = 0x1000000;

/** A larger age is a wrong timestamp. */
const MAX_AGO_MS = 3_600_000;
/** Export times have a resolution of seconds, so times in milliseconds may be ahead of them by this. */
const MAX_AHEAD_MS = 1_000;
/** Longer flows are exported in parts. */
const MAX_DURATION_MS = 86_400_000;

export function createRecord(): FlowRecord {
  return {
    family: 4,
    source: new Uint32Array(4),
    destination: new Uint32Array(4),
    protocol: 0,
    sourcePort: 0,
    destinationPort: 0,
    tcpFlags: 0,
    part: 0,
    icmpType: -1,
    packets: 0,
    bytes: 0,
    samplingRate: 1,
    agoMs: 0,
    durationMs: 0,
    observer: 0,
  };
}

export function clearRecord(record: FlowRecord): void {
  record.source.fill(0);
  record.destination.fill(0);
  record.protocol = 0;
  record.sourcePort = 0;
  record.destinationPort = 0;
  record.tcpFlags = 0;
  record.part = 0;
  record.icmpType = -1;
}

/** Half of an IPv4-mapped address. RFC 4291 section 2.5.5.2. */
const MAPPED_WORD = 0xffff;

/** Turns IPv4-mapped addresses (::ffff:192.0.2.1) into the IPv4 addresses that they stand for. */
export function unmapAddresses(record: FlowRecord): void {
  const { family, source, destination } = record;
  if (family !== 6 || destination[2] !== MAPPED_WORD || !isMappedOrShort(destination)) return;
  // The source may have come in a field of IPv4, or not at all.
  if (!isMappedOrShort(source)) return;
  record.family = 4;
  source[2] = destination[2] = 0;
}

function isMappedOrShort(words: Uint32Array): boolean {
  return words[0] === 0 && words[1] === 0 && (words[2] === MAPPED_WORD || words[2] === 0);
}

/** `agoMs`: before the datagram was sent, by the exporter's clock. `delayMs`: since then. */
export function setTimes(
  record: FlowRecord,
  agoMs: number,
  durationMs: number,
  delayMs: number,
): void {
  record.agoMs = (agoMs >= -MAX_AHEAD_MS && agoMs <= MAX_AGO_MS ? agoMs : 0) + delayMs;
  record.durationMs = durationMs > 0 && durationMs <= MAX_DURATION_MS ? durationMs : 0;
}
