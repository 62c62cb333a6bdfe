import type { FieldError } from '../../problem.ts';

/** The most errors in a response. */
export const MAX_ERRORS = 20;

/** Includes the line and paragraph separators, which end a line in many programs. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Why a text is refused in a request. Null if it is valid. */
export function textProblem(text: string): string | null {
  if (CONTROL.test(text)) return 'must not contain control characters';
  if (!text.isWellFormed()) return 'must be well-formed Unicode (it has half of a surrogate pair)';
  return null;
}

/** Finds control characters and invalid Unicode in all strings and keys of a body, with pointers, up to a limit. */
export function findBadText(value: unknown, pointer = '', found: FieldError[] = []): FieldError[] {
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

/** One step of a JSON pointer (RFC 6901), cut in case of a hostile key. */
export function pointerStep(key: string): string {
  const short = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return short.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}
