import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import { learnTemplate, type Message, readDataSet } from './data-set.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { FIELD } from './fields.ts';
import { compileTemplate, readSpecs, scopeSpec } from './template.ts';
import { TemplateStore } from '../exporter/template-store.ts';

/** NetFlow version 9, RFC 3954: a header of 20 bytes, then template sets and data sets. */
const HEADER_BYTES = 20;
const TEMPLATES = 0;
const OPTIONS_TEMPLATES = 1;
/** Scopes have their own numbers: the whole system, and an interface. */
const SCOPES = { whole: [1], named: new Map<number, number>([[2, FIELD.inputInterface]]) } as const;

export function decodeNetflowV9(bytes: Uint8Array, arrival: Arrival): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  const { exporter, port, nowMs } = arrival;
  const domain = TemplateStore.domainKey(port, u32(bytes, 16));
  const uptimeMs = u32(bytes, 4);
  const exportMs = u32(bytes, 8) * 1000;
  const stream = `9/${domain}`;
  // The sequence counts datagrams, not records.
  exporter.sequences.note(stream, u32(bytes, 12), 1);
  const message: Message = {
    arrival,
    store: exporter.netflow,
    domain,
    damage: { isFound: false },
    exportMs,
    uptimeMs,
    sentMs: nowMs - exporter.clock.read(stream, nowMs, uptimeMs).delayMs,
    aheadMs: exporter.clock.read(`9 by day/${domain}`, nowMs, exportMs).aheadMs,
  };
  for (let at = HEADER_BYTES; at + 4 <= bytes.length; ) {
    const id = u16(bytes, at);
    const end = at + u16(bytes, at + 2);
    if (end < at + 4 || end > bytes.length) return false;
    readSet(bytes, at + 4, end, id, message);
    at = end;
  }
  return !message.damage.isFound;
}

function readSet(
  bytes: Uint8Array,
  begin: number,
  end: number,
  id: number,
  message: Message,
): void {
  if (id === TEMPLATES) readTemplates(bytes, begin, end, message);
  else if (id === OPTIONS_TEMPLATES) readOptionsTemplates(bytes, begin, end, message);
  else if (id >= 256) readDataSet(bytes, begin, end, id, message);
}

function readTemplates(bytes: Uint8Array, begin: number, end: number, message: Message): void {
  for (let at = begin; at + 4 <= end; ) {
    const id = u16(bytes, at);
    // Padding.
    if (id === 0) return;
    const { specs, next } = readSpecs(bytes, at + 4, end, u16(bytes, at + 2), false);
    learnTemplate(id, specs && compileTemplate('data', specs), message);
    if (next === null) {
      message.damage.isFound = true;
      return;
    }
    at = next;
  }
}

/** Scope and option lengths are in bytes, of four for each field. */
function readOptionsTemplates(
  bytes: Uint8Array,
  begin: number,
  end: number,
  message: Message,
): void {
  for (let at = begin; at + 6 <= end; ) {
    const id = u16(bytes, at);
    if (id === 0) return;
    const scopeBytes = u16(bytes, at + 2);
    const optionBytes = u16(bytes, at + 4);
    const isWhole = scopeBytes % 4 === 0 && optionBytes % 4 === 0;
    const next = at + 6 + scopeBytes + optionBytes;
    const { specs } = readSpecs(bytes, at + 6, end, (scopeBytes + optionBytes) >> 2, false);
    const scoped = specs?.map((one, index) =>
      index < scopeBytes >> 2 ? scopeSpec(one, SCOPES) : one,
    );
    learnTemplate(id, isWhole && scoped ? compileTemplate('options', scoped) : null, message);
    if (next > end) {
      message.damage.isFound = true;
      return;
    }
    at = next;
  }
}
