import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
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
  /** The whole object, with the fields that the path names. */
  readonly schema: TObject<Fields>;
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

/** The schema of a PUT: the whole object without what the path names. */
export function bodySchema<Path extends string, Fields extends TProperties>({
  path,
  schema,
  title,
}: Pick<DeclaredKind<string, string, string, Path, Fields>, 'path' | 'schema' | 'title'>) {
  const own = Object.entries(schema.properties).filter(([name]) => !pathNames(path).includes(name));
  const body = Type.Object(Object.fromEntries(own), { ...CLOSED, title: `${title}Input` });
  return body as unknown as TObject<Omit<Fields, NamesIn<Path>>>;
}

/** The schema of a PATCH: each field may be left out, or be null for its default. */
export function patchSchema<Path extends string, Fields extends TProperties>(
  kind: Pick<DeclaredKind<string, string, string, Path, Fields>, 'path' | 'schema' | 'title'>,
) {
  const patch = nullable(bodySchema(kind), `${kind.title}Patch`);
  return Type.Unsafe<MergePatch<Omit<Static<TObject<Fields>>, NamesIn<Path>>>>(patch);
}

/** A member of an object may be changed alone; a list is replaced. */
function nullable(schema: TObject, title?: string): TObject {
  const fields = Object.entries(schema.properties).map(([name, field]): [string, TSchema] => {
    // A default would be read as what is not sent.
    const { default: _default, ...plain } = field as TSchema & { readonly default?: unknown };
    const part = isObject(field) ? nullable(field) : plain;
    return [name, Type.Optional(Type.Union([part, Type.Null()]))];
  });
  return Type.Object(Object.fromEntries(fields), { ...CLOSED, ...(title && { title }) });
}

function isObject(schema: TSchema): schema is TObject {
  return 'properties' in schema;
}
