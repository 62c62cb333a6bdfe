import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import { learnTemplate, type Message, readDataSet } from './data-set.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { compileTemplate, readSpecs, type Template } from './template.ts';
import { TemplateStore } from '../exporter/template-store.ts';

/** IPFIX, RFC 7011: a header of 16 bytes, then template sets and data sets. */
const HEADER_BYTES = 16;
const TEMPLATES = 2;
const OPTIONS_TEMPLATES = 3;

export function decodeIpfix(bytes: Uint8Array, arrival: Arrival): boolean {
  const length = u16(bytes, 2);
  if (length < HEADER_BYTES || length > bytes.length) return false;
  const { exporter, nowMs } = arrival;
  const domain = u32(bytes, 12);
  const exportMs = u32(bytes, 4) * 1000;
  const stream = `10/${domain}`;
  const { delayMs, aheadMs } = exporter.clock.read(stream, nowMs, exportMs);
  const message: Message = {
    arrival,
    store: exporter.ipfix,
    domain,
    exportMs,
    uptimeMs: null,
    sentMs: nowMs - delayMs,
    aheadMs,
  };
  let records: number | null = 0;
  for (let at = HEADER_BYTES; at + 4 <= length; ) {
    const id = u16(bytes, at);
    const end = at + u16(bytes, at + 2);
    if (end < at + 4 || end > length) return false;
    if (id >= 256) {
      const read = readDataSet(bytes, at + 4, end, id, message);
      records = records === null || read === null ? null : records + read;
    } else if (id === TEMPLATES || id === OPTIONS_TEMPLATES) {
      const kind = id === TEMPLATES ? 'data' : 'options';
      if (!readTemplates(bytes, at + 4, end, kind, message)) return false;
    }
    at = end;
  }
  // The sequence counts data records, so it is known only if every template is.
  exporter.sequences.note(stream, u32(bytes, 8), records);
  return true;
}

function readTemplates(
  bytes: Uint8Array,
  begin: number,
  end: number,
  kind: Template['kind'],
  message: Message,
): boolean {
  for (let at = begin; at + 4 <= end; ) {
    const id = u16(bytes, at);
    if (id === 0) return true;
    const count = u16(bytes, at + 2);
    if (count === 0) {
      withdraw(id, kind, message);
      at += 4;
      continue;
    }
    // An options template gives the number of scope fields, which are read like the others.
    const read = readSpecs(bytes, at + (kind === 'data' ? 4 : 6), end, count, true);
    if (read === null) return false;
    learnTemplate(id, compileTemplate(kind, read.specs), message);
    at = read.next;
  }
  return true;
}

/** RFC 7011 section 8.1: a template without fields withdraws its number; a set's number withdraws all of its kind. */
function withdraw(id: number, kind: Template['kind'], { store, domain }: Message): void {
  const all = id === (kind === 'data' ? TEMPLATES : OPTIONS_TEMPLATES);
  if (all) store.withdrawAll(domain, kind);
  else store.withdraw(TemplateStore.key(domain, id));
}
