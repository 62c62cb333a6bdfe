import { readFields, Reported, reportedRate } from './data-record.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { type FlowRecord, setTimes } from '@portcullis/core/attacks/flow-record.ts';
import { type Direction, UNREPORTED } from '../exporter/interfaces.ts';
import { type Template, walkRecord } from './template.ts';
import { TemplateStore } from '../exporter/template-store.ts';

/** The header of a NetFlow v9 or IPFIX message. */
export interface Message {
  readonly arrival: Arrival;
  readonly store: TemplateStore;
  /** The observation domain or source id of the exporting process: `TemplateStore.domainKey`. */
  readonly domain: string;
  /** Set if a part of the datagram contradicts its lengths. */
  readonly damage: { isFound: boolean };
  /** In seconds of the exporter's clock. */
  readonly exportMs: number;
  /** The exporter's uptime at sending. Null in formats without it. */
  readonly uptimeMs: number | null;
  /** The time of sending by our monotonic clock. */
  readonly sentMs: number;
  /** The offset of our clock to the exporter's wall clock. Null if unknown. */
  readonly aheadMs: number | null;
}

const reported = new Reported();
const walked = { offsets: new Uint16Array(256), lengths: new Uint16Array(256) };

/**
 * Reads the records of a data set from `begin` to `end`, or keeps the set until its template arrives. Returns the number
 * of records, or null if it is unknown.
 */
export function readDataSet(
  bytes: Uint8Array,
  begin: number,
  end: number,
  id: number,
  message: Message,
): number | null {
  const { store, domain, arrival, exportMs, uptimeMs, sentMs } = message;
  const key = TemplateStore.key(domain, id);
  const template = store.find(key);
  if (template === null) {
    arrival.exporter.counters.withoutTemplate++;
    return null;
  }
  if (template !== undefined) return readRecords(bytes, begin, end, template, message);
  const set = { key, bytes: bytes.subarray(begin, end), arrivedMs: arrival.nowMs };
  arrival.exporter.counters.withoutTemplate += store.wait({ ...set, exportMs, uptimeMs, sentMs });
  return null;
}

/**
 * Stores a template and reads the sets that waited for it. A template that cannot be read costs its own data: the sets
 * that waited, and those that come until it is replaced.
 */
export function learnTemplate(id: number, template: Template | null, message: Message): void {
  const { store, domain, arrival } = message;
  const { counters } = arrival.exporter;
  if (id < 256) {
    counters.templatesRefused++;
    return;
  }
  const key = TemplateStore.key(domain, id);
  const { sets, late } = store.takeWaiting(key, arrival.nowMs);
  counters.withoutTemplate += late;
  if (template === null) {
    counters.templatesRefused++;
    counters.withoutTemplate += sets.length;
    store.refuse(key);
    return;
  }
  store.add(key, template);
  for (const { bytes, exportMs, uptimeMs, sentMs } of sets) {
    readRecords(bytes, 0, bytes.length, template, { ...message, exportMs, uptimeMs, sentMs });
  }
}

function readRecords(
  bytes: Uint8Array,
  begin: number,
  end: number,
  template: Template,
  message: Message,
): number {
  const { variable, fields, recordBytes, useful, kind } = template;
  const { record, counters } = message.arrival.exporter;
  if (!variable && !useful) {
    const records = Math.floor((end - begin) / recordBytes);
    if (kind === 'data') counters.withoutTraffic += records;
    return records;
  }
  const { offsets, lengths } = variable ? walked : template;
  let count = 0;
  // A rest shorter than a record is padding.
  for (let at = begin; at + recordBytes <= end; count++) {
    const next = variable
      ? walkRecord(template, bytes, at, end, offsets, lengths)
      : at + recordBytes;
    if (next < 0) {
      message.damage.isFound = true;
      break;
    }
    if (useful) {
      readFields(bytes, at, fields, offsets, lengths, variable, reported, record);
      if (kind === 'options') learnRate(message);
      else emitRecord(record, template, message);
    } else if (kind === 'data') counters.withoutTraffic++;
    at = next;
  }
  return count;
}

function learnRate({ store, domain }: Message): void {
  const rate = reportedRate(reported);
  if (rate > 0) store.rates.set(domain, reported, reported.scope, rate);
}

function emitRecord(record: FlowRecord, template: Template, message: Message): void {
  const { exporter } = message.arrival;
  datePackets(record, message);
  if (record.protocol === 1 || record.protocol === 58) clearPorts(record);
  else record.icmpType = -1;
  if (template.totals !== 0) subtractCounted(record, template.totals, message);
  const { addressed, packets, bytes, direction, input, reversePackets, reverseBytes } = reported;
  if (!addressed || (packets <= 0 && reversePackets <= 0)) {
    exporter.counters.withoutTraffic++;
    return;
  }
  const own = reportedRate(reported);
  const rate = own > 0 ? own : (message.store.rates.of(message.domain, reported) ?? 0);
  const sampling = exporter.rate(rate);
  emitPackets(record, { packets, bytes, rate: sampling, direction, input }, message);
  if (reversePackets <= 0) return;
  reverse(record);
  const reversed = { packets: reversePackets, bytes: reverseBytes, rate: sampling };
  emitPackets(record, { ...reversed, direction: UNREPORTED, input: 0 }, message);
}

/** A record with running totals counts what is new since the last one of its flow, in the time since then. */
function subtractCounted(record: FlowRecord, totals: number, { arrival, domain }: Message): void {
  const { source, destination, protocol, sourcePort, destinationPort, icmpType } = record;
  const { startMs, endMs, startUptime, endUptime, input, direction } = reported;
  const addresses = `${source.join(',')}/${destination.join(',')}`;
  const ports = `${protocol}/${sourcePort}/${destinationPort}/${icmpType}`;
  const start = startMs >= 0 ? startMs : startUptime;
  const flow = `${domain}/${addresses}/${ports}/${input}/${direction}/${start}`;
  const end = endMs >= 0 ? endMs : endUptime;
  const lastEnd = arrival.exporter.totals.subtract(flow, reported, totals, end);
  if (lastEnd === null || lastEnd < 0 || end < lastEnd) return;
  record.durationMs = Math.min(record.durationMs, end - lastEnd);
}

interface Counted {
  readonly packets: number;
  readonly bytes: number;
  readonly rate: number;
  readonly direction: Direction;
  readonly input: number;
}

function emitPackets(record: FlowRecord, counted: Counted, { arrival }: Message): void {
  const { packets, bytes, rate, direction, input } = counted;
  if (packets <= 0) return;
  record.packets = packets * rate;
  record.bytes = bytes * rate;
  record.samplingRate = rate;
  arrival.exporter.pass(record, arrival, direction, input);
}

/** Turns the record into the other direction of its flow. */
function reverse(record: FlowRecord): void {
  for (let word = 0; word < 4; word++) {
    const source = record.source[word] as number;
    record.source[word] = record.destination[word] as number;
    record.destination[word] = source;
  }
  const { sourcePort } = record;
  record.sourcePort = record.destinationPort;
  record.destinationPort = sourcePort;
  record.tcpFlags = reported.reverseTcpFlags;
  record.icmpType = -1;
}

/** Some exporters send the ICMP type and code as the destination port, as version 5 does. */
function clearPorts(record: FlowRecord): void {
  if (record.icmpType < 0) record.icmpType = record.destinationPort >> 8;
  record.sourcePort = 0;
  record.destinationPort = 0;
}

function datePackets(record: FlowRecord, message: Message): void {
  const { arrival, exportMs, uptimeMs, sentMs, aheadMs } = message;
  const { startMs, endMs, startUptime, endUptime, durationMs, startAgoMs, endAgoMs } = reported;
  let agoMs = 0;
  let length = 0;
  let delayMs = arrival.nowMs - sentMs;
  if (endMs >= 0) {
    if (aheadMs === null) agoMs = exportMs - endMs;
    else {
      // Precise to the millisecond, while the export time has seconds only.
      agoMs = arrival.nowMs - aheadMs - endMs;
      delayMs = 0;
    }
    if (startMs >= 0) length = endMs - startMs;
  } else if (endUptime >= 0) {
    // The clock wraps after 49 days.
    if (uptimeMs !== null) agoMs = (uptimeMs - endUptime) | 0;
    if (startUptime >= 0) length = (endUptime - startUptime) | 0;
  } else if (endAgoMs >= 0) {
    agoMs = endAgoMs;
    if (startAgoMs >= 0) length = startAgoMs - endAgoMs;
  }
  setTimes(record, agoMs, durationMs >= 0 ? durationMs : length, delayMs);
}
