import type { TSchema } from 'typebox';

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Collects the components of a document: schemas by title, anything else by a given name. */
export interface Components {
  /** The schema with every titled part replaced by a reference. */
  schema(schema: TSchema): JsonObject;
  /** A reference to `value` under `name`; the same name must mean the same value. */
  refer(kind: ComponentKind, name: string, value: JsonObject): JsonObject;
  /** The referenced components, sorted by name. */
  collect(): JsonObject;
}

export type ComponentKind = 'schemas' | 'headers' | 'parameters' | 'responses';

export function createComponents(): Components {
  const kinds = new Map<ComponentKind, Map<string, JsonObject>>();

  const refer = (kind: ComponentKind, name: string, value: JsonObject): JsonObject => {
    const named = kinds.get(kind) ?? new Map<string, JsonObject>();
    kinds.set(kind, named);
    const known = named.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(value)) {
      throw new Error(`two different ${kind} are called ${name}`);
    }
    named.set(name, value);
    return { $ref: `#/components/${kind}/${name}` };
  };

  const replaceTitled = (value: Json): Json => {
    if (isList(value)) return value.map(replaceTitled);
    if (!isObject(value)) return value;
    const { title, ...rest } = value;
    const inner = Object.fromEntries(
      // These hold values, not schemas.
      Object.entries(rest).map(([key, part]) => [
        key,
        DATA_KEYWORDS.has(key) ? part : replaceTitled(part),
      ]),
    );
    return isTitle(title) ? refer('schemas', title, inner) : { ...inner, ...keep(title) };
  };

  return {
    schema: (schema) => asObject(replaceTitled(toJson(schema))),
    refer,
    collect: () =>
      Object.fromEntries(
        [...kinds]
          .toSorted(byName)
          .map(([kind, named]) => [kind, Object.fromEntries([...named].toSorted(byName))]),
      ),
  };
}

const DATA_KEYWORDS: ReadonlySet<string> = new Set(['examples', 'default', 'enum', 'const']);

/** A title names a component. An object that has a property called `title` has a schema there instead. */
function isTitle(title: Json | undefined): title is string {
  return typeof title === 'string';
}

function keep(title: Json | undefined): JsonObject {
  return title === undefined ? {} : { title };
}

/** Removes TypeBox's non-enumerable properties, so that only JSON Schema remains. */
export function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

export function asObject(value: Json): JsonObject {
  if (!isObject(value)) throw new Error('an object was expected');
  return value;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
