import { u16 } from '@portcullis/core/net/bytes.ts';
import { FIELD, readAs, SKIPPED } from './fields.ts';

/** More fields than any exporter sends, and few enough that a record is read in no time. */
const MAX_FIELDS = 256;
/** A length that says: the record tells. IPFIX only. RFC 7011 section 7. */
const VARIABLE = 0xffff;

/** A template, ready to read records by: what is wanted of a record and where it stands. */
export interface Template {
  readonly kind: 'data' | 'options';
  /** Numbers of fields (`FIELD`), in the order of the record; without variable lengths only the wanted ones. */
  readonly fields: Uint16Array;
  readonly lengths: Uint16Array;
  /** From the start of the record; of no use when `variable`, where the record itself must be walked. */
  readonly offsets: Uint16Array;
  readonly variable: boolean;
  /** Of a record; the least it can be when `variable`. */
  readonly recordBytes: number;
  /** Whether its records tell of traffic or of sampling at all; the others are not read. */
  readonly useful: boolean;
}

export interface FieldSpec {
  readonly field: number;
  readonly length: number;
}

/** Null: it describes no record that could be read. */
export function compileTemplate(
  kind: Template['kind'],
  specs: readonly FieldSpec[],
): Template | null {
  if (specs.length === 0 || specs.length > MAX_FIELDS) return null;
  const variable = specs.some(({ length }) => length === VARIABLE);
  const placed: { field: number; length: number; offset: number }[] = [];
  let offset = 0;
  for (const { field, length } of specs) {
    const known = readAs(field, length, length === VARIABLE);
    if (variable || known !== SKIPPED) placed.push({ field: known, length, offset });
    offset += length === VARIABLE ? 1 : length;
  }
  if (offset === 0 || offset > 0xffff) return null;
  const numbers = new Set(placed.map(({ field }) => field));
  return {
    kind,
    fields: Uint16Array.from(placed, ({ field }) => field),
    lengths: Uint16Array.from(placed, ({ length }) => length),
    offsets: Uint16Array.from(placed, (one) => one.offset),
    variable,
    recordBytes: offset,
    useful: kind === 'data' ? tellsTraffic(numbers) : tellsSampling(numbers),
  };
}

function tellsTraffic(numbers: ReadonlySet<number>): boolean {
  return [
    FIELD.destination4,
    FIELD.destination6,
    FIELD.ipSection,
    FIELD.frameSection,
    FIELD.packetSection9,
  ].some((field) => numbers.has(field));
}

function tellsSampling(numbers: ReadonlySet<number>): boolean {
  return [
    FIELD.samplingInterval,
    FIELD.samplerInterval,
    FIELD.samplingPacketSpace,
    FIELD.samplingPopulation,
  ].some((field) => numbers.has(field));
}

/** What follows a template's number in IPFIX: `count` specifiers, those of enterprises four bytes longer. */
export function readSpecs(
  bytes: Uint8Array,
  begin: number,
  end: number,
  count: number,
  enterprises: boolean,
): { readonly specs: FieldSpec[]; readonly next: number } | null {
  if (count > MAX_FIELDS) return null;
  const specs: FieldSpec[] = [];
  let at = begin;
  for (let index = 0; index < count; index++) {
    if (at + 4 > end) return null;
    const number = u16(bytes, at);
    const length = u16(bytes, at + 2);
    at += 4;
    const own = (number & 0x8000) !== 0;
    if (own && enterprises) at += 4;
    if (at > end || (length === VARIABLE && !enterprises)) return null;
    specs.push({ field: own ? SKIPPED : number, length });
  }
  return { specs, next: at };
}

/**
 * Where each field of the record at `at` stands, into `offsets` and `lengths`: for templates whose records differ in
 * length. The answer is where the next record begins, -1 when this one does not fit.
 */
export function walkRecord(
  template: Template,
  bytes: Uint8Array,
  begin: number,
  end: number,
  offsets: Uint16Array,
  lengths: Uint16Array,
): number {
  let at = begin;
  for (let index = 0; index < template.fields.length; index++) {
    let length = template.lengths[index] as number;
    if (length === VARIABLE) {
      if (at >= end) return -1;
      length = bytes[at++] as number;
      if (length === 255) {
        if (at + 2 > end) return -1;
        length = u16(bytes, at);
        at += 2;
      }
    }
    offsets[index] = at - begin;
    lengths[index] = length;
    at += length;
    if (at > end) return -1;
  }
  return at;
}
