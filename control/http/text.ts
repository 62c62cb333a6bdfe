import type { FieldError } from '../problem.ts';

/** What an answer lists at most; the rest is found after these are mended. */
export const MAX_ERRORS = 20;

/** With the line and paragraph separators: to many a program they end a line as well. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Why a text is refused anywhere in a request, in words; null when it is fine. */
export function objectionToText(text: string): string | null {
  if (CONTROL.test(text)) return 'must not contain control characters';
  if (!text.isWellFormed()) return 'must be well-formed Unicode (it has half of a surrogate pair)';
  return null;
}

/** Control characters and broken Unicode in any string or key of a parsed body, with pointers; capped. */
export function findBadText(value: unknown, pointer = '', found: FieldError[] = []): FieldError[] {
  if (found.length >= MAX_ERRORS) return found;
  if (typeof value === 'string') {
    const objection = objectionToText(value);
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

/** One step of a JSON pointer (RFC 6901), cut so that a hostile key cannot blow up the answer. */
export function pointerStep(key: string): string {
  const short = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return short.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}
