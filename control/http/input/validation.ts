import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FieldError } from '../../problem.ts';
import { explainSchemaErrors } from './schema-errors.ts';
import { findBadText } from './text.ts';

/** Valid input or errors. `tooMany`: only a list beyond its limit. */
export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: readonly FieldError[]; readonly tooMany: boolean };

export type Validate = (value: unknown) => Validated;

/**
 * Compiles the schema of a body, or of query parameters parsed by `parseQuery`. Nothing is coerced, added or removed.
 */
export function compileSchema(schema: object): ValidateFunction {
  return ajv.compile(schema);
}

const ajv = new Ajv2020({
  allErrors: true,
  verbose: true,
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  strictNumbers: true,
  // The contract's schemas have OpenAPI keywords that ajv does not know.
  strict: false,
});
addFormats.default(ajv);

/** Fields of a body that may have several lines; the schema marks them with `x-multiline`. */
const MULTILINE = new Set(['note']);

function withoutLineEnds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLineEnds);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    MULTILINE.has(key) && typeof item === 'string'
      ? item.replaceAll(/\r?\n|\t/g, ' ')
      : withoutLineEnds(item),
  ]);
  return Object.fromEntries(entries) as unknown;
}

/** Validates a parsed body: characters first, then the schema. Errors have JSON pointers. */
export function bodyValidator(schema: object): Validate {
  const validate = compileSchema(schema);
  // Decided by the schema, so that no other field gets line ends.
  const hasLines = JSON.stringify(schema).includes('"x-multiline":true');
  return (value) => {
    const badText = findBadText(hasLines ? withoutLineEnds(value) : value);
    if (badText.length > 0) return { ok: false, errors: badText, tooMany: false };
    if (validate(value)) return { ok: true, value };
    const errors = validate.errors ?? [];
    const tooMany = errors.every((error) => error.keyword === 'maxItems');
    return { ok: false, errors: explainSchemaErrors(errors), tooMany };
  };
}
