import { ProblemError } from '@portcullis/client/index.ts';

/** The field that shows what is wrong at a pointer; null: none does. */
export type FieldOf = (pointer: string | null | undefined) => string | null;

/**
 * Finds fields by pointer: `/limits/rules` is the field `limits.rules`. `named` has the fields of other names, `shown` the
 * names of those that the form has. An element of a list has none, because below the list nobody would see which it is.
 */
export function fieldsByPointer(
  named: Readonly<Record<string, string>>,
  shown: ReadonlySet<string>,
): FieldOf {
  return (pointer) => {
    if (pointer === undefined || pointer === null) return null;
    const field = named[pointer] ?? pointer.slice(1).replaceAll('/', '.');
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

/** The fields that the service refused, by field. */
export function errorsByField(error: Error, fieldOf: FieldOf): Record<string, string> {
  const errors = error instanceof ProblemError ? error.errors : [];
  return Object.fromEntries(
    errors.flatMap(({ pointer, detail }) => {
      const field = fieldOf(pointer);
      return field === null ? [] : [[field, sentenceOf(detail)]];
    }),
  );
}
