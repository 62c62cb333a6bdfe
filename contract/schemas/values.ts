import {
  type TArray,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from 'typebox';

/**
 * The small types that all areas share. A schema with a `title` becomes an OpenAPI component of that name, so equal
 * titles must mean equal schemas.
 */

/** Larger integers lose precision in JSON parsers of many languages. */
export const MAX_SAFE_INTEGER = 9_007_199_254_740_991;

/** Refuses C0 and C1 control characters, DEL, and the line separators U+2028 and U+2029 in text from callers. */
export const NO_CONTROL_CHARACTERS = '^[^\\u0000-\\u001F\\u007F-\\u009F\\u2028\\u2029]*$';

interface Notes {
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

/** One of several strings. `Type.Enum` omits `type`, which OpenAPI tools and strict validators require. */
export function choice<const T extends string>(
  values: readonly T[],
  notes: Notes = {},
): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], ...notes });
}

/**
 * One of several strings in a response, to which later versions may add. An `enum` would break generated clients then,
 * so the known values are an extension.
 */
export function openChoice<const T extends string>(
  values: readonly T[],
  notes: Notes = {},
): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', ...open(values, notes) });
}

/** Like `openChoice`, or null. */
export function openChoiceOrNull<const T extends string>(
  values: readonly T[],
  notes: Notes = {},
): TUnsafe<T | null> {
  return Type.Unsafe<T | null>({ type: ['string', 'null'], ...open(values, notes) });
}

function open(values: readonly string[], { description = '', ...notes }: Notes): object {
  const words = `${description} Later versions may add values.`.trim();
  return {
    'x-extensible-enum': values,
    examples: values.slice(0, 1),
    ...notes,
    description: words,
  };
}

/** Like `choice`, or null. */
export function choiceOrNull<const T extends string>(
  values: readonly T[],
  notes: Notes = {},
): TUnsafe<T | null> {
  return Type.Unsafe<T | null>({ type: ['string', 'null'], enum: [...values, null], ...notes });
}

interface IntegerOptions extends Notes {
  readonly minimum?: number;
  readonly maximum?: number;
}

export function integer(options: IntegerOptions = {}): TUnsafe<number> {
  return Type.Unsafe<number>({ type: 'integer', ...options });
}

export function integerOrNull(options: IntegerOptions = {}): TUnsafe<number | null> {
  return Type.Unsafe<number | null>({ type: ['integer', 'null'], ...options });
}

export function numberOrNull(options: IntegerOptions = {}): TUnsafe<number | null> {
  return Type.Unsafe<number | null>({ type: ['number', 'null'], ...options });
}

/** A count, an id or a size: not negative, and exact in JSON. */
export function natural(notes: Notes = {}): TUnsafe<number> {
  return integer({ minimum: 0, maximum: MAX_SAFE_INTEGER, ...notes });
}

export function id(notes: Notes = {}): TUnsafe<number> {
  return integer({ minimum: 1, maximum: MAX_SAFE_INTEGER, ...notes });
}

interface TextOptions extends Notes {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
}

export function textOrNull(options: TextOptions = {}): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], ...options });
}

/** Text from a caller: bounded (`maxLength` counts code points), without control characters. */
export function sentText(options: TextOptions & { readonly maxLength: number }): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', pattern: NO_CONTROL_CHARACTERS, ...options });
}

/** Like `sentText`; null means the same as leaving the field out. */
export function sentTextOrNull(
  options: TextOptions & { readonly maxLength: number },
): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({
    type: ['string', 'null'],
    pattern: NO_CONTROL_CHARACTERS,
    ...options,
  });
}

export function orNull<T extends TSchema>(schema: T, notes: Notes = {}) {
  return Type.Union([schema, Type.Null()], { ...notes });
}

/** ISO 8601 with an explicit offset, such as `2026-11-21T02:00:00+00:00`. */
export function timestamp(notes: Notes = {}): TUnsafe<string> {
  return Type.Unsafe<string>({
    type: 'string',
    format: 'date-time',
    examples: ['2026-11-21T02:00:00+00:00'],
    ...notes,
  });
}

export function timestampOrNull(notes: Notes = {}): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', ...notes });
}

/** With a type in each, without which generated clients know nothing of the value. */
const ADDRESS_FORMATS = [
  { type: 'string', format: 'ipv4' },
  { type: 'string', format: 'ipv6' },
] as const;

export const IpAddress = Type.Unsafe<string>({
  type: 'string',
  anyOf: ADDRESS_FORMATS,
  title: 'IpAddress',
  description: 'An IPv4 or IPv6 address in its canonical form (RFC 5952).',
  examples: ['203.0.113.10', '2001:db8::10'],
});

export const Prefix = Type.Unsafe<string>({
  type: 'string',
  pattern: '^[0-9a-f:.]+/[0-9]{1,3}$',
  maxLength: 43,
  title: 'Prefix',
  description: 'A network in CIDR form, canonical, without host bits.',
  examples: ['203.0.113.0/24', '2001:db8::/32'],
});

export const Port = integer({
  title: 'Port',
  description: 'A port of tcp or udp.',
  minimum: 1,
  maximum: 65_535,
  examples: [25_565],
});

export const MAX_ASN = 4_294_967_295;

export const Asn = integer({
  title: 'Asn',
  description: 'Number of an autonomous system.',
  minimum: 1,
  maximum: MAX_ASN,
  examples: [64_500],
});

/** A query: an object without unknown fields. */
export const CLOSED = { additionalProperties: false } as const;

type Described<T extends TProperties> =
  | readonly [title: string, fields: T]
  | readonly [title: string, description: string, fields: T];

/** An object that is a component of the document: its title, its description if it needs one, and its fields. */
export function object<T extends TProperties>(...described: Described<T>): TObject<T> {
  return titled(described, (fields) => fields, {});
}

/** A request body: an object without unknown fields. */
export function sent<T extends TProperties>(...described: Described<T>): TObject<T> {
  return titled(described, (fields) => fields, CLOSED);
}

/** A response body that has its fields in `data`. */
export function answer<T extends TProperties>(
  ...described: Described<T>
): TObject<{ data: TObject<T> }> {
  return titled(described, (fields) => ({ data: Type.Object(fields) }), {});
}

function titled<T extends TProperties, Made extends TProperties>(
  described: Described<T>,
  make: (fields: T) => Made,
  closed: Partial<typeof CLOSED>,
): TObject<Made> {
  if (described.length === 2) {
    return Type.Object(make(described[1]), { ...closed, title: described[0] });
  }
  const [title, description, fields] = described;
  return Type.Object(make(fields), { ...closed, title, description });
}

export function arrayOf<T extends TProperties>(fields: T, notes: Notes = {}): TArray<TObject<T>> {
  return Type.Array(Type.Object(fields), { ...notes });
}
