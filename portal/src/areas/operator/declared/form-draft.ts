import { listOf } from '../fleet/list-of.ts';
import type { FormField, WordsField } from './form-fields.ts';

/** The values of a form, as they are typed. */
export interface Draft {
  readonly [name: string]: Typed;
}
export type Typed = string | number | boolean | Draft | readonly Draft[];

/** A secret as it is typed: a new one, or that the present one ends. It is never read. */
interface SecretDraft extends Draft {
  readonly typed: string;
  readonly isEnded: boolean;
}

type Values = Readonly<Record<string, unknown>>;

/** An object as a form shows it; fields that it lacks have their defaults. */
export function draftOf(fields: readonly FormField[], object: Values = {}): Draft {
  return Object.fromEntries(
    fields.map((field) => [field.name, typedOf(field, object[field.name] ?? field.fallback)]),
  );
}

function typedOf(field: FormField, value: unknown): Typed {
  const { kind } = field;
  if (kind === 'parts') return draftOf(field.fields, valuesOf(value));
  if (kind === 'items') {
    return itemsOf(value).map((item) => draftOf(field.fields, valuesOf(item)));
  }
  if (kind === 'words' && Array.isArray(value)) return value.join(field.isOfLines ? '\n' : ', ');
  if (kind === 'secret') return { typed: '', isEnded: false } satisfies SecretDraft;
  if (kind === 'switch') return value === true;
  if (kind === 'number') return typeof value === 'number' ? value : '';
  return textOf(value);
}

/** The object that a form makes: what is empty is left out, and gets its default. */
export function objectOf(fields: readonly FormField[], draft: Draft): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = valueOf(field, draft[field.name] ?? '');
      return value === undefined ? [] : [[field.name, value]];
    }),
  );
}

/** A merge patch of the fields that were changed: null gives a field that was emptied its default. */
export function patchOf(
  fields: readonly FormField[],
  before: Draft,
  now: Draft,
): Record<string, unknown> {
  const changed = fields.filter(
    ({ name }) => JSON.stringify(before[name]) !== JSON.stringify(now[name]),
  );
  return Object.fromEntries(
    changed.map((field) => [
      field.name,
      patchValue(field, before[field.name] ?? '', now[field.name] ?? ''),
    ]),
  );
}

function patchValue(field: FormField, before: Typed, now: Typed): unknown {
  if (field.kind !== 'parts') return valueOf(field, now) ?? null;
  return patchOf(field.fields, before as Draft, now as Draft);
}

function valueOf(field: FormField, typed: Typed): unknown {
  const { kind } = field;
  if (kind === 'parts') return objectOf(field.fields, typed as Draft);
  if (kind === 'items') return itemsOf(typed).map((item) => objectOf(field.fields, item as Draft));
  if (kind === 'words') return wordsValue(field, textOf(typed));
  if (kind === 'switch') return typed;
  if (kind === 'number') return typed === '' ? undefined : Number(typed);
  if (kind !== 'secret') return textValue(textOf(typed));
  const secret = typed as SecretDraft;
  return secret.isEnded ? null : textValue(secret.typed);
}

function wordsValue(field: WordsField, typed: string): unknown {
  const words = wordsOf(field, typed);
  const [only = ''] = words;
  if (words.length === 1 && field.alone.includes(only)) return only;
  if (words.length === 0) return field.fallback === null ? undefined : [];
  // What is no number is left to the service to refuse.
  return field.isOfNumbers
    ? words.map((word) => (/^\d+$/.test(word) ? Number(word) : word))
    : words;
}

/** Items of a list that is typed as a text. */
export function wordsOf({ isOfLines }: WordsField, typed: string): string[] {
  if (!isOfLines) return listOf(typed);
  const lines = typed.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

function textValue(typed: string): string | undefined {
  const text = typed.trim();
  return text === '' ? undefined : text;
}

/** The names of required fields that are empty, as `rules.0.action`. */
export function missingIn(fields: readonly FormField[], draft: Draft, path = ''): string[] {
  return fields.flatMap((field) => {
    const at = `${path}${field.name}`;
    const typed = draft[field.name] ?? '';
    if (field.kind === 'parts') return missingIn(field.fields, typed as Draft, `${at}.`);
    const items = field.kind === 'items' ? itemsOf(typed) : [];
    const within =
      field.kind === 'items'
        ? items.flatMap((item, index) => missingIn(field.fields, item as Draft, `${at}.${index}.`))
        : [];
    return field.isRequired && isEmpty(field, typed) ? [at, ...within] : within;
  });
}

function isEmpty(field: FormField, typed: Typed): boolean {
  const value = valueOf(field, typed);
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** A field of a form, and the item of a list that is typed into it. */
interface Place {
  readonly path: string;
  readonly index: number | null;
}

/** Finds the field that a JSON pointer means: `/addresses/3` is item 3 of the field `addresses`. */
export function placeOf(fields: readonly FormField[], pointer: string): Place {
  const steps = pointer.slice(1).split('/');
  const path: string[] = [];
  let known: readonly FormField[] = fields;
  for (let at = 0; at < steps.length; at += 1) {
    const step = steps[at] ?? '';
    path.push(step);
    const field = known.find(({ name }) => name === step);
    if (field?.kind === 'secret') return { path: [...path, 'typed'].join('.'), index: null };
    if (field?.kind === 'words') {
      const index = steps[at + 1];
      return { path: path.join('.'), index: index === undefined ? null : Number(index) };
    }
    if (field?.kind === 'items' || field?.kind === 'parts') known = field.fields;
  }
  return { path: path.join('.'), index: null };
}

/** The words of the item that a pointer means, where one field has the whole list. */
export function itemAt(fields: readonly FormField[], pointer: string, draft: Draft): string | null {
  const { path, index } = placeOf(fields, pointer);
  if (index === null) return null;
  let typed: unknown = draft;
  let field: FormField | undefined;
  let known = fields;
  for (const step of path.split('.')) {
    typed = Object(typed)[step];
    field = known.find(({ name }) => name === step) ?? field;
    if (field?.kind === 'items' || field?.kind === 'parts') known = field.fields;
  }
  return field?.kind === 'words' ? (wordsOf(field, textOf(typed))[index] ?? null) : null;
}

export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function valuesOf(value: unknown): Values {
  return typeof value === 'object' && value !== null ? (value as Values) : {};
}

/** A text or a number as it is typed; all else is nothing. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
