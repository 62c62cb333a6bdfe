import { readFields, Told, toldRate } from './data-record.ts';
import type { Arrival } from '../exporter/exporter.ts';
import {
  type FlowRecord,
  MAX_SAMPLING_RATE,
  setTimes,
} from '@portcullis/core/attacks/flow-record.ts';
import { type Template, walkRecord } from './template.ts';
import { TemplateStore } from '../exporter/template-store.ts';

/** A message of NetFlow v9 or IPFIX: what its header says, for the sets in it. */
export interface Message {
  readonly arrival: Arrival;
  readonly store: TemplateStore;
  /** Observation domain, or source id. */
  readonly domain: number;
  /** By the exporter's clock, to a second. */
  readonly exportMs: number;
  /** Of the exporter when it sent; null where the format does not tell it. */
  readonly uptimeMs: number | null;
  /** When it was sent, by our clock that does not jump. */
  readonly sentMs: number;
  /** What our clock shows more than the exporter's by which it tells times of the day; null: nobody knows. */
  readonly aheadMs: number | null;
}

/** No flow has more: it is forged, or a counter that wrapped. */
const MAX_PACKETS = 2 ** 40;

const told = new Told();
const walked = { offsets: new Uint16Array(256), lengths: new Uint16Array(256) };

/**
 * Records of a set, from `begin` to `end`, by its template, or kept until the template comes. The answer is how many
 * records they were; null where nobody can know.
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
  if (template !== undefined) return readRecords(bytes, begin, end, template, message);
  const set = { key, bytes: bytes.subarray(begin, end), arrivedMs: arrival.nowMs };
  arrival.exporter.counters.withoutTemplate += store.wait({ ...set, exportMs, uptimeMs, sentMs });
  return null;
}

/** Keeps a template, and reads what waited for it. A template of no sense ends what had its number. */
export function learnTemplate(id: number, template: Template | null, message: Message): void {
  const { store, domain, arrival } = message;
  const key = TemplateStore.key(domain, id);
  if (template === null || id < 256) {
    arrival.exporter.counters.templatesRefused++;
    store.withdraw(key);
    return;
  }
  store.add(key, template);
  for (const { bytes, exportMs, uptimeMs, sentMs } of store.takeWaiting(key, arrival.nowMs)) {
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
  const { variable, fields, recordBytes, useful } = template;
  if (!variable && !useful) return Math.floor((end - begin) / recordBytes);
  const { offsets, lengths } = variable ? walked : template;
  const { record } = message.arrival.exporter;
  let count = 0;
  // What is left and shorter than a record is padding.
  for (let at = begin; at + recordBytes <= end; count++) {
    const next = variable
      ? walkRecord(template, bytes, at, end, offsets, lengths)
      : at + recordBytes;
    if (next < 0) {
      message.arrival.exporter.counters.malformed++;
      break;
    }
    if (useful) {
      readFields(bytes, at, fields, offsets, lengths, told, record);
      if (template.kind === 'options') learnRate(message);
      else emitRecord(record, message);
    }
    at = next;
  }
  return count;
}

function learnRate({ store, domain }: Message): void {
  const rate = toldRate(told);
  if (rate >= 1 && rate <= MAX_SAMPLING_RATE) store.setRate(domain, told.sampler, rate);
}

function emitRecord(record: FlowRecord, message: Message): void {
  const { exporter, nowMs, emit } = message.arrival;
  const packets = told.packets > 0 ? told.packets : told.packetsTotal;
  if (!told.addressed || packets <= 0 || packets > MAX_PACKETS) return;
  const own = toldRate(told);
  const rate = exporter.rate(
    own > 0 ? own : (message.store.rate(message.domain, told.sampler) ?? 0),
  );
  record.packets = packets * rate;
  record.bytes = (told.bytes > 0 ? told.bytes : told.bytesTotal) * rate;
  record.samplingRate = rate;
  datePackets(record, message);
  if (record.protocol === 1 || record.protocol === 58) clearPorts(record);
  else record.icmpType = -1;
  exporter.counters.records++;
  exporter.pass(record, told.direction, told.input, nowMs, emit);
}

/** Some exporters send ICMP's type and code as the destination port, as version 5 does. */
function clearPorts(record: FlowRecord): void {
  if (record.icmpType < 0) record.icmpType = record.destinationPort >> 8;
  record.sourcePort = 0;
  record.destinationPort = 0;
}

function datePackets(record: FlowRecord, message: Message): void {
  const { arrival, exportMs, uptimeMs, sentMs, aheadMs } = message;
  const { startMs, endMs, startUptime, endUptime, durationMs, startAgoMs, endAgoMs } = told;
  let agoMs = 0;
  let length = 0;
  let delayMs = arrival.nowMs - sentMs;
  if (endMs >= 0) {
    if (aheadMs === null) agoMs = exportMs - endMs;
    else {
      // To the millisecond, where the time of export is told in seconds only.
      agoMs = arrival.nowMs - aheadMs - endMs;
      delayMs = 0;
    }
    if (startMs >= 0) length = endMs - startMs;
  } else if (endUptime >= 0) {
    // Of a clock that wraps after 49 days.
    if (uptimeMs !== null) agoMs = (uptimeMs - endUptime) | 0;
    if (startUptime >= 0) length = (endUptime - startUptime) | 0;
  } else if (endAgoMs >= 0) {
    agoMs = endAgoMs;
    if (startAgoMs >= 0) length = startAgoMs - endAgoMs;
  }
  setTimes(record, agoMs, durationMs >= 0 ? durationMs : length, delayMs);
}
