import { createValidator, MAX_ERRORS } from '@portcullis/contract/validator.ts';
import type { FieldError } from '../../problem.ts';
import { textProblem, type Validated } from './validation.ts';

/** The query part of a schema that this reader understands: flat, each parameter of one simple type, or a list of texts. */
interface QuerySchema {
  readonly properties?: Readonly<Record<string, Property>>;
}
interface Property {
  readonly type?: unknown;
  readonly format?: unknown;
}

export type ValidateQuery = (query: string) => Validated;

const INTEGER = /^-?(?:0|[1-9][0-9]{0,15})$/;
const NUMBER = /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  false: false,
  '0': false,
};

/**
 * Parses a query string by the operation's schema; without one every parameter is unknown. Strict: integers are decimal
 * digits without leading zeros, booleans `true`, `false`, `1` or `0`. Each parameter may appear once, but for a list, of
 * which each value is one. Errors name the parameter.
 */
export function queryValidator(schema: QuerySchema | undefined): ValidateQuery {
  const properties = new Map(Object.entries(schema?.properties ?? {}));
  const validator = schema === undefined ? null : createValidator(schema);
  return (query) => {
    const errors: FieldError[] = [];
    const values: Record<string, unknown> = {};
    for (const pair of query === '' ? [] : query.split('&')) {
      if (pair === '' || errors.length >= MAX_ERRORS) continue;
      const read = readPair(pair, properties, values);
      if (typeof read === 'object') errors.push(read);
    }
    if (errors.length > 0) return { ok: false, errors, tooMany: false };
    if (validator === null || validator.fits(values)) return { ok: true, value: values };
    const found = validator.explain(values).map(({ pointer, detail }) => ({
      parameter: pointer.split('/')[1] ?? '',
      detail,
    }));
    return { ok: false, errors: found, tooMany: false };
  };
}

/** Adds one `name=value` to `values`, or returns an error. */
function readPair(
  pair: string,
  properties: ReadonlyMap<string, Property>,
  values: Record<string, unknown>,
): FieldError | true {
  const equals = pair.indexOf('=');
  const name = decode(equals === -1 ? pair : pair.slice(0, equals));
  const text = decode(equals === -1 ? '' : pair.slice(equals + 1));
  if (name === null) return { parameter: cut(pair), detail: 'is not valid percent-encoding' };
  const parameter = cut(name);
  const property = properties.get(name);
  if (property === undefined) return { parameter, detail: 'is not a known query parameter' };
  if (text === null) return { parameter, detail: 'is not valid percent-encoding' };
  const isList = property.type === 'array';
  if (Object.hasOwn(values, name) && !isList) return { parameter, detail: 'must stand only once' };
  const objection = textProblem(text);
  if (objection !== null) return { parameter, detail: objection };
  if (isList) {
    const before = Object.hasOwn(values, name) ? (values[name] as readonly string[]) : [];
    values[name] = [...before, text];
    return true;
  }
  const value = convert(text, property);
  if (value === undefined)
    return { parameter, detail: EXPECTATIONS[String(property.type)] ?? 'is not valid' };
  values[name] = value;
  return true;
}

const EXPECTATIONS: Readonly<Record<string, string>> = {
  integer: 'must be an integer in decimal digits',
  number: 'must be a decimal number',
  boolean: 'must be true, false, 1 or 0',
};

/** An unescaped `+` of an offset has become a space. */
const LOST_PLUS = / (?=\d\d:\d\d$)/;

function convert(text: string, { type, format }: Property): unknown {
  if (format === 'date-time') return text.replace(LOST_PLUS, '+');
  if (type === 'integer') return INTEGER.test(text) ? Number(text) : undefined;
  if (type === 'number') return NUMBER.test(text) ? Number(text) : undefined;
  if (type === 'boolean') return Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined;
  return text;
}

/** Decodes as forms encode: `+` is a space. Null for broken percent-encoding and bytes that are not UTF-8. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

function cut(name: string): string {
  return name.toWellFormed().slice(0, 64);
}
