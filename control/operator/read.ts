import type { Form } from '@portcullis/contract/schemas/declared/shapes.ts';
import { branchOf, describeField, type Field, fieldsOf } from './fields.ts';
import { FORMS } from './forms.ts';
import { type Kind, NOTHING_OUTSIDE, type Outside, type Refuse } from './kind.ts';

/**
 * Reads an object that matches the schema of its kind: fills in defaults, brings texts into their one spelling, and
 * refuses the rest of what is wrong, at its JSON pointer. The result counts only if nothing was refused.
 */
export function readObject<T extends object>(
  kind: Kind<T>,
  value: object,
  refuse: Refuse,
  outside: Outside = NOTHING_OUTSIDE,
): T {
  const fields = fieldsOf(kind.schema);
  const read = readFields(fields, value, { pointer: '', refuse }) as T;
  const completed = { ...read, ...kind.complete?.(read, outside) } as Readonly<
    Record<string, unknown>
  >;
  // In the order of the schema, which is that of a difference and of an answer.
  const object = Object.fromEntries(
    Object.keys(fields).map((name) => [name, completed[name]]),
  ) as T;
  kind.check?.(object, refuse, outside);
  return object;
}

interface Place {
  readonly pointer: string;
  readonly refuse: Refuse;
}

function readFields(
  fields: Readonly<Record<string, Field>>,
  value: object,
  { pointer, refuse }: Place,
): object {
  const given = value as Readonly<Record<string, unknown>>;
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const member = given[name];
    if (member !== undefined) {
      read[name] = readValue(field, member, { pointer: `${pointer}/${name}`, refuse });
    } else if (field.default !== undefined) read[name] = field.default;
    else if (field.properties !== undefined && (field.required ?? []).length === 0) {
      // An object that is left out has the defaults of its fields.
      read[name] = readFields(field.properties, {}, { pointer: `${pointer}/${name}`, refuse });
    }
  }
  return read;
}

function readValue(field: Field, value: unknown, place: Place): unknown {
  const branch = branchOf(field, value);
  if (typeof value === 'string' || typeof value === 'number') {
    const form = branch['x-form'] ?? field['x-form'];
    return form === undefined ? value : readText(form as Form, String(value), place);
  }
  if (Array.isArray(value)) return readList(branch, value, place);
  if (typeof value !== 'object' || value === null || branch.properties === undefined) return value;
  return readFields(branch.properties, value, place);
}

function readText(form: Form, text: string, { pointer, refuse }: Place): string {
  const parsed = FORMS[form](text);
  if (parsed.ok) return parsed.value;
  refuse(pointer, parsed.reason);
  return text;
}

function readList(field: Field, list: readonly unknown[], { pointer, refuse }: Place): unknown[] {
  const { items = {}, 'x-unique': unique, 'x-sorted': isSorted = false } = field;
  const seen = new Set<string>();
  const read = list.map((item, index) => {
    const at = { pointer: `${pointer}/${index}`, refuse };
    const value = readValue(items, item, at);
    if (unique === undefined) return value;
    const words = describeField(items, value);
    if (seen.has(words)) {
      const named = unique === '' ? describeField(items, item) : `${unique} ${words}`;
      refuse(at.pointer, `${named} is here twice.`);
    }
    seen.add(words);
    return value;
  });
  return isSorted
    ? read.toSorted((a, b) => (describeField(items, a) < describeField(items, b) ? -1 : 1))
    : read;
}
