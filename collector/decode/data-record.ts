import { readWords, u16, u32, unsigned } from '@portcullis/core/net/bytes.ts';
import { REVERSE } from './counters.ts';
import { FIELD, OTHER_SCOPE, readAs, SKIPPED } from './fields.ts';
import {
  clearRecord,
  type FlowRecord,
  MAX_SAMPLING_RATE,
} from '@portcullis/core/attacks/flow-record.ts';
import { type Direction, EGRESS, INGRESS, UNREPORTED } from '../exporter/interfaces.ts';
import { ETHERNET, RAW_IP, readPacket } from '@portcullis/core/net/packet-header.ts';

/** Fields of a template record that do not go directly into the `FlowRecord`. The object is reused. */
export class Reported {
  packets = 0;
  bytes = 0;
  frameBytes = 0;
  samplingRate = 0;
  sampler: number | null = null;
  /** The scope in options data: a scope such as a line card. */
  scope: number | null = null;
  interval = 1;
  space = -1;
  size = 0;
  population = 0;
  /** The fragment offset in units of 8 bytes; also 0 if absent. */
  fragmentOffset = 0;
  moreFragments = false;
  /** In milliseconds of the exporter's uptime. */
  startUptime = -1;
  endUptime = -1;
  /** Milliseconds before the datagram was sent. */
  startAgoMs = -1;
  endAgoMs = -1;
  startMs = -1;
  endMs = -1;
  durationMs = -1;
  section = 0;
  sectionAt = 0;
  sectionBytes = 0;
  addressed = false;
  direction: Direction = UNREPORTED;
  /** The ingress interface; 0 if absent. */
  input = 0;
  /** The reverse direction of a bidirectional flow (RFC 5103): the packets from the destination to the source. */
  reversePackets = 0;
  reverseBytes = 0;
  reverseTcpFlags = 0;

  clear(): void {
    this.packets = this.bytes = this.frameBytes = 0;
    this.samplingRate = this.size = this.population = this.fragmentOffset = 0;
    this.sampler = this.scope = null;
    this.interval = 1;
    this.space = this.startUptime = this.endUptime = this.startMs = this.endMs = -1;
    this.durationMs = this.startAgoMs = this.endAgoMs = -1;
    this.moreFragments = this.addressed = false;
    this.section = this.sectionAt = this.sectionBytes = this.input = 0;
    this.direction = UNREPORTED;
    this.reversePackets = this.reverseBytes = this.reverseTcpFlags = 0;
  }
}

/** Reads the fields of one record. `variable`: their lengths are of this record, and not checked with its template. */
export function readFields(
  bytes: Uint8Array,
  begin: number,
  fields: Uint16Array,
  offsets: Uint16Array,
  lengths: Uint16Array,
  variable: boolean,
  reported: Reported,
  record: FlowRecord,
): void {
  reported.clear();
  clearRecord(record);
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as number;
    const at = begin + (offsets[index] as number);
    const length = lengths[index] as number;
    if (variable && readAs(field, length) === SKIPPED) continue;
    if (readHeaderField(field, bytes, at, length, reported, record)) continue;
    if (readAddress(field, bytes, at, reported, record)) continue;
    readOtherField(field, bytes, at, length, reported);
  }
  if (reported.section !== 0) readSection(bytes, reported, record);
  if (reported.fragmentOffset > 0) record.part = 2;
  else if (reported.moreFragments) record.part = 1;
}

function readAddress(
  field: number,
  bytes: Uint8Array,
  at: number,
  reported: Reported,
  record: FlowRecord,
): boolean {
  switch (field) {
    case FIELD.source4:
      // An exporter may send fields of both families, with the other family's empty.
      if (u32(bytes, at) !== 0) putWord(record.source, u32(bytes, at));
      return true;
    case FIELD.destination4:
      if (u32(bytes, at) === 0 && reported.addressed) return true;
      record.family = 4;
      putWord(record.destination, u32(bytes, at));
      reported.addressed = true;
      return true;
    case FIELD.source6:
      if (!isZero(bytes, at)) readWords(bytes, at, record.source);
      return true;
    case FIELD.destination6:
      if (isZero(bytes, at)) return true;
      record.family = 6;
      readWords(bytes, at, record.destination);
      reported.addressed = true;
      return true;
    default:
      return false;
  }
}

/** The other family's field may have been there before. */
function putWord(words: Uint32Array, word: number): void {
  words[0] = words[1] = words[2] = 0;
  words[3] = word;
}

/** The fields of nearly every record. */
function readHeaderField(
  field: number,
  bytes: Uint8Array,
  at: number,
  length: number,
  reported: Reported,
  record: FlowRecord,
): boolean {
  switch (field) {
    case FIELD.octets:
      reported.bytes = unsigned(bytes, at, length);
      return true;
    case FIELD.packets:
      reported.packets = unsigned(bytes, at, length);
      return true;
    case FIELD.protocol:
      record.protocol = unsigned(bytes, at, length) & 255;
      return true;
    case FIELD.sourcePort:
      record.sourcePort = unsigned(bytes, at, length) & 0xffff;
      return true;
    case FIELD.destinationPort:
      record.destinationPort = unsigned(bytes, at, length) & 0xffff;
      return true;
    case FIELD.tcpFlags:
      // One or two bytes; the relevant flags are in the last.
      record.tcpFlags = bytes[at + length - 1] as number;
      return true;
    case FIELD.icmpTypeCode4:
    case FIELD.icmpTypeCode6:
      if (record.icmpType < 0 || u16(bytes, at) !== 0) record.icmpType = bytes[at] as number;
      return true;
    case FIELD.icmpType4:
    case FIELD.icmpType6:
      record.icmpType = bytes[at + length - 1] as number;
      return true;
    default:
      return false;
  }
}

function readOtherField(
  field: number,
  bytes: Uint8Array,
  at: number,
  length: number,
  reported: Reported,
): void {
  switch (field) {
    case FIELD.ipSection:
    case FIELD.frameSection:
    case FIELD.packetSection9:
      reported.section = field;
      reported.sectionAt = at;
      reported.sectionBytes = length;
      return;
    case FIELD.startMicroseconds:
    case FIELD.startNanoseconds:
      reported.startMs = ntpMs(bytes, at, length);
      return;
    case FIELD.endMicroseconds:
    case FIELD.endNanoseconds:
      reported.endMs = ntpMs(bytes, at, length);
      return;
    case FIELD.samplingProbability:
      reported.samplingRate = 1 / float(bytes, at, length);
      return;
    default:
      readNumber(field, unsigned(bytes, at, length), reported);
  }
}

const NUMBERS: Readonly<Record<number, (reported: Reported, value: number) => void>> = {
  [FIELD.inputInterface]: (reported, value) => (reported.input = value),
  [FIELD.flowDirection]: (reported, value) => (reported.direction = directionOf(value)),
  [FIELD.frameBytes]: (reported, value) => (reported.frameBytes = value),
  [FIELD.packetSectionBytes9]: (reported, value) => (reported.frameBytes = value),
  [FIELD.startUptime]: (reported, value) => (reported.startUptime = value),
  [FIELD.endUptime]: (reported, value) => (reported.endUptime = value),
  [FIELD.startSeconds]: (reported, value) => (reported.startMs = value * 1000),
  [FIELD.endSeconds]: (reported, value) => (reported.endMs = value * 1000),
  [FIELD.startMilliseconds]: (reported, value) => (reported.startMs = value),
  [FIELD.endMilliseconds]: (reported, value) => (reported.endMs = value),
  [FIELD.startDeltaMicroseconds]: (reported, value) => (reported.startAgoMs = value / 1000),
  [FIELD.endDeltaMicroseconds]: (reported, value) => (reported.endAgoMs = value / 1000),
  [FIELD.durationMilliseconds]: (reported, value) => (reported.durationMs = value),
  [FIELD.durationMicroseconds]: (reported, value) => (reported.durationMs = value / 1000),
  [FIELD.samplingInterval]: (reported, value) => (reported.samplingRate = value),
  [FIELD.samplerInterval]: (reported, value) => (reported.samplingRate = value),
  [FIELD.sampler]: (reported, value) => (reported.sampler = value),
  [FIELD.selector]: (reported, value) => (reported.sampler = value),
  [FIELD.samplingPacketInterval]: (reported, value) => (reported.interval = value),
  [FIELD.samplingPacketSpace]: (reported, value) => (reported.space = value),
  [FIELD.samplingSize]: (reported, value) => (reported.size = value),
  [FIELD.samplingPopulation]: (reported, value) => (reported.population = value),
  [OTHER_SCOPE]: (reported, value) => (reported.scope = value),
  [FIELD.fragmentOffset]: (reported, value) => (reported.fragmentOffset = value),
  [FIELD.packets + REVERSE]: (reported, value) => (reported.reversePackets = value),
  [FIELD.octets + REVERSE]: (reported, value) => (reported.reverseBytes = value),
  [FIELD.tcpFlags + REVERSE]: (reported, value) => (reported.reverseTcpFlags = value & 255),
  [FIELD.fragmentFlags]: (reported, value) => (reported.moreFragments = (value & 0x20) !== 0),
};

function directionOf(value: number): Direction {
  return value === INGRESS ? INGRESS : value === EGRESS ? EGRESS : UNREPORTED;
}

function readNumber(field: number, value: number, reported: Reported): void {
  NUMBERS[field]?.(reported, value);
}

/**
 * The record's sampling rate, in one of four forms; 0 if it has none that a device could have. RFC 5476 section
 * 6.5.2.
 */
export function reportedRate(reported: Reported): number {
  const rate = statedRate(reported);
  return rate >= 1 && rate <= MAX_SAMPLING_RATE ? rate : 0;
}

function statedRate(reported: Reported): number {
  if (reported.samplingRate > 0) return reported.samplingRate;
  if (reported.space >= 0 && reported.interval > 0)
    return (reported.interval + reported.space) / reported.interval;
  return reported.size > 0 ? reported.population / reported.size : 0;
}

/** A sampled packet: its header replaces the fields. */
function readSection(bytes: Uint8Array, reported: Reported, record: FlowRecord): void {
  const first = reported.section === FIELD.ipSection ? RAW_IP : ETHERNET;
  const end = reported.sectionAt + reported.sectionBytes;
  clearRecord(record);
  if (!readPacket(bytes, reported.sectionAt, end, first, reported.frameBytes, record)) return;
  reported.addressed = true;
  reported.packets ||= 1;
  reported.bytes ||= record.bytes;
}

/** An IEEE number of 4 or 8 bytes. */
function float(bytes: Uint8Array, at: number, length: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, length);
  if (length === 8) return view.getFloat64(0);
  return length === 4 ? view.getFloat32(0) : Number.NaN;
}

const NTP_EPOCH_SECONDS = 2_208_988_800;

/** An NTP timestamp of 64 bits. RFC 7011 section 6.1.9. */
function ntpMs(bytes: Uint8Array, at: number, length: number): number {
  if (length !== 8) return -1;
  const seconds = u32(bytes, at) - NTP_EPOCH_SECONDS;
  return Math.floor(seconds * 1000 + (u32(bytes, at + 4) / 0x1_0000_0000) * 1000);
}

function isZero(bytes: Uint8Array, at: number): boolean {
  return (u32(bytes, at) | u32(bytes, at + 4) | u32(bytes, at + 8) | u32(bytes, at + 12)) === 0;
}
