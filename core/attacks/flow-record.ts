import type { FragmentPart } from './vectors.ts';

/**
 * What a router or switch told of some packets that went one way, whatever format it speaks.
 *
 * A decoder fills one record and hands it on again and again: who wants to keep it copies it.
 */
export interface FlowRecord {
  family: 4 | 6;
  /** Four words of 32 bits, the most significant first; an IPv4 address is the last one. */
  readonly source: Uint32Array;
  readonly destination: Uint32Array;
  /** Number of the IP protocol. */
  protocol: number;
  /** 0 where the protocol has no ports or they were not told. */
  sourcePort: number;
  destinationPort: number;
  /** Flags of all the packets together. */
  tcpFlags: number;
  part: FragmentPart;
  /** -1 where it was not told. */
  icmpType: number;
  /** Estimates: what was seen, multiplied by `samplingRate`. */
  packets: number;
  /** Of IP packets, their headers included. */
  bytes: number;
  /** One packet in so many was looked at; 1: all of them. What error bounds are made from. */
  samplingRate: number;
  /** How long ago the last of the packets was, milliseconds; below 0 by as much as nobody can tell; 0: not told. */
  agoMs: number;
  /** How long before the last the first was. */
  durationMs: number;
  /** Who saw the packets, by a number: exporters see the same ones, and an exporter may see them twice. */
  observer: number;
}

export type Emit = (record: FlowRecord) => void;

/** More than one packet in 16 million: nobody samples so thinly, and one forged record would be a flood. */
export const MAX_SAMPLING_RATE = 0x1000000;

/** No exporter keeps what it knows for longer: it tells a wrong time. */
const MAX_AGO_MS = 3_600_000;
/** Times of export are told in seconds: what is told in milliseconds may be that far ahead of them. */
const MAX_AHEAD_MS = 1_000;
/** A flow that goes on for longer is told in between. */
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

/** `agoMs` before the datagram was sent, by differences of the exporter's own clock; `delayMs`: since then. */
export function setTimes(
  record: FlowRecord,
  agoMs: number,
  durationMs: number,
  delayMs: number,
): void {
  record.agoMs = (agoMs >= -MAX_AHEAD_MS && agoMs <= MAX_AGO_MS ? agoMs : 0) + delayMs;
  record.durationMs = durationMs > 0 && durationMs <= MAX_DURATION_MS ? durationMs : 0;
}
