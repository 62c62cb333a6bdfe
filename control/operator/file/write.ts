import {
  APPENDED,
  type Current,
  type FilePart,
  type FileStep,
  type Kind,
  type Outside,
  subjectOf,
  type Writing,
  type Written,
} from '../kind.ts';
import { KINDS, type StoredObjects } from '../kinds.ts';
import { fieldsToWrite } from './fields.ts';

/** An object that a file does not have, and why: it stays as it is. */
export interface LeftOut {
  readonly subject: string;
  readonly reason: string;
}

/** A secret in a file, in place of which the name of a variable of the environment is written. */
export class SecretVariable {
  readonly name: string;
  readonly secret: string;

  constructor(name: string, secret: string) {
    this.name = name;
    this.secret = secret;
  }
}

/** Objects at a JSON pointer of the file. */
export interface WrittenPlace {
  readonly pointer: string;
  readonly of: readonly Current<object>[];
}

export interface WrittenObjects {
  /** The file as it is before it is text. */
  readonly file: object;
  readonly places: readonly WrittenPlace[];
  readonly secrets: readonly SecretVariable[];
  readonly left: readonly LeftOut[];
}

const REFERRED_TO = new Set(
  (KINDS as readonly Kind[]).flatMap(({ refersTo }) => refersTo.map(({ kind }) => kind)),
);

/**
 * Writes stored objects of every kind as a file has them: the inverse of `readObjects`. `without`: objects to be left out, and why.
 */
export function writeObjects(
  stored: StoredObjects,
  without: ReadonlyMap<Current<object>, string>,
  outside: Outside,
): WrittenObjects {
  const file: Record<string, unknown> = {};
  const places: WrittenPlace[] = [];
  const secrets = new Map<string, SecretVariable>();
  const left: LeftOut[] = [];
  const absent = new Set<string>();
  const about = writingOf(stored);
  for (const kind of KINDS as readonly Kind[]) {
    const rows: readonly Current<object>[] = stored[kind.name as keyof StoredObjects];
    const wanted = rows.filter((row) => isPresent(kind, row)).toSorted(byOwner);
    const omitted = omittedOf(kind, wanted, rows);
    const written = wanted.flatMap((row): Written[] => {
      const reason =
        reasonToLeave(kind, row, absent) ?? omitted.get(row) ?? without.get(row) ?? null;
      if (reason === null) {
        const fields = fieldsToWrite(kind, row, outside);
        return [{ ...row, fields: withVariables(kind, row.object, fields, secrets) }];
      }
      absent.add(`${kind.name} ${kind.key(row.object)}`);
      left.push({ subject: subjectOf(kind, row.object), reason });
      return [];
    });
    const rowOf = new Map(rows.map((row) => [row.object, row]));
    const parts = kind.write?.(written, about) ?? written.map((one) => partOf(kind, one));
    for (const { path, value, of } of parts) {
      places.push({
        pointer: put(file, path, value),
        of: of.map((one) => rowOf.get(one.object) ?? one),
      });
    }
  }
  return { file, places, secrets: [...secrets.values()], left };
}

function writingOf({ organisation }: StoredObjects): Writing {
  const limits = new Map(organisation.map(({ object }) => [object.slug, object.limits]));
  return { maxPorts: (slug) => limits.get(slug)?.max_ports_per_request ?? 1 };
}

/** Whether it is there, rather than history: what leaving a file ends has ended. Others may still refer to the rest. */
function isPresent(kind: Kind, row: Current<object>): boolean {
  if (kind.isPast?.(row) === true) return false;
  return REFERRED_TO.has(kind.name) || kind.isEnded?.(row, false) !== true;
}

/** Orders what the file has first: where it may have one of a name, that is it. */
function byOwner(a: Current<object>, b: Current<object>): number {
  return Number(a.owner === 'portal') - Number(b.owner === 'portal');
}

function reasonToLeave(
  kind: Kind,
  { owner, object }: Current<object>,
  absent: ReadonlySet<string>,
): string | null {
  if (owner === 'portal' && kind.adopt === undefined) {
    return 'it was made by hand, and --adopt does not hand such to a file';
  }
  const missing = kind.refersTo.find((reference) => {
    const key = reference.key(object);
    return key !== null && absent.has(`${reference.kind} ${key}`);
  });
  return missing === undefined ? null : `its ${missing.kind} is left out`;
}

/** Objects that a file would leave as they are (`omits`), such as a key whose name a revoked one of the file has. */
function omittedOf(
  kind: Kind,
  wanted: readonly Current<object>[],
  rows: readonly Current<object>[],
): ReadonlyMap<Current<object>, string> {
  if (kind.omits === undefined) return new Map();
  const objects = wanted.map(({ object }) => object);
  const matched = kind.match?.(objects, rows) ?? new Map<number, Current<object>>();
  const now = new Date();
  return new Map(
    wanted.flatMap((row, index) => {
      const why = kind.omits?.(row.object, matched.get(index) ?? row, now) ?? null;
      return why === null ? [] : [[row, why] as const];
    }),
  );
}

/** The fields with variables in place of secrets, which the kind never shows (`view`). */
function withVariables(
  kind: Kind,
  object: object,
  fields: Written['fields'],
  known: Map<string, SecretVariable>,
): Written['fields'] {
  const shown = kind.view?.(object);
  if (shown === undefined) return fields;
  const written = Object.entries(fields).map(([name, value]) => {
    if (typeof value !== 'string' || Reflect.get(shown, name) !== null) return [name, value];
    const words = `${kind.name} ${kind.key(object)} ${name}`;
    const base = words.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
    let free = base;
    for (let at = 2; known.has(free); at += 1) free = `${base}_${at}`;
    const variable = new SecretVariable(free, value);
    known.set(free, variable);
    return [name, variable];
  });
  return Object.fromEntries(written);
}

/** The entry of a kind whose `place` says where it is. */
function partOf(kind: Kind, one: Written): FilePart {
  if (typeof kind.place !== 'string') throw new Error(`the kind ${kind.name} cannot be written`);
  const names = new Set<string>();
  const path = kind.place
    .split('/')
    .slice(1)
    .map((step): FileStep => {
      if (step === '*') return APPENDED;
      const [, name] = /^\{(\w+)\}$/.exec(step) ?? [];
      if (name === undefined) return step;
      names.add(name);
      return String(Reflect.get(one.object, name));
    });
  const fields = Object.entries(one.fields).filter(([name]) => !names.has(name));
  return { path, value: Object.fromEntries(fields), of: [one] };
}

type Nest = Record<string, unknown> | unknown[];

/** Puts a value at its place and returns its JSON pointer. */
function put(file: Record<string, unknown>, path: readonly FileStep[], value: unknown): string {
  const pointer: (string | number)[] = [];
  let nest: Nest = file;
  for (const [index, step] of path.entries()) {
    const next = path[index + 1];
    const isLast = next === undefined;
    const empty: Nest = isLast || typeof next === 'string' ? {} : [];
    const name = nameOf(nest, step);
    pointer.push(name);
    // An organisation may have the name of what every object inherits, such as `constructor`.
    const inside: unknown = Object.hasOwn(nest, name) ? Reflect.get(nest, name) : empty;
    if (isLast)
      Reflect.set(
        nest,
        name,
        typeof step === 'string' ? Object.assign(inside as object, value) : value,
      );
    else Reflect.set(nest, name, inside);
    nest = inside as Nest;
  }
  return pointer.map((name) => `/${name}`).join('');
}

/** The member of a step. */
function nameOf(nest: Nest, step: FileStep): string | number {
  if (typeof step === 'string') return step;
  const list = nest as readonly { readonly id?: number }[];
  if (step === APPENDED) return list.length;
  const found = list.findIndex(({ id }) => id === step.id);
  return found < 0 ? list.length : found;
}
