import { type Kind, type Refuse, subjectOf } from '../kind.ts';
import { KINDS, type KindName, type ObjectOf } from '../kinds.ts';
import type { Declared } from '../plan.ts';
import { readObject } from '../read.ts';

/** The objects of every kind that a file declares, each with its place. */
export type DeclaredObjects<At> = {
  readonly [Name in KindName]: readonly Declared<ObjectOf<Name>, At>[];
};

/** A place in a file, by its JSON pointer, and what refuses it. */
export interface FilePlaces<At> {
  at(pointer: string): At;
  refuse: Refuse;
}

/** Reads the objects of every kind from a file that matches its schema. */
export function readObjects<At>(file: object, places: FilePlaces<At>): DeclaredObjects<At> {
  const found: Record<string, readonly Entry<At>[]> = {};
  for (const kind of KINDS as readonly Kind[]) found[kind.name] = readKind(kind, file, places);
  for (const kind of KINDS as readonly Kind[]) refuseUnknown(kind, found, places);
  return found as unknown as DeclaredObjects<At>;
}

interface Entry<At> extends Declared<object, At> {
  readonly pointer: string;
}

function readKind<At>(kind: Kind, file: object, { at, refuse }: FilePlaces<At>): Entry<At>[] {
  const entries = new Map<string, Entry<At>>();
  for (const { pointer, value, pointers } of spreadAt(kind, file)) {
    const within: Refuse = (inside, message) =>
      refuse(pointer + (pointers[inside] ?? inside), message);
    const read = readObject(kind, value, within);
    const other = entries.get(kind.key(read))?.object;
    if (other !== undefined && kind.combine === undefined) {
      within(keyPointer(kind), `The ${subjectOf(kind, read)} is here twice.`);
    }
    const object = other === undefined ? read : (kind.combine?.(other, read, within) ?? read);
    entries.set(kind.key(object), { object, at: at(pointer), pointer });
  }
  const list = [...entries.values()];
  kind.checkAll?.(
    list.map(({ object }) => object),
    (index, inside, message) => refuse(`${list[index]?.pointer}${inside}`, message),
  );
  return list;
}

function spreadAt(kind: Kind, file: object) {
  return entriesAt(file, kind.place).flatMap(({ pointer, value }) =>
    (kind.spread?.(value) ?? [{ value, pointers: {} }]).map((one) => ({ ...one, pointer })),
  );
}

/** The field that tells objects apart in their list: the last one of the path. */
function keyPointer({ path }: Kind): string {
  return `/${/\{(\w+)\}$/.exec(path)?.[1] ?? ''}`;
}

/** Refuses names of objects that the file does not have. */
function refuseUnknown<At>(
  kind: Kind,
  found: Readonly<Record<string, readonly Entry<At>[]>>,
  { refuse }: FilePlaces<At>,
): void {
  for (const { kind: name, pointer: inside, ...reference } of kind.refersTo) {
    const other = (KINDS as readonly Kind[]).find((one) => one.name === name);
    if (other === undefined) continue;
    const known = new Set(found[name]?.map(({ object }) => other.key(object)));
    for (const { object, pointer } of found[kind.name] ?? []) {
      const key = reference.key(object);
      if (key === null || known.has(key)) continue;
      refuse(pointer + inside, `There is no ${name.replaceAll('-', ' ')} ${key} in this file.`);
    }
  }
}

interface PlainEntry {
  readonly pointer: string;
  readonly value: object;
}

/** The entries at a place such as `/organisations/{organisation}/keys/*`, with the names on the way as fields. */
function entriesAt(file: object, place: string): PlainEntry[] {
  let entries: { pointer: string; value: unknown; names: Record<string, string> }[] = [
    { pointer: '', value: file, names: {} },
  ];
  for (const step of place.split('/').slice(1)) {
    const [, name] = /^\{(\w+)\}$/.exec(step) ?? [];
    entries = entries.flatMap(({ pointer, value, names }) => {
      const members = Object.entries(Object(value) as Readonly<Record<string, unknown>>);
      const isAny = name !== undefined || step === '*';
      return members
        .filter(([member]) => isAny || member === step)
        .map(([member, inside]) => ({
          pointer: `${pointer}/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`,
          value: inside,
          names: name === undefined ? names : { ...names, [name]: member },
        }));
    });
  }
  return entries.map(({ pointer, value, names }) => ({
    pointer,
    value: { ...Object(value), ...names },
  }));
}
