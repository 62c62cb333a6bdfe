import type { TSchema } from 'typebox';

/** The most bytes and values that a body of a schema can have. `Infinity` where the schema sets no bound. */
export interface BodySize {
  readonly bytes: number;
  /** Objects, arrays and scalars, each once. */
  readonly values: number;
}

/** A character outside of the basic plane, written as two escapes of six bytes. */
const BYTES_PER_CHARACTER = 12;
/** Indentation, separators and a number or a literal. */
const BYTES_PER_VALUE = 64;
/** The length of a text whose form is given by a format, such as a uuid. */
const FORMATTED_LENGTH = 64;

/** The size of bodies of rows that anybody may call. */
const ANYONE: BodySize = { bytes: 4 * 1024, values: 500 };
/** The size of bodies of other rows at least, so that a list that is too long is refused by what it names. */
const LEAST: BodySize = { bytes: 128 * 1024, values: 20_000 };
/** The size of bodies of other rows at most: a replace with thousands of rules is well below this. */
export const MOST: BodySize = { bytes: 512 * 1024, values: 80_000 };

/**
 * How large a body of an operation may be: what its schema can hold, between bounds; what anybody may send is small.
 */
export function bodyLimitOf(row: {
  readonly body?: TSchema;
  readonly bodyBytes?: number;
  readonly takesBytes?: boolean;
  readonly role?: string;
}): BodySize {
  if (row.takesBytes === true) return { bytes: Number.MAX_SAFE_INTEGER, values: 0 };
  if (row.role === 'anyone') return ANYONE;
  const { bytes, values } = row.body === undefined ? LEAST : bodySizeOf(row.body);
  return {
    bytes: row.bodyBytes ?? clamp(bytes, LEAST.bytes, MOST.bytes),
    values: clamp(values, LEAST.values, MOST.values),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/** Pure: how large a body can be that fits the schema. */
export function bodySizeOf(schema: TSchema): BodySize {
  return sizeOf(schema);
}

/** Keywords that this reads of JSON Schema; the contract uses no references. */
interface Part {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Part>>;
  readonly additionalProperties?: boolean | Part;
  readonly patternProperties?: Readonly<Record<string, Part>>;
  readonly maxProperties?: number;
  readonly items?: Part;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Part[];
  readonly oneOf?: readonly Part[];
  readonly allOf?: readonly Part[];
}

const SCALAR: BodySize = { bytes: BYTES_PER_VALUE, values: 1 };
const UNBOUNDED: BodySize = { bytes: Infinity, values: Infinity };

function sizeOf(part: Part): BodySize {
  const choices = part.anyOf ?? part.oneOf;
  if (choices !== undefined) return choices.map(sizeOf).reduce(largest, SCALAR);
  if (part.allOf !== undefined) return part.allOf.map(sizeOf).reduce(add, SCALAR);
  if (part.enum !== undefined) return textOf(Math.max(...part.enum.map(lengthOf)));
  if (part.const !== undefined) return textOf(lengthOf(part.const));
  if (part.type === 'object') return objectOf(part);
  if (part.type === 'array') return arrayOf(part);
  if (part.type === 'string') {
    return textOf(part.maxLength ?? (part.format === undefined ? Infinity : FORMATTED_LENGTH));
  }
  return part.type === undefined ? UNBOUNDED : SCALAR;
}

function objectOf({ properties = {}, patternProperties = {}, ...part }: Part): BodySize {
  const { additionalProperties = true } = part;
  if (additionalProperties === true) return UNBOUNDED;
  const free = Object.values(patternProperties);
  if (additionalProperties !== false) free.push(additionalProperties);
  const named = Object.entries(properties).map(([name, one]) => {
    const { bytes, values } = sizeOf(one);
    return { bytes: bytes + name.length, values };
  });
  const most = part.maxProperties ?? Infinity;
  const others = free.map((one) => times(add(sizeOf(one), textOf(FORMATTED_LENGTH)), most));
  return [...named, ...others].reduce(add, SCALAR);
}

function arrayOf({ items, maxItems = Infinity }: Part): BodySize {
  return add(SCALAR, times(items === undefined ? UNBOUNDED : sizeOf(items), maxItems));
}

function textOf(characters: number): BodySize {
  return { bytes: BYTES_PER_VALUE + BYTES_PER_CHARACTER * characters, values: 1 };
}

function lengthOf(value: unknown): number {
  return String(value).length;
}

function add(a: BodySize, b: BodySize): BodySize {
  return { bytes: a.bytes + b.bytes, values: a.values + b.values };
}

function largest(a: BodySize, b: BodySize): BodySize {
  return { bytes: Math.max(a.bytes, b.bytes), values: Math.max(a.values, b.values) };
}

function times({ bytes, values }: BodySize, count: number): BodySize {
  return { bytes: bytes * count, values: values * count };
}
