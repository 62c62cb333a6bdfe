import { branchOf, type Field } from '../fields.ts';
import { showCidr } from '../forms.ts';
import type { Current, Kind, Outside } from '../kind.ts';
import { sameValue } from '../plan.ts';
import { readObject } from '../read.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of a stored object that a file has to write: reading them (`readObject`) makes the object again. Left out is
 * what has its default, the number that is given when an object is made, and what others set.
 */
export function fieldsToWrite<T extends object>(
  kind: Kind<T>,
  current: Current<T>,
  outside: Outside,
): Fields {
  const { object } = current;
  const { id: _given, ...named } = object as Fields;
  const fields = writeMembers(kind.schema, kind.isNumbered ? named : (object as Fields));
  const whole = withoutCompleted(kind, object, fields, outside);
  return withoutOpen(kind, whole, kind.open?.(current) ?? [], outside);
}

/** The members of an object that are not at their defaults, in the order of the schema. */
function writeMembers({ properties = {}, required = [] }: Field, object: Fields): Fields {
  const written = Object.entries(properties).flatMap(([name, field]) => {
    const value = object[name];
    if (value === undefined) return [];
    const isNeeded = required.includes(name);
    if (!isNeeded && field.default !== undefined && sameValue(value, field.default)) return [];
    const member = writeValue(field, value);
    const isEmpty = field.properties !== undefined && Object.keys(Object(member)).length === 0;
    return isEmpty && !isNeeded ? [] : [[name, member] as const];
  });
  return Object.fromEntries(written);
}

function writeValue(field: Field, value: unknown): unknown {
  const branch = branchOf(field, value);
  if (typeof value === 'string') {
    return (branch['x-form'] ?? field['x-form']) === 'cidr' ? showCidr(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => writeValue(branch.items ?? {}, item));
  if (typeof value !== 'object' || value === null || branch.properties === undefined) return value;
  return writeMembers(branch, value as Fields);
}

/** Leaves out fields that their kind completes to the same values (`complete`). */
function withoutCompleted<T extends object>(
  kind: Kind<T>,
  object: T,
  fields: Fields,
  outside: Outside,
): Fields {
  if (kind.complete === undefined) return fields;
  const { properties = {}, required = [] } = kind.schema as Field;
  return Object.keys(fields).reduce((written, name) => {
    if (required.includes(name) || properties[name]?.default !== undefined) return written;
    const { [name]: _left, ...others } = written;
    const read = readObject(kind, others, () => {}, outside);
    return sameValue(Reflect.get(read, name), Reflect.get(object, name)) ? others : written;
  }, fields);
}

/** Leaves out what others set, unless the object cannot be read without it. */
function withoutOpen<T extends object>(
  kind: Kind<T>,
  fields: Fields,
  pointers: readonly string[],
  outside: Outside,
): Fields {
  return pointers.reduce((written, pointer) => {
    const others = withoutMember(written, pointer.split('/').slice(1));
    let isRefused = (kind.schema as Field).required?.some((name) => !(name in others)) ?? false;
    readObject(kind, others, () => (isRefused = true), outside);
    return isRefused ? written : others;
  }, fields);
}

function withoutMember(fields: Fields, [name = '', ...inside]: readonly string[]): Fields {
  const { [name]: value, ...others } = fields;
  if (inside.length === 0 || typeof value !== 'object' || value === null) return others;
  const left = withoutMember(value as Fields, inside);
  return Object.keys(left).length === 0 ? others : { ...fields, [name]: left };
}
