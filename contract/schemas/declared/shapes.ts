import { type TSchema, type TUnsafe, Type } from 'typebox';
import { NO_CONTROL_CHARACTERS } from '../values.ts';

/**
 * Shapes that the schemas of declared objects are made of. A field that may be left out has a `default`, or is completed
 * by its kind. Beside JSON Schema they carry what every reader does with a value:
 *
 * - `x-form`: the form of a text, which is brought into its one spelling (`FORMS` in control/operator/forms.ts);
 * - `x-unique`: names an item of a list that is refused when it is there twice ('': the item itself);
 * - `x-words`: the fields that name an item in a plan;
 * - `x-follows`: names a field: a patch that changes it gives this one its default, unless it names both.
 */

export type Form =
  | 'cidr'
  | 'target'
  | 'address'
  | 'ports'
  | 'named-ports'
  | 'moment'
  | 'uuid'
  | 'safelist';

export const LARGEST = 2_147_483_647;

interface Notes {
  readonly default?: unknown;
  readonly 'x-follows'?: string;
}

export function text(description: string, maxLength = 200, notes: Notes = {}): TUnsafe<string> {
  const bounds = { minLength: 1, maxLength, pattern: NO_CONTROL_CHARACTERS };
  return Type.Unsafe<string>({ type: 'string', ...bounds, description, ...notes });
}

/** A text of a form, such as a network. */
export function formed(form: Form, description: string, maxLength = 50, notes: Notes = {}) {
  return text(description, maxLength, { 'x-form': form, ...notes } as Notes);
}

/** The short name of an organisation. */
export function slug(description: string): TUnsafe<string> {
  const pattern = '^[a-z0-9][a-z0-9-]{0,62}$';
  return Type.Unsafe<string>({ type: 'string', maxLength: 63, pattern, description });
}

export function whole(minimum: number, maximum: number, description: string, notes: Notes = {}) {
  return Type.Unsafe<number>({ type: 'integer', minimum, maximum, description, ...notes });
}

/** A whole number, or null for none, which is its default. */
export function wholeOrNone(minimum: number, maximum: number, description: string) {
  const type = ['integer', 'null'];
  return Type.Optional(
    Type.Unsafe<number | null>({ type, minimum, maximum, description, default: null }),
  );
}

export function truth(description: string, notes: Notes = {}): TUnsafe<boolean> {
  return Type.Unsafe<boolean>({ type: 'boolean', description, ...notes });
}

export function oneOf<const T extends readonly string[]>(
  values: T,
  description: string,
  notes: Notes = {},
) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description, ...notes });
}

interface ListNotes extends Notes {
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-unique'?: string;
  /** Its order says nothing: it is stored and shown sorted. */
  readonly 'x-sorted'?: true;
}

export function list<T extends TSchema>(items: T, description: string, notes: ListNotes = {}) {
  return Type.Array(items, { maxItems: 100_000, description, ...notes });
}

export function cidrs(description: string, notes: ListNotes = {}) {
  return list(formed('cidr', 'A CIDR.'), description, {
    maxItems: 1_000,
    'x-unique': '',
    ...notes,
  });
}

export const NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';

/** The name of a host or of another object without an organisation. */
export function name(description: string): TUnsafe<string> {
  return Type.Unsafe<string>({
    type: 'string',
    maxLength: 63,
    pattern: NAME_PATTERN,
    description,
  });
}

/** A text, or null for none, which is its default. */
export function textOrNone(description: string, maxLength = 200, pattern = NO_CONTROL_CHARACTERS) {
  const bounds = { minLength: 1, maxLength, pattern };
  const type = ['string', 'null'];
  return Type.Optional(Type.Unsafe<string | null>({ type, ...bounds, description, default: null }));
}

/** Another value, or null for none, which is its default. */
export function orNone<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()], { default: null }));
}
