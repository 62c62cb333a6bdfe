import type { Parsed } from '@portcullis/core/net/parsed.ts';

/**
 * Checks of JSON that a peer sent. A shape returns a fresh value that holds only what it names (fields
 * that a newer peer added fall away) or throws `Misshapen` with the place; `check` turns that into `Parsed`.
 */
export type Shape<T> = (value: unknown, at: string) => T;

class Misshapen extends Error {}

export function check<T>(shape: Shape<T>, value: unknown): Parsed<T> {
  try {
    return { ok: true, value: shape(value, '') };
  } catch (error) {
    if (error instanceof Misshapen) return { ok: false, reason: error.message };
    throw error;
  }
}

export function misshapen(at: string, wanted: string): never {
  throw new Misshapen(`${at === '' ? 'the message' : at} is not ${wanted}`);
}

export function integer(low: number, high: number): Shape<number> {
  return (value, at) =>
    typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high
      ? value
      : misshapen(at, `a whole number from ${low} to ${high}`);
}
export const whole: Shape<number> = integer(0, Number.MAX_SAFE_INTEGER);

export const amount: Shape<number> = (value, at) =>
  typeof value === 'number' && Number.isFinite(value) ? value : misshapen(at, 'a number');

/** A measurement: whole or not, never NaN. */
export function between(low: number, high: number): Shape<number> {
  return (value, at) =>
    typeof value === 'number' && value >= low && value <= high
      ? value
      : misshapen(at, `a number from ${low} to ${high}`);
}

export const flag: Shape<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : misshapen(at, 'true or false');

/**
 * Prose for people, of any length: cut rather than refused, so that a long error still arrives. What a database
 * takes for no text (NUL, half of a character) is replaced: a report must not fail for the words in it.
 */
export function prose(maxLength: number): Shape<string> {
  return (value, at) =>
    typeof value === 'string'
      ? value.slice(0, maxLength).toWellFormed().replaceAll('\0', '\uFFFD')
      : misshapen(at, 'a string');
}

export function matching(pattern: RegExp, what: string): Shape<string> {
  return (value, at) =>
    typeof value === 'string' && pattern.test(value) ? value : misshapen(at, what);
}

/** Text that is not cut, because something is done with it: up to `maxLength` UTF-16 units of what a database takes. */
export function text(maxLength: number): Shape<string> {
  return (value, at) =>
    typeof value === 'string' &&
    value.length <= maxLength &&
    !value.includes('\0') &&
    value.isWellFormed()
      ? value
      : misshapen(at, `text of at most ${maxLength} characters`);
}

/** A string that a parser of core accepts. */
export function accepted(accepts: (text: string) => boolean, what: string): Shape<string> {
  return (value, at) =>
    typeof value === 'string' && value.length <= 64 && accepts(value) ? value : misshapen(at, what);
}

export function oneOf<const T extends string>(...values: readonly T[]): Shape<T> {
  return (value, at) => {
    const found = values.find((one) => one === value);
    return found ?? misshapen(at, `one of ${values.join(', ')}`);
  };
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value === null ? null : shape(value, at));
}

/** A field that an older peer does not send reads as `otherwise`. */
export function optional<T>(shape: Shape<T>, otherwise: T): Shape<T> {
  return (value, at) => (value === undefined ? otherwise : shape(value, at));
}

export function list<T>(shape: Shape<T>, maxItems: number): Shape<T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) misshapen(at, 'a list');
    if (value.length > maxItems) misshapen(at, `a list of at most ${maxItems}`);
    return value.map((item, index) => shape(item, `${at}/${index}`));
  };
}

export function record<T>(key: RegExp, shape: Shape<T>): Shape<Record<string, T>> {
  return (value, at) => {
    const result: Record<string, T> = {};
    for (const [name, item] of Object.entries(plainObject(value, at))) {
      if (!key.test(name)) misshapen(`${at}/${name.slice(0, 64)}`, 'a known name');
      result[name] = shape(item, `${at}/${name}`);
    }
    return result;
  };
}

export function object<T extends object>(
  shapes: { readonly [K in keyof T]: Shape<T[K]> },
): Shape<T> {
  const fields = Object.entries<Shape<unknown>>(shapes);
  return (value, at) => {
    const source = plainObject(value, at);
    const result: Record<string, unknown> = {};
    for (const [name, shape] of fields) {
      result[name] = shape(Object.hasOwn(source, name) ? source[name] : undefined, `${at}/${name}`);
    }
    return result as T;
  };
}

/** One of several shapes, told apart by its `kind`. */
export function byKind<T extends { readonly kind: string }>(
  shapes: {
    readonly [K in T['kind']]: Shape<Extract<T, { kind: K }>>;
  },
): Shape<T> {
  const known: Readonly<Record<string, Shape<T>>> = shapes;
  const kind = oneOf(...Object.keys(known));
  return (value, at) => {
    const shape = known[kind(plainObject(value, at)['kind'], `${at}/kind`)];
    return shape === undefined ? misshapen(at, 'of a known kind') : shape(value, at);
  };
}

export function plainObject(value: unknown, at: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return misshapen(at, 'an object');
  }
  return value as Record<string, unknown>;
}
