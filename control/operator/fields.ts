/** The parts of JSON Schema, and of its extensions, that the schemas of kinds are made of. */
export interface Field {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Field>>;
  readonly items?: Field;
  readonly anyOf?: readonly Field[];
  readonly default?: unknown;
  readonly 'x-form'?: string;
  readonly 'x-unique'?: string;
  readonly 'x-sorted'?: boolean;
  readonly 'x-words'?: readonly string[];
}

/** The fields of an object's schema, in their order. */
export function fieldsOf(schema: object): Readonly<Record<string, Field>> {
  return (schema as Field).properties ?? {};
}

/** The branch of a union that takes values of this type; other schemas are their own branch. */
export function branchOf(field: Field, value: unknown): Field {
  return field.anyOf?.find((branch) => takes(branch, value)) ?? field;
}

function takes({ type }: Field, value: unknown): boolean {
  const types = [type ?? []].flat();
  if (value === null) return types.includes('null');
  if (Array.isArray(value)) return types.includes('array');
  const found = typeof value === 'number' ? ['number', 'integer'] : [typeof value];
  return types.some((one) => found.includes(one));
}

/** A value in a few words: of an object the fields that its schema names, or all of them. */
export function describeField(field: Field, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  const { items = {}, 'x-words': words } = branchOf(field, value);
  if (Array.isArray(value)) {
    return `[${value.map((item: unknown) => describeField(items, item)).join(', ')}]`;
  }
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || words === undefined) return JSON.stringify(value);
  const members = value as Readonly<Record<string, unknown>>;
  return words
    .filter((name) => members[name] !== null && members[name] !== undefined)
    .map((name) => String(members[name]))
    .join(' ');
}
