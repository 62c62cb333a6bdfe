import { describeField, fieldsOf } from './fields.ts';
import { type Current, type Kind, subjectOf } from './kind.ts';

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
  const words = [
    describeChanges(kind, before.object, object),
    ...(kind.further?.(before, object) ?? []),
  ]
    .filter((part) => part !== '')
    .join(', ');
  return words === '' ? null : { sign: '~', subject, words };
}

/** `name a -> b, active true -> false`. */
function describeChanges<T extends object>(kind: Kind<T>, before: T, after: T): string {
  const [was, is] = [describeAll(kind, before), describeAll(kind, after)];
  return Object.entries(is)
    .filter(([field, words]) => was[field] !== words)
    .map(([field, words]) => `${field} ${was[field] ?? 'none'} -> ${words}`)
    .join(', ');
}

function describeAll<T extends object>(kind: Kind<T>, object: T): Readonly<Record<string, string>> {
  const fields = fieldsOf(kind.schema);
  const shown = Object.entries(kind.shown?.(object) ?? object);
  return Object.fromEntries(
    shown.map(([name, value]) => [name, describeField(fields[name] ?? {}, value)]),
  );
}

/** An object that a file declares, where it does. */
export interface Declared<T extends object, At> {
  readonly object: T;
  readonly at: At;
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

/** Plans the changes that make the objects of a kind what a file declares. Objects made by hand are not touched. */
export function planKind<T extends object, At>(
  kind: Kind<T>,
  wanted: readonly Declared<T, At>[],
  rows: readonly Current<T>[],
  sink: PlanSink<At>,
): void {
  const left = new Map(rows.map((row) => [kind.key(row.object), row]));
  for (const { object: declared, at } of wanted) {
    const before = left.get(kind.key(declared)) ?? null;
    left.delete(kind.key(declared));
    if (before?.owner === 'portal') {
      sink.refusePortal(at, `The ${subjectOf(kind, declared)}`);
      continue;
    }
    const object = inherit(kind, declared, before, (message) => sink.refuse(at, message));
    if (object === null) continue;
    for (const note of kind.notes?.(declared, before) ?? []) sink.note(note);
    const difference = differenceOf(kind, before, object);
    if (difference === null) continue;
    const lost = before && kind.losses?.({ before, after: object, isLast: false });
    for (const loss of lost ?? []) sink.lose(at, loss);
    sink.add({ ...difference, kind: kind.name, object, before }, at);
  }
  const isLast = wanted.length === 0;
  for (const before of left.values()) {
    if (before.owner === 'fleet') planRemoval(kind, before, isLast, sink);
  }
}

function planRemoval<T extends object, At>(
  kind: Kind<T>,
  before: Current<T>,
  isLast: boolean,
  sink: PlanSink<At>,
): void {
  const subject = subjectOf(kind, before.object);
  const held = kind.holds?.(before) ?? null;
  if (held !== null) {
    const message = `The ${subject} is not in the file, but has ${held} made by hand: name them in the file and hand them to it with --adopt, or remove them first.`;
    sink.refuse(null, message);
    return;
  }
  for (const loss of kind.losses?.({ before, after: null, isLast }) ?? []) sink.lose(null, loss);
  sink.add({ kind: kind.name, sign: '-', subject, words: '', object: null, before }, null);
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
