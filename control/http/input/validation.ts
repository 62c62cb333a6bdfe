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
  const texts = { lines: namesOf(schema, 'x-multiline'), documents: namesOf(schema, 'x-document') };
  const isPlain = texts.lines.size === 0 && texts.documents.size === 0;
  return (value) => {
    const badText = findBadText(isPlain ? value : withoutAllowed(value, texts));
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

/** Names of fields whose text may have control characters. */
interface Texts {
  /** Line ends and tabs. */
  readonly lines: ReadonlySet<string>;
  /** Whatever a file of others has, in the field and all below it; its parser decides on the rest. */
  readonly documents: ReadonlySet<string>;
}

/** Names of the properties that a schema marks with a keyword. */
function namesOf(schema: unknown, keyword: string): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [name, property] of Object.entries(Object(Object(part).properties)))
      if (Object(property)[keyword] === true) names.add(name);
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(schema);
  return names;
}

function withoutAllowed(value: unknown, texts: Texts): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutAllowed(item, texts));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    if (texts.documents.has(key)) return [key, unstorable(item)];
    return [
      key,
      texts.lines.has(key) && typeof item === 'string'
        ? item.replaceAll(/\r?\n|\t/g, ' ')
        : withoutAllowed(item, texts),
    ];
  });
  return Object.fromEntries(entries) as unknown;
}

/** The content of a document: its texts that no database takes, with everything else left out. */
function unstorable(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.includes('\0') || !value.isWellFormed() ? value : '';
  }
  if (Array.isArray(value)) return value.map(unstorable);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, unstorable(item)]);
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

/** Finds control characters and invalid Unicode in all strings of a body, with pointers, up to a limit. */
function findBadText(value: unknown): FieldError[] {
  const found: FieldError[] = [];
  // Of a large body hardly any pointer is needed.
  const path: string[] = [];
  const visit = (part: unknown): void => {
    if (typeof part === 'string') {
      const objection = textProblem(part);
      if (objection === null) return;
      const pointer = path.map((step) => `/${pointerStep(step)}`).join('');
      found.push({ pointer, detail: objection });
    } else if (typeof part === 'object' && part !== null) {
      for (const [key, item] of Object.entries(part)) {
        if (found.length >= MAX_ERRORS) return;
        path.push(key);
        visit(item);
        path.pop();
      }
    }
  };
  visit(value);
  return found;
}
