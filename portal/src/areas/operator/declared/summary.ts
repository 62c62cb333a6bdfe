import { operatorDeclaredMessages as messages } from '../../../messages/operator-declared.ts';
import { itemsOf } from './form-draft.ts';
import type { FormField } from './form-fields.ts';

type Values = Readonly<Record<string, unknown>>;

/** A field of an object that is not as by default. */
export interface Fact {
  readonly field: FormField;
  readonly text: string;
}

const NAMED = 5;

/** The facts of an object that its line in a list shows; secrets are in none. */
export function factsOf(fields: readonly FormField[], object: Values): Fact[] {
  return fields.flatMap((field) => {
    const value = object[field.name];
    if (field.kind === 'secret' || isPlain(field, value)) return [];
    if (field.kind === 'parts') return factsOf(field.fields, value as Values);
    const items = Array.isArray(value) ? value : [value];
    const words = items.slice(0, NAMED).map((item) => wordsOf(field, item));
    return [{ field, text: words.join(', ') + (items.length > NAMED ? ', …' : '') }];
  });
}

function isPlain({ fallback = null }: FormField, value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value) && value.length === 0) return true;
  return JSON.stringify(value) === JSON.stringify(fallback);
}

function wordsOf(field: FormField, item: unknown): string {
  if (field.kind === 'switch') return item === true ? messages.yes : messages.no;
  if (field.kind !== 'items') return String(item);
  const values = field.fields.map((each) => (item as Values)[each.name]);
  return values
    .filter((value) => value !== null && value !== '' && value !== undefined)
    .map((value) => itemsOf(value).join(' ') || String(value))
    .join(' ');
}
