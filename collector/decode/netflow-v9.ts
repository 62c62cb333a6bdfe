import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import { learnTemplate, type Message, readDataSet } from './data-set.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { SKIPPED } from './fields.ts';
import { compileTemplate, type FieldSpec, readSpecs } from './template.ts';

/** NetFlow version 9, RFC 3954: a header of 20 bytes, then template sets and data sets. */
const HEADER_BYTES = 20;
const TEMPLATES = 0;
const OPTIONS_TEMPLATES = 1;

export function decodeNetflowV9(bytes: Uint8Array, arrival: Arrival): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  const { exporter, nowMs } = arrival;
  const domain = u32(bytes, 16);
  const uptimeMs = u32(bytes, 4);
  const exportMs = u32(bytes, 8) * 1000;
  const stream = `9/${domain}`;
  // The sequence counts datagrams, not records.
  exporter.sequences.note(stream, u32(bytes, 12), 1);
  const message: Message = {
    arrival,
    store: exporter.netflow,
    domain,
    exportMs,
    uptimeMs,
    sentMs: nowMs - exporter.clock.read(stream, nowMs, uptimeMs).delayMs,
    aheadMs: exporter.clock.read(`9 by day/${domain}`, nowMs, exportMs).aheadMs,
  };
  for (let at = HEADER_BYTES; at + 4 <= bytes.length; ) {
    const id = u16(bytes, at);
    const end = at + u16(bytes, at + 2);
    if (end < at + 4 || end > bytes.length) return false;
    if (!readSet(bytes, at + 4, end, id, message)) return false;
    at = end;
  }
  return true;
}

function readSet(
  bytes: Uint8Array,
  begin: number,
  end: number,
  id: number,
  message: Message,
): boolean {
  if (id === TEMPLATES) return readTemplates(bytes, begin, end, message);
  if (id === OPTIONS_TEMPLATES) return readOptionsTemplates(bytes, begin, end, message);
  if (id >= 256) readDataSet(bytes, begin, end, id, message);
  return true;
}

function readTemplates(bytes: Uint8Array, begin: number, end: number, message: Message): boolean {
  for (let at = begin; at + 4 <= end; ) {
    const id = u16(bytes, at);
    // Padding.
    if (id === 0) return true;
    const read = readSpecs(bytes, at + 4, end, u16(bytes, at + 2), false);
    if (read === null) return false;
    learnTemplate(id, compileTemplate('data', read.specs), message);
    at = read.next;
  }
  return true;
}

/** Scope and option lengths are in bytes. Scope fields have their own numbers and are skipped. */
function readOptionsTemplates(
  bytes: Uint8Array,
  begin: number,
  end: number,
  message: Message,
): boolean {
  for (let at = begin; at + 6 <= end; ) {
    const id = u16(bytes, at);
    if (id === 0) return true;
    const scopes = u16(bytes, at + 2) >> 2;
    const options = u16(bytes, at + 4) >> 2;
    const read = readSpecs(bytes, at + 6, end, scopes + options, false);
    if (read === null) return false;
    const specs = read.specs.map(
      (spec, index): FieldSpec => (index < scopes ? { field: SKIPPED, length: spec.length } : spec),
    );
    learnTemplate(id, compileTemplate('options', specs), message);
    at = read.next;
  }
  return true;
}
