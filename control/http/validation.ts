import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FieldError } from '../problem.ts';
import { explainSchemaErrors } from './schema-errors.ts';
import { findBadText } from './text.ts';

/** Good input, or what is wrong with it. `tooMany`: nothing but a list longer than the contract allows. */
export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: readonly FieldError[]; readonly tooMany: boolean };

export type Validate = (value: unknown) => Validated;

/**
 * Compiles the schema of a body, or of query parameters after `parseQuery` gave them their types.
 * Nothing is coerced, filled in or removed: what was sent is what is judged.
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
  // Schemas are the contract's: they carry OpenAPI keywords that ajv does not know.
  strict: false,
});
addFormats.default(ajv);

/** Judges a parsed body: characters first, then the schema. Errors carry JSON pointers. */
export function bodyValidator(schema: object): Validate {
  const validate = compileSchema(schema);
  return (value) => {
    const badText = findBadText(value);
    if (badText.length > 0) return { ok: false, errors: badText, tooMany: false };
    if (validate(value)) return { ok: true, value };
    const errors = validate.errors ?? [];
    const tooMany = errors.every((error) => error.keyword === 'maxItems');
    return { ok: false, errors: explainSchemaErrors(errors), tooMany };
  };
}
