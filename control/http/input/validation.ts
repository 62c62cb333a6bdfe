import { createValidator, MAX_ERRORS, pointerStep } from '@portcullis/contract/validator.ts';
import type { FieldError } from '../../problem.ts';

/** Valid input or errors. `tooMany`: only a list beyond its limit. */
export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: readonly FieldError[]; readonly tooMany: boolean };

export type Validate = (value: unknown) => Validated;

/** Validates a parsed body: characters first, then the schema. Errors have JSON pointers. */
export function bodyValidator(schema: object): Validate {
  const validator = createValidator(schema);
  // Decided by the schema, so that no other field gets line ends.
  const hasLines = JSON.stringify(schema).includes('"x-multiline":true');
  return (value) => {
    const badText = findBadText(hasLines ? withoutLineEnds(value) : value);
    if (badText.length > 0) return { ok: false, errors: badText, tooMany: false };
    if (validator.fits(value)) return { ok: true, value };
    const errors = validator.explain(value);
    const tooMany = errors.every((error) => error.keyword === 'maxItems');
    return {
      ok: false,
      errors: errors.map(({ pointer, detail }) => ({ pointer, detail })),
      tooMany,
    };
  };
}

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

/** Includes the line and paragraph separators, which end a line in many programs. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Why a text is refused in a request. Null if it is valid. */
export function textProblem(text: string): string | null {
  if (CONTROL.test(text)) return 'must not contain control characters';
  if (!text.isWellFormed()) return 'must be well-formed Unicode (it has half of a surrogate pair)';
  return null;
}

/** Finds control characters and invalid Unicode in all strings and keys of a body, with pointers, up to a limit. */
function findBadText(value: unknown, pointer = '', found: FieldError[] = []): FieldError[] {
  if (found.length >= MAX_ERRORS) return found;
  if (typeof value === 'string') {
    const objection = textProblem(value);
    if (objection !== null) found.push({ pointer, detail: objection });
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) findBadText(item, `${pointer}/${index}`, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      findBadText(item, `${pointer}/${pointerStep(key)}`, found);
    }
  }
  return found;
}
