import type { Parsed } from './net/parsed.ts';

/**
 * Reads a JSON value that a peer sent or a file holds. Returns a fresh value that holds only the fields of the
 * schema, so fields that a newer peer added are dropped. Throws `Mismatch` with the place; `check` turns that
 * into `Parsed`. Types of messages are derived with `Static`.
 */
export type Schema<T> = (value: unknown, at: string) => T;
export type Static<S> = S extends Schema<infer T> ? T : never;
/** The union of a table of schemas. */
export type StaticUnion<S> = Static<S[keyof S]>;

class Mismatch extends Error {}

export function check<T>(schema: Schema<T>, value: unknown): Parsed<T> {
  try {
    return { ok: true, value: schema(value, '') };
  } catch (error) {
    if (error instanceof Mismatch) return { ok: false, reason: error.message };
    throw error;
  }
}

export function mismatch(at: string, expected: string): never {
  throw new Mismatch(`${at === '' ? 'it' : at} is not ${expected}`);
}

export function integer(low: number, high: number): Schema<number> {
  return (value, at) =>
    typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high
      ? value
      : mismatch(at, `a whole number from ${low} to ${high}`);
}
export const natural: Schema<number> = integer(0, Number.MAX_SAFE_INTEGER);

/** Never NaN. */
export function number(low: number, high: number): Schema<number> {
  return (value, at) =>
    typeof value === 'number' && value >= low && value <= high
      ? value
      : mismatch(at, `a number from ${low} to ${high}`);
}
export const finite: Schema<number> = (value, at) =>
  Number.isFinite(value) ? (value as number) : mismatch(at, 'a number');

export const boolean: Schema<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : mismatch(at, 'true or false');

/**
 * Output of a program, with its colours. It is cut rather than refused. Characters that a database does not accept as
 * text (NUL, lone surrogates) are replaced. Code that shows it on a terminal removes the others.
 */
export function output(maxLength: number): Schema<string> {
  return (value, at) =>
    typeof value === 'string'
      ? value.slice(0, maxLength).toWellFormed().replaceAll('\0', '\uFFFD')
      : mismatch(at, 'a string');
}

/**
 * Text for people. It is cut rather than refused, so that a long error still arrives. Control characters are replaced
 * but for tabs and line ends: an agent quotes programs and packets, which must not control the operator's terminal.
 */
export function prose(maxLength: number): Schema<string> {
  const parse = output(maxLength);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters to replace
  const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
  return (value, at) => parse(value, at).replaceAll(controls, '\uFFFD');
}

/** Text for programs: refused rather than cut. At most `maxLength` UTF-16 units that a database accepts as text. */
export function text(maxLength: number): Schema<string> {
  return (value, at) =>
    typeof value === 'string' &&
    value.length <= maxLength &&
    !value.includes('\0') &&
    value.isWellFormed()
      ? value
      : mismatch(at, `text of at most ${maxLength} characters`);
}

export function matching(pattern: RegExp, expected: string): Schema<string> {
  return (value, at) =>
    typeof value === 'string' && pattern.test(value) ? value : mismatch(at, expected);
}

/** Characters that a parser of core accepts, at most as many as given. */
export function parsedBy(
  accepts: (text: string) => boolean,
  expected: string,
  maxLength = 64,
): Schema<string> {
  return (value, at) =>
    typeof value === 'string' && value.length <= maxLength && accepts(value)
      ? value
      : mismatch(at, expected);
}

export function oneOf<const T extends string | number>(...values: readonly T[]): Schema<T> {
  return (value, at) => {
    const found = values.find((one) => one === value);
    return found ?? mismatch(at, `one of ${values.join(', ')}`);
  };
}

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return (value, at) => (value === null ? null : schema(value, at));
}

/** A field that may be missing. */
export function withDefault<T>(schema: Schema<T>, otherwise: T): Schema<T> {
  return (value, at) => (value === undefined ? otherwise : schema(value, at));
}

/** A property that is optional in `T` too: `object` leaves it out when it is missing. */
export function optional<T>(schema: Schema<T>): Schema<T> {
  return (value, at) => (value === undefined ? (undefined as T) : schema(value, at));
}

export function array<T>(schema: Schema<T>, maxItems: number): Schema<readonly T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) mismatch(at, 'a list');
    if (value.length > maxItems) mismatch(at, `a list of at most ${maxItems}`);
    return value.map((item, index) => schema(item, `${at}/${index}`));
  };
}

export function record<T>(key: RegExp, schema: Schema<T>): Schema<Readonly<Record<string, T>>> {
  return (value, at) => {
    const result: Record<string, T> = {};
    for (const [name, item] of Object.entries(anyObject(value, at))) {
      if (!key.test(name)) mismatch(`${at}/${name.slice(0, 64)}`, 'a known name');
      result[name] = schema(item, `${at}/${name}`);
    }
    return result;
  };
}

type FieldsOf<T> = { readonly [K in keyof T]-?: Schema<T[K]> };

export function object<T extends object>(schemas: FieldsOf<T>): Schema<Readonly<T>> {
  const fields = Object.entries<Schema<unknown>>(schemas);
  return (value, at) => {
    const source = anyObject(value, at);
    const result: Record<string, unknown> = {};
    for (const [name, schema] of fields) {
      const field = schema(Object.hasOwn(source, name) ? source[name] : undefined, `${at}/${name}`);
      if (field !== undefined) result[name] = field;
    }
    return result as T;
  };
}

/** An object without other fields, so that a mistyped name is noticed. */
export function closed<T extends object>(schemas: FieldsOf<T>): Schema<Readonly<T>> {
  const open = object<T>(schemas);
  const names = Object.keys(schemas);
  return (value, at) => {
    const unknown = Object.keys(anyObject(value, at)).find((name) => !names.includes(name));
    if (unknown === undefined) return open(value, at);
    return mismatch(`${at}/${unknown.slice(0, 64)}`, `one of ${names.join(', ')}`);
  };
}

type Fields = Readonly<Record<string, Schema<unknown>>>;
type WithKind<K, F extends Fields> = { readonly kind: K } & {
  readonly [N in keyof F]: Static<F[N]>;
};

/** Object schemas by their `kind`, which each of them gets as a field. */
export function kinds<const T extends Readonly<Record<string, Fields>>>(
  table: T,
): { readonly [K in keyof T]: Schema<WithKind<K, T[K]>> } {
  const schemas = Object.entries(table).map(([kind, fields]) => [
    kind,
    object({ kind: oneOf(kind), ...fields }),
  ]);
  return Object.fromEntries(schemas) as never;
}

/** One of several schemas, chosen by the `kind` of the value. */
export function union<T extends { readonly kind: string }>(
  schemas: {
    readonly [K in T['kind']]: Schema<Extract<T, { kind: K }>>;
  },
): Schema<T> {
  const known: ReadonlyMap<string, Schema<T>> = new Map(Object.entries<Schema<T>>(schemas));
  const kind = oneOf(...known.keys());
  return (value, at) => {
    const schema = known.get(kind(anyObject(value, at)['kind'], `${at}/kind`));
    return schema === undefined ? mismatch(at, 'of a known kind') : schema(value, at);
  };
}

export function anyObject(value: unknown, at: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return mismatch(at, 'an object');
  }
  return value as Record<string, unknown>;
}
