import { branchOf, describeField, type Field, fieldsOf } from './fields.ts';
import { showCidr } from './forms.ts';
import type { HoldingIndex } from './holding-index.ts';
import { type Current, type Kind, type Placed, subjectOf } from './kind.ts';

/** A change of one object, in words. */
export interface Difference {
  /** `+` creates, `~` changes, `-` deletes or ends. */
  readonly sign: '+' | '~' | '-';
  /** The object with its name: `edge fra1`. */
  readonly subject: string;
  /** The fields that change; '' when the sign says everything. */
  readonly words: string;
}

/** The change by saving an object; null for nothing. Fields are named in the order of the schema. */
export function differenceOf<T extends object>(
  kind: Kind<T>,
  before: Current<T> | null,
  object: T,
): Difference | null {
  const subject = subjectOf(kind, object);
  if (before === null) return { sign: '+', subject, words: kind.summary(object) };
  // Most objects of a file do not change, and words for all of them take long.
  const isEqual = JSON.stringify(before.object) === JSON.stringify(object);
  const words = [
    isEqual ? '' : describeChanges(kind, before.object, object),
    ...(kind.further?.(before, object, isEqual) ?? []),
  ]
    .filter((part) => part !== '')
    .join(', ');
  return words === '' ? null : { sign: '~', subject, words };
}

/** `name a -> b, active true -> false`. */
function describeChanges<T extends object>(kind: Kind<T>, before: T, after: T): string {
  const [was, is] = [shownFields(kind, before), shownFields(kind, after)];
  return [...is]
    .flatMap(([name, { field, value }]) => {
      const old = was.get(name)?.value;
      if (stateOf(old) === stateOf(value)) return [];
      const words = [describeField(field, old), describeField(field, value)];
      // Two values may have the same words, such as `none`: what decides is the values.
      const [from, to] = words[0] === words[1] ? [stateOf(old), stateOf(value)] : words;
      return [`${name} ${from} -> ${to}`];
    })
    .join(', ');
}

/** A field with its value, by its name. */
type ShownFields = ReadonlyMap<string, { readonly field: Field; readonly value: unknown }>;

function shownFields<T extends object>(kind: Kind<T>, object: T): ShownFields {
  return new Map(listFields(fieldsOf(kind.schema), kind.shown?.(object) ?? object));
}

/** The fields and their values; those of an object by their own names. */
function listFields(
  fields: Readonly<Record<string, Field>>,
  object: object,
): (readonly [string, { readonly field: Field; readonly value: unknown }])[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const field = fields[name] ?? {};
    return field.properties !== undefined && typeof value === 'object' && value !== null
      ? listFields(field.properties, value)
      : [[name, { field, value: inOrder(field, value) }] as const];
  });
}

/** A list whose order says nothing, sorted: a row that was stored otherwise is no change. */
function inOrder(field: Field, value: unknown): unknown {
  const { items = {}, 'x-sorted': isSorted = false } = branchOf(field, value);
  if (!isSorted || !Array.isArray(value)) return value;
  const wordsOf = (item: unknown) => describeField(items, item);
  return value.toSorted((a, b) => (wordsOf(a) < wordsOf(b) ? -1 : 1));
}

/** Whether two values are the same, whatever the order of their members is; null is what is left out. */
export function sameValue(one: unknown, other: unknown): boolean {
  return one === other || stateOf(one) === stateOf(other);
}

/** A value as JSON, whatever the order of members is, where null is what is left out. */
function stateOf(value: unknown): string {
  return JSON.stringify(value ?? null, (_name, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    const members = Object.entries(member).filter(([, one]) => one !== null);
    return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** An object that a file declares, where it does. */
export interface Declared<T extends object, At> {
  readonly object: T;
  readonly at: At;
  /** Targets of the object, of a kind that has them. */
  readonly targets?: readonly { readonly target: string; readonly at: At }[];
}

/** A difference with the objects that it is about, to be applied. */
export interface ObjectChange<T extends object = object> extends Difference {
  readonly kind: string;
  /** Null: it is removed. */
  readonly object: T | null;
  readonly before: Current<T> | null;
}

/** The receiver of a kind's plan. `at`: the entry that asks for it, or null when the file no longer names the object. */
export interface PlanSink<At> {
  add(change: ObjectChange, at: At | null): void;
  refuse(at: At | null, message: string): void;
  /** Refuses an entry whose object was made by hand. */
  refusePortal(at: At, subject: string): void;
  lose(at: At | null, message: string): void;
  note(message: string): void;
}

/** The stored objects of a kind, and what saving declared ones would end of others (`endsElsewhere`). */
export interface StoredKind<T extends object> {
  readonly rows: readonly Current<T>[];
  readonly elsewhere: ReadonlyMap<string, readonly string[]>;
  /** The time of the plan. */
  readonly now: Date;
  /** The holdings that there will be. */
  readonly holdings: HoldingIndex;
}

/** A kind whose declared objects are planned. */
export interface PlannedKind<T extends object> {
  /** The objects that there will be, without those that are removed. */
  readonly remaining: readonly T[];
  /** Stored objects that the file does not name. */
  readonly left: readonly Current<T>[];
}

/** Plans the changes that make objects of a kind what a file declares. Objects made by hand are not touched. */
export function planKind<T extends object, At>(
  kind: Kind<T>,
  wanted: readonly Declared<T, At>[],
  { rows, holdings, ...stored }: StoredKind<T>,
  sink: PlanSink<At>,
): PlannedKind<T> {
  const objects = wanted.map(({ object }) => object);
  const matched = kind.match?.(objects, rows) ?? matchKeys(kind, objects, rows);
  const unnamed = new Map(rows.map((row) => [rowOf(kind, row), row]));
  const remaining: T[] = [];
  for (const [index, one] of wanted.entries()) {
    const before = matched.get(index) ?? null;
    const placed = placeObject(kind, one, before, { holdings, sink });
    if (placed === null) continue;
    if (before !== null) unnamed.delete(rowOf(kind, before));
    remaining.push(planObject(kind, placed.one, { before: placed.before, ...stored }, sink));
  }
  const left = [...unnamed.values()];
  const refuse = (index: number, message: string): void => {
    const { at } = wanted[index] ?? {};
    if (at !== undefined) sink.refuse(at, message);
  };
  kind.checkStored?.(objects, left, refuse, matched);
  const stays = left.filter((row) => row.owner === 'portal' || kind.stays?.(row) === true);
  return { remaining: [...remaining, ...stays.map(({ object }) => object)], left };
}

/** The name of a row among those of its kind: not all kinds have numbers, and two sides may have one key. */
function rowOf<T extends object>(kind: Kind<T>, { id, object }: Current<T>): string {
  return `${id} ${kind.key(object)}`;
}

interface Placing<At> {
  readonly holdings: HoldingIndex;
  readonly sink: PlanSink<At>;
}

/**
 * Leaves out the targets that the organisation no longer holds, and of what is stored those that will belong to another
 * holding. Null: nothing is left of it, or it is refused.
 */
function placeObject<T extends object, At>(
  kind: Kind<T>,
  one: Declared<T, At>,
  before: Current<T> | null,
  { holdings, sink }: Placing<At>,
): { readonly one: Declared<T, At>; readonly before: Current<T> | null } | null {
  const organisation = kind.organisation?.(one.object) ?? null;
  if (one.targets === undefined || kind.without === undefined || organisation === null) {
    return { one, before };
  }
  const ended = new Set<string>();
  const moved = new Set<string>();
  let isRefused = false;
  const { places = [] }: Partial<Placed> = before?.facts ?? {};
  const stored = new Set(places.map(({ target, holdingId }) => `${target} ${holdingId}`));
  for (const { target, at } of one.targets) {
    const found = holdings.find(organisation, target);
    if ('id' in found) {
      if (!stored.has(`${target} ${found.id}`)) moved.add(target);
    } else if ('ended' in found) {
      const subject = subjectOf(kind, one.object);
      sink.note(
        `${subject} is not on ${showCidr(target)}: ${organisation} does not hold it any more`,
      );
      ended.add(target);
    } else {
      isRefused = true;
      const holder = found.holder === null ? '' : `; ${found.holder} does`;
      sink.refuse(at, `${organisation} does not hold ${showCidr(target)}${holder}.`);
    }
  }
  const object = kind.without(one.object, ended);
  if (isRefused || object === null) return null;
  const stays = before && kind.without(before.object, moved);
  return { one: { ...one, object }, before: stays && before && { ...before, object: stays } };
}

function matchKeys<T extends object>(
  kind: Kind<T>,
  objects: readonly T[],
  rows: readonly Current<T>[],
): ReadonlyMap<number, Current<T>> {
  const byKey = new Map(rows.map((row) => [kind.key(row.object), row]));
  const matched = new Map<number, Current<T>>();
  for (const [index, object] of objects.entries()) {
    const row = byKey.get(kind.key(object));
    if (row !== undefined) matched.set(index, row);
  }
  return matched;
}

/** Plans the change of one object; returns what it will be. */
function planObject<T extends object, At>(
  kind: Kind<T>,
  { object: declared, at }: Declared<T, At>,
  {
    before,
    elsewhere,
    now,
  }: { readonly before: Current<T> | null } & Omit<StoredKind<T>, 'rows' | 'holdings'>,
  sink: PlanSink<At>,
): T {
  if (before?.owner === 'portal') {
    sink.refusePortal(at, `The ${subjectOf(kind, before.object)}`);
    return declared;
  }
  const omitted = kind.omits?.(declared, before, now) ?? null;
  if (omitted !== null) {
    sink.note(omitted);
    return declared;
  }
  const kept = (before && kind.keeps?.(declared, before)) ?? declared;
  const object = inherit(kind, kept, before, (message) => sink.refuse(at, message));
  if (object === null) return declared;
  const obstacle = (before && kind.obstacle?.(before, object)) ?? null;
  if (obstacle !== null) {
    sink.refuse(at, obstacle);
    return declared;
  }
  for (const note of kind.notes?.(declared, before) ?? []) sink.note(note);
  const difference = differenceOf(kind, before, object);
  if (difference === null) return object;
  const lost = before && kind.losses?.({ before, after: object, isLast: false, byHand: false });
  for (const loss of lost ?? []) sink.lose(at, loss);
  for (const loss of elsewhere.get(kind.key(declared)) ?? []) sink.lose(at, loss);
  sink.add({ ...difference, kind: kind.name, object, before }, at);
  return object;
}

/** Facts about the objects of a file when others are removed. */
export interface Remaining<T extends object> {
  /** The file names no object of the kind. */
  readonly isLast: boolean;
  /** Objects that stay refer to it. */
  isNamed(current: Current<T>): boolean;
}

/** Plans the removal of objects that the file no longer names. Objects made by hand stay. */
export function planRemovals<T extends object, At>(
  kind: Kind<T>,
  left: readonly Current<T>[],
  { isLast, isNamed }: Remaining<T>,
  sink: PlanSink<At>,
): void {
  for (const before of left) {
    if (before.owner !== 'fleet') continue;
    const subject = subjectOf(kind, before.object);
    const held = kind.holds?.(before) ?? null;
    if (held !== null) {
      const message = `The ${subject} is not in the file, but has ${held} made by hand: name them in the file and hand them to it with --adopt, or remove them first.`;
      sink.refuse(null, message);
      continue;
    }
    const named = isNamed(before);
    if (kind.isEnded?.(before, named) === true) continue;
    const losing = { before, after: null, isLast, byHand: false };
    for (const loss of kind.losses?.(losing) ?? []) sink.lose(null, loss);
    const words = kind.ending?.(before, named) ?? '';
    sink.add({ kind: kind.name, sign: '-', subject, words, object: null, before }, null);
  }
}

/** Returns null when something was refused. */
function inherit<T extends object>(
  kind: Kind<T>,
  object: T,
  before: Current<T> | null,
  refuse: (message: string) => void,
): T | null {
  let isRefused = false;
  const inherited = kind.inherit?.(object, before?.object ?? null, (_pointer, message) => {
    isRefused = true;
    refuse(message);
  });
  return isRefused ? null : (inherited ?? object);
}
