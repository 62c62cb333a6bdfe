import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { ProblemCode } from '../../problems.ts';
import { CLOSED } from '../values.ts';

/** An object as it is read: what was left out has its default. */
export type Filled<T> = T extends readonly (infer Item)[]
  ? readonly Filled<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]-?: Filled<T[Field]> }
    : T;

/** RFC 7396: null gives a field its default. */
export type MergePatch<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Field in keyof T]?: MergePatch<T[Field]> | null }
    : T;

/** The names in a path: `name` of `/edges/{name}`. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** A kind of declared object as the interface shows it: its path and its schema. */
export interface DeclaredKind<
  Name extends string,
  Title extends string,
  Plural extends string,
  Path extends string,
  Fields extends TProperties,
> {
  /** Such as `game-server`: in plans, in the audit trail, and in lists of kinds. */
  readonly name: Name;
  readonly title: Title;
  readonly plural: Plural;
  readonly path: Path;
  /** Its number in the path is given when it is made, by a POST to its list. */
  readonly isNumbered?: true;
  /** The whole object, with the fields that the path names. */
  readonly schema: TObject<Fields>;
  /** Fields of bodies that are not declared, such as what a billing system calls it; and of answers. */
  readonly input?: TProperties;
  readonly output?: TProperties;
  /** The query of the list: members of an answer, which must be equal. */
  readonly search?: TObject;
  /** Describes the `message` of an answer to a write; without it there is none. */
  readonly remarks?: string;
  /** The problems of a write that others have not. */
  readonly refusals?: readonly ProblemCode[];
  /** A sentence about its end. */
  readonly about: string;
  /** A body. */
  readonly example: object;
}

export function declaredKind<
  const Name extends string,
  const Title extends string,
  const Plural extends string,
  const Path extends string,
  Fields extends TProperties,
>(
  kind: DeclaredKind<Name, Title, Plural, Path, Fields>,
): DeclaredKind<Name, Title, Plural, Path, Fields> {
  return kind;
}

/** The names that the path of a kind gives. */
export function pathNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

type Described<Path extends string, Fields extends TProperties> = Pick<
  DeclaredKind<string, string, string, Path, Fields>,
  'path' | 'schema' | 'title' | 'input'
>;

/** The schema of a PUT: the whole object without what the path names. */
export function bodySchema<Path extends string, Fields extends TProperties>(
  kind: Described<Path, Fields>,
) {
  const { path, schema, title, input = {} } = kind;
  const own = Object.entries(schema.properties).filter(([name]) => !pathNames(path).includes(name));
  const beside = Object.entries(input).map(([name, field]) => [name, Type.Optional(field)]);
  const fields = Object.fromEntries([...own, ...beside]) as TProperties;
  const body = Type.Object(fields, { ...CLOSED, title: `${title}Input` });
  return body as unknown as TObject<Omit<Fields, NamesIn<Path>>>;
}

/** The schema of a PATCH: each field may be left out, or be null for its default. */
export function patchSchema<Path extends string, Fields extends TProperties>(
  kind: Described<Path, Fields>,
) {
  const patch = nullable(bodySchema(kind), `${kind.title}Patch`);
  return Type.Unsafe<MergePatch<Omit<Static<TObject<Fields>>, NamesIn<Path>>>>(patch);
}

/** A member of an object may be changed alone; a list is replaced. */
function nullable(schema: TObject, title?: string): TObject {
  const fields = Object.entries(schema.properties).map(([name, field]): [string, TSchema] => {
    // A default would be read as what is not sent.
    const { default: _default, ...plain } = field as TSchema & Mapping;
    const part = isObject(field) ? nullable(field) : withNullMembers(plain);
    const sent = takesNull(part) ? part : Type.Union([part, Type.Null()]);
    return [name, Type.Optional(sent)];
  });
  return Type.Object(Object.fromEntries(fields), { ...CLOSED, ...(title && { title }) });
}

interface Mapping {
  readonly default?: unknown;
  /** The schema of each member of an object with names of its own. */
  readonly additionalProperties?: { readonly anyOf?: readonly object[] };
}

/** A null ends a member of an object that has names of its own. */
function withNullMembers(schema: TSchema & Mapping): TSchema {
  const { anyOf } = schema.additionalProperties ?? {};
  if (anyOf === undefined) return schema;
  return { ...schema, additionalProperties: { anyOf: [...anyOf, Type.Null()] } };
}

/** Null is a value of the field, and its default. */
function takesNull({ type, anyOf = [] }: TSchema & Choice): boolean {
  return [type].flat().includes('null') || anyOf.some((branch) => branch.type === 'null');
}

interface Choice {
  readonly type?: unknown;
  readonly anyOf?: readonly { readonly type?: unknown }[];
}

function isObject(schema: TSchema): schema is TObject {
  return 'properties' in schema;
}
