import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import { chooseCounters, isCounter, REVERSE, REVERSE_ENTERPRISE } from './counters.ts';
import { FIELD, OTHER_SCOPE, readAs, SKIPPED } from './fields.ts';

/** More fields than any exporter sends, and few enough to bound the time of a record. */
const MAX_FIELDS = 256;
/** Marks a field of variable length: RFC 7011 section 7, which exporters of NetFlow 9 use too. */
const VARIABLE = 0xffff;

/** A compiled template: the wanted fields and their positions. */
export interface Template {
  readonly kind: 'data' | 'options';
  /** Field numbers (`FIELD`) in record order; without variable lengths only the wanted ones. */
  readonly fields: Uint16Array;
  readonly lengths: Uint16Array;
  /** Offsets from the start of the record; unused if `variable`, because then each record is walked. */
  readonly offsets: Uint16Array;
  readonly variable: boolean;
  /** The length of a record; the minimum if `variable`. */
  readonly recordBytes: number;
  /** Whether the records describe traffic or sampling; others are not read. */
  readonly useful: boolean;
  /** Flags of which counters are running totals: bits of `TOTAL`. */
  readonly totals: number;
}

export interface FieldSpec {
  readonly field: number;
  readonly length: number;
}

/** Returns null if the template describes no readable record. */
export function compileTemplate(
  kind: Template['kind'],
  specs: readonly FieldSpec[],
): Template | null {
  if (specs.length === 0 || specs.length > MAX_FIELDS) return null;
  const variable = specs.some(({ length }) => length === VARIABLE);
  const readable = specs.map(({ field, length }) =>
    readAs(field, length === VARIABLE ? null : length),
  );
  const { roles, totals } = chooseCounters(readable);
  const placed: { field: number; length: number; offset: number }[] = [];
  let offset = 0;
  for (const [index, { length }] of specs.entries()) {
    const field = readable[index] as number;
    const known = isCounter(field) ? (roles.get(field) ?? SKIPPED) : field;
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
    totals,
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
    FIELD.samplingProbability,
  ].some((field) => numbers.has(field));
}

/** The field specifiers of a template that was read. */
export interface Specs {
  /** Null if the template has more fields than any exporter sends, or is truncated. */
  readonly specs: readonly FieldSpec[] | null;
  /** Where the next template of the set begins. Null if the set ends inside of this one. */
  readonly next: number | null;
}

/** Reads the field specifiers of a template; in IPFIX those of enterprises are four bytes longer. */
export function readSpecs(
  bytes: Uint8Array,
  begin: number,
  end: number,
  count: number,
  enterprises: boolean,
): Specs {
  const specs: FieldSpec[] = [];
  let at = begin;
  for (let index = 0; index < count; index++) {
    if (at + 4 > end) return { specs: null, next: null };
    const number = u16(bytes, at);
    const length = u16(bytes, at + 2);
    at += 4;
    const own = (number & 0x8000) !== 0;
    if (own && enterprises) at += 4;
    if (at > end) return { specs: null, next: null };
    const isReverse = own && enterprises && u32(bytes, at - 4) === REVERSE_ENTERPRISE;
    if (index < MAX_FIELDS) specs.push({ field: fieldOf(number, isReverse), length });
  }
  return { specs: count > MAX_FIELDS ? null : specs, next: at };
}

function fieldOf(number: number, isReverse: boolean): number {
  const plain = number & 0x7fff;
  if (plain >= REVERSE) return SKIPPED;
  if (isReverse) return REVERSE + plain;
  return plain === number ? number : SKIPPED;
}

/** Reads what the scope of options data says about the sampling rates in it: `whole` describes all of the exporter. */
export function scopeSpec(
  { field, length }: FieldSpec,
  {
    whole,
    named,
  }: { readonly whole: readonly number[]; readonly named: ReadonlyMap<number, number> },
): FieldSpec {
  if (whole.includes(field)) return { field: SKIPPED, length };
  return { field: named.get(field) ?? OTHER_SCOPE, length };
}

/**
 * Writes the positions of the fields of the record at `at` into `offsets` and `lengths`, for templates with variable
 * lengths. Returns the start of the next record, or -1 if this one is truncated.
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
