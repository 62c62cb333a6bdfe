import { ProblemError } from '@portcullis/client/index.ts';

/** The field that shows what is wrong at a pointer; null: none does. */
export type FieldOf = (pointer: string | null | undefined) => string | null;

/** The fields of other names, by pointer. */
export type Pointers = Readonly<Record<string, string>> | ((pointer: string) => string);

/**
 * Finds fields by pointer: `/limits/rules` is the field `limits.rules`. `named` has the fields of other names, `shown` the
 * names of those that the form has. An element of a list has none, because below the list nobody would see which it is,
 * unless `named` finds the field and the form names the element.
 */
export function fieldsByPointer(named: Pointers, shown: ReadonlySet<string>): FieldOf {
  const nameOf = typeof named === 'function' ? named : (pointer: string) => named[pointer];
  return (pointer) => {
    if (pointer === undefined || pointer === null) return null;
    const field = nameOf(pointer) ?? pointer.slice(1).replaceAll('/', '.');
    return shown.has(field) ? field : null;
  };
}

/**
 * A sentence of what the service says of a field, which goes on after the field's name: "must have at least 12
 * characters" is "It must have at least 12 characters." below the field.
 */
export function sentenceOf(detail: string): string {
  const whole = /^\p{Ll}/u.test(detail) ? `It ${detail}` : detail;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** The fields that the service refused, by field. `itemOf` names the element of a list that a pointer means. */
export function errorsByField(
  error: Error,
  fieldOf: FieldOf,
  itemOf: (pointer: string) => string | null = () => null,
): Record<string, string> {
  const errors = error instanceof ProblemError ? error.errors : [];
  const sentences = new Map<string, string>();
  for (const { pointer, detail } of errors) {
    const field = fieldOf(pointer);
    if (field === null) continue;
    const item = itemOf(pointer ?? '');
    const before = item === null ? undefined : sentences.get(field);
    const sentence = item === null ? sentenceOf(detail) : `${item}: ${detail}`;
    sentences.set(field, before === undefined ? sentence : `${before}; ${sentence}`);
  }
  return Object.fromEntries(sentences);
}
