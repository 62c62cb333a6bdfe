import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import { learnTemplate, type Message, readDataSet } from './data-set.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { FIELD } from './fields.ts';
import { compileTemplate, readSpecs, scopeSpec, type Template } from './template.ts';
import { TemplateStore } from '../exporter/template-store.ts';

/** IPFIX, RFC 7011: a header of 16 bytes, then template sets and data sets. */
const HEADER_BYTES = 16;
const TEMPLATES = 2;
const OPTIONS_TEMPLATES = 3;
/**
 * Scopes are fields: the exporter's addresses, its processes and its observation domain describe all of it; an interface,
 * a sampler and a selector are named by records.
 */
const SCOPES = {
  whole: [130, 131, 143, 144, 149],
  named: new Map<number, number>(
    [FIELD.inputInterface, FIELD.sampler, FIELD.selector].map((field) => [field, field]),
  ),
} as const;

export function decodeIpfix(bytes: Uint8Array, arrival: Arrival): boolean {
  const length = u16(bytes, 2);
  if (length < HEADER_BYTES) return false;
  const { exporter, port, nowMs } = arrival;
  const domain = TemplateStore.domainKey(port, u32(bytes, 12));
  const exportMs = u32(bytes, 4) * 1000;
  const stream = `10/${domain}`;
  const { delayMs, aheadMs } = exporter.clock.read(stream, nowMs, exportMs);
  const message: Message = {
    arrival,
    store: exporter.ipfix,
    domain,
    // A truncated message has sets before the cut.
    damage: { isFound: length > bytes.length },
    exportMs,
    uptimeMs: null,
    sentMs: nowMs - delayMs,
    aheadMs,
  };
  const records = readSets(bytes, Math.min(length, bytes.length), message);
  const isWhole = !message.damage.isFound;
  // The sequence counts data records, so it is known only if every template is.
  exporter.sequences.note(stream, u32(bytes, 8), isWhole ? records : null);
  return isWhole;
}

/** Returns the number of data records; null if it is unknown. */
function readSets(bytes: Uint8Array, length: number, message: Message): number | null {
  let records: number | null = 0;
  for (let at = HEADER_BYTES; at + 4 <= length; ) {
    const id = u16(bytes, at);
    const end = at + u16(bytes, at + 2);
    if (end < at + 4 || end > length) {
      message.damage.isFound = true;
      return null;
    }
    if (id >= 256) {
      const read = readDataSet(bytes, at + 4, end, id, message);
      records = records === null || read === null ? null : records + read;
    } else if (id === TEMPLATES || id === OPTIONS_TEMPLATES) {
      readTemplates(bytes, at + 4, end, id === TEMPLATES ? 'data' : 'options', message);
    }
    at = end;
  }
  return records;
}

function readTemplates(
  bytes: Uint8Array,
  begin: number,
  end: number,
  kind: Template['kind'],
  message: Message,
): void {
  for (let at = begin; at + 4 <= end; ) {
    const id = u16(bytes, at);
    if (id === 0) return;
    const count = u16(bytes, at + 2);
    if (count === 0) {
      withdraw(id, kind, message);
      at += 4;
      continue;
    }
    // An options template gives the number of scope fields, which come first.
    const { specs, next } = readSpecs(bytes, at + (kind === 'data' ? 4 : 6), end, count, true);
    const scopes = kind === 'data' ? 0 : u16(bytes, at + 4);
    const scoped = specs?.map((one, index) => (index < scopes ? scopeSpec(one, SCOPES) : one));
    learnTemplate(id, scoped ? compileTemplate(kind, scoped) : null, message);
    if (next === null) {
      message.damage.isFound = true;
      return;
    }
    at = next;
  }
}

/** RFC 7011 section 8.1: a template without fields withdraws its number; a set's number withdraws all of its kind. */
function withdraw(id: number, kind: Template['kind'], { store, domain }: Message): void {
  const all = id === (kind === 'data' ? TEMPLATES : OPTIONS_TEMPLATES);
  if (all) store.withdrawAll(domain, kind);
  else store.withdraw(TemplateStore.key(domain, id));
}
