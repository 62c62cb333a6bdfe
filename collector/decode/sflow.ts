import { readWords, u32 } from '@portcullis/core/net/bytes.ts';
import type { Arrival, Exporter } from '../exporter/exporter.ts';
import { clearRecord, type FlowRecord, setTimes } from '@portcullis/core/attacks/flow-record.ts';
import { type Direction, EGRESS, INGRESS, UNREPORTED } from '../exporter/interfaces.ts';
import { ETHERNET, MPLS, RAW_IP, readPacket } from '@portcullis/core/net/packet-header.ts';

/**
 * sFlow version 5: reads flow samples, plain and expanded, by their raw packet header or else by the decoded fields.
 * Source: sflow.org, sflow_version_5.txt.
 */
const FLOW_SAMPLE = 1;
const EXPANDED_FLOW_SAMPLE = 3;
const RAW_HEADER = 1;
const SAMPLED_IPV4 = 3;
const SAMPLED_IPV6 = 4;
/** Interface numbers for an unknown interface and for the agent itself. */
const NO_INTERFACE = 0x3fffffff;
const INTERNAL = 0xffffffff;
/** Two format bits mark dropped packets and several egress interfaces. */
const UNKNOWN_OUTPUT = 0xffffffff;
/** The supported header protocols of raw packet headers. */
const FIRST_HEADERS = new Map([
  [1, ETHERNET],
  [11, RAW_IP],
  [12, RAW_IP],
  [13, MPLS],
] as const);

export function decodeSflow(bytes: Uint8Array, arrival: Arrival): boolean {
  const agentBytes = u32(bytes, 4) === 1 ? 4 : u32(bytes, 4) === 2 ? 16 : 0;
  let at = 8 + agentBytes;
  if (agentBytes === 0 || at + 16 > bytes.length) return false;
  const subAgent = u32(bytes, at);
  const agent = agentBytes === 4 ? u32(bytes, 8) : u32(bytes, 20);
  const { exporter, port, nowMs } = arrival;
  const stream = `${port}/${agent}/${subAgent}`;
  exporter.sequences.note(stream, u32(bytes, at + 4), 1);
  const { delayMs } = exporter.clock.read(stream, nowMs, u32(bytes, at + 8));
  const agoMs = delayMs + exporter.pace.lagOf(stream, nowMs - delayMs);
  const samples = u32(bytes, at + 12);
  at += 16;
  let isWhole = true;
  for (let index = 0; index < samples; index++) {
    if (at + 8 > bytes.length) return false;
    const format = u32(bytes, at);
    const end = at + 8 + u32(bytes, at + 4);
    if (end > bytes.length) return false;
    const known = format === FLOW_SAMPLE || format === EXPANDED_FLOW_SAMPLE;
    const expanded = format === EXPANDED_FLOW_SAMPLE;
    // A damaged sample costs itself only.
    if (known && !readSample(bytes, at + 8, end, expanded, arrival, agoMs)) isWhole = false;
    at = end;
  }
  return isWhole;
}

/** Expanded samples have longer interface numbers, so their counters follow later. */
function readSample(
  bytes: Uint8Array,
  begin: number,
  end: number,
  expanded: boolean,
  arrival: Arrival,
  agoMs: number,
): boolean {
  const head = expanded ? 44 : 32;
  if (begin + head > end) return false;
  const { exporter } = arrival;
  const rateAt = begin + (expanded ? 12 : 8);
  const { record } = exporter;
  noteDrops(exporter, u32(bytes, rateAt + 8));
  const rate = exporter.rate(u32(bytes, rateAt));
  const records = u32(bytes, begin + head - 4);
  let at = begin + head;
  let found = false;
  for (let index = 0; index < records; index++) {
    if (at + 8 > end) return false;
    const next = at + 8 + u32(bytes, at + 4);
    if (next > end) return false;
    // A sample is one packet, whatever the number of its records.
    found ||= readFlow(bytes, u32(bytes, at), at + 8, next, record);
    at = next;
  }
  if (!found) return true;
  record.packets = rate;
  record.bytes *= rate;
  record.samplingRate = rate;
  setTimes(record, agoMs, 0, 0);
  const { direction, input } = expanded ? expandedSides(bytes, begin) : sides(bytes, begin);
  exporter.pass(record, arrival, direction, input);
  return true;
}

/** The side of the switch on which the packet was sampled: ingress or egress. */
interface Sides {
  readonly direction: Direction;
  readonly input: number;
}

/** Plain samples: source type and index share a word, and so do format and number of an interface. */
function sides(bytes: Uint8Array, begin: number): Sides {
  const source = u32(bytes, begin + 4);
  const input = u32(bytes, begin + 20);
  const output = u32(bytes, begin + 24);
  return sidesOf(source >>> 24, source & 0xffffff, input >>> 30, input & NO_INTERFACE, output);
}

function expandedSides(bytes: Uint8Array, begin: number): Sides {
  const output = u32(bytes, begin + 32) === 0 ? u32(bytes, begin + 36) : UNKNOWN_OUTPUT;
  const inputFormat = u32(bytes, begin + 24);
  const at = u32(bytes, begin + 28);
  return sidesOf(u32(bytes, begin + 4), u32(bytes, begin + 8), inputFormat, at, output);
}

/** A source of type 0 is one of the packet's two interfaces. */
function sidesOf(
  type: number,
  source: number,
  inputFormat: number,
  inputNumber: number,
  output: number,
): Sides {
  const isKnown = inputFormat === 0 && inputNumber !== NO_INTERFACE && inputNumber !== INTERNAL;
  const input = isKnown ? inputNumber : 0;
  if (type !== 0 || source === 0) return { direction: UNREPORTED, input };
  if (source === input) return { direction: INGRESS, input };
  return { direction: source === output ? EGRESS : UNREPORTED, input };
}

/** Cumulative per data source; the largest value of each is kept. */
function noteDrops(exporter: Exporter, drops: number): void {
  if (drops > exporter.counters.agentDrops) exporter.counters.agentDrops = drops;
}

function readFlow(
  bytes: Uint8Array,
  format: number,
  at: number,
  end: number,
  record: FlowRecord,
): boolean {
  if (format === RAW_HEADER) return readRawHeader(bytes, at, end, record);
  if (format !== SAMPLED_IPV4 && format !== SAMPLED_IPV6) return false;
  const wide = format === SAMPLED_IPV6;
  const ports = at + (wide ? 40 : 16);
  if (ports + 12 > end) return false;
  clearRecord(record);
  record.family = wide ? 6 : 4;
  record.bytes = u32(bytes, at);
  record.protocol = u32(bytes, at + 4) & 255;
  if (wide) {
    readWords(bytes, at + 8, record.source);
    readWords(bytes, at + 24, record.destination);
  } else {
    record.source[3] = u32(bytes, at + 8);
    record.destination[3] = u32(bytes, at + 12);
  }
  record.sourcePort = u32(bytes, ports) & 0xffff;
  record.destinationPort = u32(bytes, ports + 4) & 0xffff;
  record.tcpFlags = u32(bytes, ports + 8) & 255;
  return true;
}

function readRawHeader(bytes: Uint8Array, at: number, end: number, record: FlowRecord): boolean {
  if (at + 16 > end) return false;
  const first = FIRST_HEADERS.get(u32(bytes, at) as 1 | 11 | 12 | 13);
  const headerBytes = u32(bytes, at + 12);
  if (first === undefined || at + 16 + headerBytes > end) return false;
  clearRecord(record);
  // `stripped` counts bytes that the agent removed from the end (and sometimes the start) before sampling.
  const frameBytes = Math.max(0, u32(bytes, at + 4) - u32(bytes, at + 8));
  return readPacket(bytes, at + 16, at + 16 + headerBytes, first, frameBytes, record);
}
