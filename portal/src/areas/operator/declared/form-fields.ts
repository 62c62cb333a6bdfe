/** The part of JSON Schema that the schemas of declared objects are made of. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly 'x-form'?: string;
}

interface Named {
  readonly name: string;
  /** The description of the schema. */
  readonly help: string;
  /** It has no default, and is not null. */
  readonly isRequired: boolean;
  readonly fallback: unknown;
}

interface Text extends Named {
  readonly kind: 'text' | 'moment' | 'secret' | 'switch';
  readonly maxLength: number;
}

interface Amount extends Named {
  readonly kind: 'number';
  readonly minimum: number;
  readonly maximum: number;
}

interface Choice extends Named {
  readonly kind: 'choice';
  readonly values: readonly string[];
}

/** A list that is typed as a text. */
export interface WordsField extends Named {
  readonly kind: 'words';
  readonly isOfNumbers: boolean;
  /** Its items may have spaces in them: one is a line. */
  readonly isOfLines: boolean;
  /** Words that stand instead of a list, such as `all`. */
  readonly alone: readonly string[];
}

/** A list of objects. */
export interface ItemsField extends Named {
  readonly kind: 'items';
  readonly fields: readonly FormField[];
}

/** An object in the object. */
interface Parts extends Named {
  readonly kind: 'parts';
  readonly fields: readonly FormField[];
}

export type FormField = Text | Amount | Choice | WordsField | ItemsField | Parts;

export interface FieldTerms {
  readonly secrets?: readonly string[];
  /** Fields that the form does not have. */
  readonly omitted?: readonly string[];
  /** Fields that the schema leaves open, and another rule of the kind does not. */
  readonly required?: readonly string[];
}

/** Fields of a form for the objects of a schema, in its order. */
export function formFields(schema: object, terms: FieldTerms = {}): FormField[] {
  const { secrets = [], omitted = [], required = [] } = terms;
  return fieldsOf(schema)
    .filter(({ name }) => !omitted.includes(name))
    .map((field): FormField => {
      const isRequired = field.isRequired || required.includes(field.name);
      if (!secrets.includes(field.name)) return { ...field, isRequired };
      const { name, help, fallback } = field;
      return { kind: 'secret', maxLength: LONGEST, name, help, fallback, isRequired };
    });
}

const LONGEST = 1_000;
/** Texts up to this length are names, networks or numbers, and have no spaces in them. */
const LONGEST_WORD = 64;

function fieldsOf(schema: Schema): FormField[] {
  return Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldOf(name, field, schema.required?.includes(name) === true),
  );
}

function fieldOf(name: string, schema: Schema, isNeeded: boolean): FormField {
  const branches = (schema.anyOf ?? [schema]).filter(({ type }) => type !== 'null');
  const { description = branches[0]?.description ?? '', default: fallback } = schema;
  const named = {
    name,
    help: description,
    isRequired: isNeeded && fallback === undefined,
    fallback,
  };
  const list = branches.find(({ type }) => type === 'array');
  if (list !== undefined) {
    const alone = branches.flatMap((branch) => branch.enum ?? []);
    return listField(list, { ...named, isRequired: named.isRequired && isFilled(list) }, alone);
  }
  // A union of texts and numbers, such as a port or an expression of ports, is typed as a text.
  return plainField(named, branches.find(({ type }) => isA(type, 'string')) ?? branches[0] ?? {});
}

function plainField(named: Named, schema: Schema): FormField {
  const { type, minimum = 0, maximum = Number.MAX_SAFE_INTEGER, maxLength = LONGEST } = schema;
  if (schema.properties !== undefined) {
    return { ...named, kind: 'parts', isRequired: false, fields: fieldsOf(schema) };
  }
  if (schema.enum !== undefined) return { ...named, kind: 'choice', values: schema.enum };
  if (isA(type, 'boolean')) return { ...named, kind: 'switch', maxLength, isRequired: false };
  if (isA(type, 'integer')) return { ...named, kind: 'number', minimum, maximum };
  const isMoment = schema['x-form'] === 'moment' || /(?:^|_)at$/.test(named.name);
  return { ...named, kind: isMoment ? 'moment' : 'text', maxLength };
}

function listField({ items = {} }: Schema, named: Named, alone: readonly string[]): FormField {
  if (items.properties !== undefined) return { ...named, kind: 'items', fields: fieldsOf(items) };
  const isOfNumbers = isA(items.type, 'integer');
  const isOfLines = !isOfNumbers && (items.maxLength ?? 0) > LONGEST_WORD;
  return { ...named, kind: 'words', isOfNumbers, isOfLines, alone };
}

function isFilled({ minItems = 0 }: Schema): boolean {
  return minItems > 0;
}

function isA(type: Schema['type'], wanted: string): boolean {
  return [type ?? []].flat().includes(wanted);
}
