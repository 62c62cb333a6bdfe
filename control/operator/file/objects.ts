import { type FileEntry, type Kind, type Outside, type Refuse, subjectOf } from '../kind.ts';
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
export function readObjects<At>(
  file: object,
  places: FilePlaces<At>,
  outside: Outside,
): DeclaredObjects<At> {
  const found: Record<string, readonly Entry<At>[]> = {};
  for (const kind of KINDS as readonly Kind[]) {
    found[kind.name] = readKind(kind, file, places, outside);
  }
  for (const kind of KINDS as readonly Kind[]) refuseUnknown(kind, found);
  const declared = Object.entries(found).map(([name, entries]) => [
    name,
    entries.map(({ refuse: _refuse, ...one }) => one),
  ]);
  return Object.fromEntries(declared) as DeclaredObjects<At>;
}

interface Entry<At> extends Declared<object, At> {
  readonly refuse: Refuse;
}

function readKind<At>(
  kind: Kind,
  file: object,
  { at, refuse }: FilePlaces<At>,
  outside: Outside,
): Entry<At>[] {
  const entries: Entry<At>[] = [];
  const byKey = new Map<string, number>();
  for (const { pointer, value, pointers = {} } of findEntries(kind, file, refuse)) {
    const within: Refuse = (inside, message) =>
      refuse(pointer + (pointers[inside] ?? inside), message);
    const read = readObject(kind, value, within, outside);
    const targets = kind.targets?.(read).map(({ pointer: inside, target }) => {
      return { target, at: at(pointer + (pointers[inside] ?? inside)) };
    });
    const same = byKey.get(kind.key(read));
    const other = same === undefined ? undefined : entries[same];
    if (same !== undefined && other !== undefined && kind.combine !== undefined) {
      const object = kind.combine(other.object, read, within);
      entries[same] = { ...other, object, at: at(pointer), refuse: within };
      continue;
    }
    const why = other === undefined ? null : clashOf(kind, read, other.object);
    if (why !== null) within(keyPointer(kind), why);
    if (same === undefined) byKey.set(kind.key(read), entries.length);
    entries.push({ object: read, at: at(pointer), ...(targets && { targets }), refuse: within });
  }
  kind.checkAll?.(
    entries.map(({ object }) => object),
    (index, inside, message) => entries[index]?.refuse(inside, message),
  );
  return entries;
}

function findEntries(kind: Kind, file: object, refuse: Refuse): FileEntry[] {
  const { place } = kind;
  const found = typeof place === 'string' ? entriesAt(file, place) : place(file, refuse);
  if (kind.spread === undefined) return found;
  return found.flatMap(
    ({ pointer, value }) => kind.spread?.(value).map((one) => ({ ...one, pointer })) ?? [],
  );
}

function clashOf(kind: Kind, object: object, other: object): string | null {
  if (kind.clash !== undefined) return kind.clash(object, other);
  return `The ${subjectOf(kind, object)} is here twice.`;
}

/** The field that tells objects apart in their list: the last one of the path. */
function keyPointer({ path, isNumbered }: Kind): string {
  if (isNumbered) return '';
  return `/${/\{(\w+)\}$/.exec(path)?.[1] ?? ''}`;
}

/**
 * Refuses names of objects that the file does not have, or that the object may not name. Without an organisation that
 * it names, nothing is said of what else of that organisation it names.
 */
function refuseUnknown<At>(
  kind: Kind,
  found: Readonly<Record<string, readonly Entry<At>[]>>,
): void {
  const missing = new Map<Entry<At>, Set<string>>();
  for (const { kind: name, pointer, ...reference } of kind.refersTo) {
    const other = (KINDS as readonly Kind[]).find((one) => one.name === name);
    if (other === undefined) continue;
    const known = new Map(found[name]?.map(({ object }) => [other.key(object), object]));
    for (const entry of found[kind.name] ?? []) {
      const { object, refuse } = entry;
      const key = reference.key(object);
      const named = known.get(key ?? '');
      if (key === null) continue;
      if (named && reference.accepts?.(object, named) !== false) {
        reference.check?.(object, named, refuse);
        continue;
      }
      const kinds = missing.get(entry) ?? new Set();
      const isOfMissing = other.refersTo.some((one) => kinds.has(one.kind));
      missing.set(entry, kinds.add(name));
      if (isOfMissing) continue;
      const none = `There is no ${name.replaceAll('-', ' ')} ${key} in this file.`;
      refuse(pointer, reference.missing?.(object) ?? none);
    }
  }
}

/** The entries at a place such as `/organisations/{organisation}/keys/*`, with the names on the way as fields. */
function entriesAt(file: object, place: string): FileEntry[] {
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
