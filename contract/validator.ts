import type { Static, TSchema } from 'typebox';
import { Format } from 'typebox/format';
import { Compile } from 'typebox/schema';
import { Settings } from 'typebox/system';

/** The most errors of one value that are explained. */
export const MAX_ERRORS = 20;
/** A union has an error for each branch, so the library collects more. */
Settings.Set({ maxErrors: 200 });

/** The last time whose year has four digits in UTC, with which it is stored and answered. */
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/** RFC 3339 only: the library also takes the time zone of RFC 9557 in brackets, which Date does not parse. */
Format.Set('date-time', (text) => {
  return !text.includes('[') && Format.IsDateTime(text) && Date.parse(text) <= LAST_TIME;
});

/** A place where a value does not fit its schema. */
export interface SchemaError {
  /** The JSON pointer of the place; of a missing or unknown field its own. */
  readonly pointer: string;
  /** A sentence without its subject, such as `must be an integer`. */
  readonly detail: string;
  /** The keyword of JSON Schema that refused the value. */
  readonly keyword: string;
  /** For an unknown field: the fields that its object may have. */
  readonly known?: readonly string[];
}

/** Checks values against a TypeBox schema. Nothing is coerced, added or removed. */
export interface Validator<T> {
  fits(value: unknown): value is T;
  /** Why a value does not fit, one error a place, at most `MAX_ERRORS`. */
  explain(value: unknown): SchemaError[];
}

export function createValidator<S extends TSchema>(schema: S): Validator<Static<S>> {
  const compiled = Compile(schema);
  const known = knownOf(schema);
  return {
    fits: (value): value is Static<S> => compiled.Check(value),
    explain(value) {
      // The library goes on after the last error that it keeps, so it gets no more than can be explained.
      const [, errors] = compiled.Errors(excerptOf(value, known));
      return explainErrors(schema, errors);
    },
  };
}

/** Names that a schema names anywhere. */
interface Known {
  readonly fields: ReadonlySet<string>;
  /** The longest text that fits somewhere, in characters, and the longest list. */
  readonly longest: number;
  readonly mostItems: number;
  /** The fields among them whose value may have any fields. */
  readonly open: ReadonlySet<string>;
}

function knownOf(schema: TSchema): Known {
  const [fields, open] = [new Set<string>(), new Set<string>()];
  let [longest, mostItems] = [0, 0];
  JSON.stringify(schema, (_key, part: unknown) => {
    const { properties = {}, maxLength, maxItems, type } = Object(part) as Keywords;
    for (const [name, field] of Object.entries(properties)) {
      fields.add(name);
      if (isOpen(field)) open.add(name);
    }
    if (type === 'string') longest = Math.max(longest, maxLength ?? UNBOUNDED_LENGTH);
    if (type === 'array') mostItems = Math.max(mostItems, maxItems ?? Infinity);
    return part;
  });
  return { fields, open, longest, mostItems };
}

/** Enough of a text whose length a pattern or a list bounds. */
const UNBOUNDED_LENGTH = 1_024;

function isOpen(part: unknown): boolean {
  const { type, additionalProperties, items, anyOf = [] } = Object(part) as Keywords;
  if (type === 'object' && additionalProperties !== false) return true;
  return [items, ...anyOf].some((one) => one !== undefined && isOpen(one));
}

interface Keywords {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly items?: unknown;
  readonly anyOf?: readonly unknown[];
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly type?: unknown;
  readonly additionalProperties?: unknown;
}

/** The value with at most as many unknown fields and items, and as much of a text, as an explanation needs. */
function excerptOf(value: unknown, known: Known): unknown {
  // A character may be two units of UTF-16, and the excerpt must be too long where the text is.
  const most = 2 * known.longest + 2;
  if (typeof value === 'string') return value.length > most ? value.slice(0, most) : value;
  if (typeof value !== 'object' || value === null) return value;
  // Most of a value is as it should be, and is not copied.
  let isChanged = false;
  const excerpt = (item: unknown): unknown => {
    const made = excerptOf(item, known);
    isChanged ||= made !== item;
    return made;
  };
  if (Array.isArray(value)) {
    const items = value.slice(0, known.mostItems + 1).map(excerpt);
    return isChanged || items.length < value.length ? items : value;
  }
  let unknown = 0;
  const entries = Object.entries(value)
    .filter(([name]) => known.fields.has(name) || (unknown += 1) <= MAX_ERRORS)
    .map(([name, item]) => [name, known.open.has(name) ? item : excerpt(item)] as const);
  return isChanged || unknown > MAX_ERRORS ? Object.fromEntries(entries) : value;
}

/** One step of a JSON pointer (RFC 6901), cut in case of a hostile key. */
export function pointerStep(key: string): string {
  const short = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return short.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}

type LibraryError = ReturnType<ReturnType<typeof Compile>['Errors']>[1][number];

/**
 * Explains errors. Of a union (`string or null`) the library reports every branch: the branch that fits the value's
 * type is explained, or the union.
 */
function explainErrors(schema: TSchema, errors: readonly LibraryError[]): SchemaError[] {
  const explained = new Map<string, SchemaError>();
  for (const error of withoutUnionNoise(schema, errors)) {
    for (const pointer of pointersOf(error)) {
      if (explained.size >= MAX_ERRORS) break;
      if (explained.has(pointer)) continue;
      explained.set(pointer, {
        pointer,
        detail: describe(schema, error),
        keyword: error.keyword,
        ...(error.keyword === 'additionalProperties' && { known: fieldsOf(schema, error) }),
      });
    }
  }
  return [...explained.values()];
}

/** An error of an unrelated branch. */
const MISFITS = new Set(['type', 'const', 'format']);

function withoutUnionNoise(schema: TSchema, errors: readonly LibraryError[]): LibraryError[] {
  const real = errors.filter((error) => !isRepeated(schema, error));
  const unions = real.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  if (unions.length === 0) return real;
  const spoken = new Set<string>();
  const kept: LibraryError[] = [];
  for (const error of real) {
    if (unions.includes(error)) continue;
    const within = unions.some(({ schemaPath, keyword }) =>
      error.schemaPath.startsWith(`${schemaPath}/${keyword}/`),
    );
    if (within && MISFITS.has(error.keyword)) continue;
    if (within) spoken.add(error.instancePath);
    kept.push(error);
  }
  return [...kept, ...unions.filter((union) => !spoken.has(union.instancePath))];
}

/**
 * Tells errors that another one explains: `additionalProperties: false` is a false schema too, a name fails the schema of
 * names too, and a member that fails the schema of other members makes its object fail.
 */
function isRepeated(schema: TSchema, { keyword, schemaPath }: LibraryError): boolean {
  if (keyword === 'boolean' || schemaPath.includes('/propertyNames')) return true;
  if (keyword !== 'additionalProperties') return false;
  const { additionalProperties } = Object(schemaAt(schema, schemaPath)) as Keywords;
  return additionalProperties !== false;
}

function pointersOf({ instancePath, params }: LibraryError): string[] {
  const names: unknown = Object.entries(params).find(([name]) => NAMING.has(name))?.[1];
  if (!Array.isArray(names)) return [instancePath];
  return names.map((name) => `${instancePath}/${pointerStep(String(name))}`);
}

const NAMING = new Set([
  'requiredProperties',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
]);

const DESCRIPTIONS: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  required: () => 'is required',
  additionalProperties: () => 'is not a known field',
  unevaluatedProperties: () => 'is not a known field',
  propertyNames: () => 'is not a valid name',
  type: ({ type }) => `must be ${namesOf(type)}`,
  enum: ({ allowedValues }) => `must be one of ${listOf(allowedValues)}`,
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  minLength: ({ limit }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`,
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  minItems: ({ limit }) => `must name at least ${limit}`,
  maxItems: ({ limit }) => `must name at most ${limit}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be greater than ${limit}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
  minProperties: ({ limit }) => `must have at least ${limit} fields`,
  uniqueItems: () => 'must not name the same twice',
  pattern: () => 'does not have the expected form',
  format: ({ format }) => `must be a valid ${String(format)}`,
};

function describe(schema: TSchema, { keyword, params, schemaPath }: LibraryError): string {
  if (keyword === 'anyOf' || keyword === 'oneOf') return describeUnion(schema, schemaPath, keyword);
  return DESCRIPTIONS[keyword]?.({ ...params }) ?? 'is not valid';
}

/** `string, integer or null` from the branches of a union; constants by their value. */
function describeUnion(schema: TSchema, schemaPath: string, keyword: string): string {
  const branches: unknown = Object(schemaAt(schema, schemaPath))[keyword];
  if (!Array.isArray(branches)) return 'is not valid';
  const names = branches.map((branch: unknown): string => {
    if (typeof branch !== 'object' || branch === null) return 'something else';
    if ('const' in branch) return JSON.stringify(branch.const);
    if ('type' in branch) return namesOf(branch.type);
    return 'format' in branch ? `a valid ${String(branch.format)}` : 'something else';
  });
  return `must be ${join(names)}`;
}

function fieldsOf(schema: TSchema, { schemaPath }: LibraryError): string[] {
  const { properties = {} } = Object(schemaAt(schema, schemaPath)) as Keywords;
  return Object.keys(properties);
}

/** The part of a schema at a path such as `#/properties/source/anyOf/0`. */
function schemaAt(schema: TSchema, path: string): unknown {
  const steps = path.split('/').slice(1);
  return steps.reduce<unknown>((part, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return (Object(part) as Readonly<Record<string, unknown>>)[name];
  }, schema);
}

const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

function namesOf(type: unknown): string {
  const types = Array.isArray(type) ? type : [type];
  return join(types.map((one: unknown) => ARTICLES[String(one)] ?? String(one)));
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? join(values.map((value: unknown) => JSON.stringify(value))) : '';
}

function join(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
