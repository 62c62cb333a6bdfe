import type { TObject } from 'typebox';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';

/** An object as it is stored. */
export interface Current<T extends object, Facts extends object = object> {
  readonly id: number;
  readonly owner: Owner;
  readonly object: T;
  /** Facts beside the declaration, such as the devices that its host reported. */
  readonly facts: Facts;
}

/** An object to be stored. */
export interface Wanted<T extends object, Facts extends object = object> {
  readonly object: T;
  /** Null: there is none yet. */
  readonly before: Current<T, Facts> | null;
}

/** An object whose fields may be left out. */
type Given<T extends object> = { readonly [Field in keyof T]: T[Field] | undefined };

/** Refuses a value at a JSON pointer inside of the object: a sentence that says what to write. */
export type Refuse = (pointer: string, message: string) => void;

/**
 * A kind of object that an operator declares, by the fleet file, by the API, in the portal or by a command. An object is
 * written as in the file, and what was left out has its default.
 */
export interface Kind<T extends object = object, Facts extends object = object> {
  /** In plans and in the audit trail: `game-server`. */
  readonly name: string;
  /** In the names of its operations: `saveEdge`, `listEdges`. */
  readonly title: string;
  readonly plural: string;
  /** The whole object: the file's JSON Schema, the request, the answer and the document are made of it. */
  readonly schema: TObject;
  /** The path of the API below its prefix: `/edges/{name}`. The last name is that of the object in its place. */
  readonly path: string;
  /** Where it is in the file: `/edges/*`; a name in braces is the member's name, and a field of the object. */
  readonly place: string;
  /** Names the object among all of its kind. */
  key(object: T): string;
  /** The objects of other kinds that it names: those are saved before it and removed after it. */
  readonly refersTo: readonly Reference<T>[];
  /** The slug of its organisation. Absent: the kind is of none. */
  organisation?(object: T): string;
  /** Returns fields that depend on others: a default, or one spelling. */
  complete?(given: Given<T>): Partial<T>;
  /** Refuses what a schema cannot say. */
  check?(object: T, refuse: Refuse): void;
  /** Makes several objects of an entry of a file. */
  spread?(entry: object): readonly Spread[];
  /** Joins two entries of a file that are of one object. Absent: the second is refused. */
  combine?(one: T, other: T, refuse: Refuse): T;
  /** Refuses objects that do not go together; `index` is that of the list. */
  checkAll?(
    objects: readonly T[],
    refuse: (index: number, ...why: Parameters<Refuse>) => void,
  ): void;
  /** Refuses what only the fleet file may declare. */
  checkByHand?(object: T, refuse: Refuse): void;
  /** Takes over from what is stored what the declaration leaves open. */
  inherit?(object: T, before: T | null, refuse: Refuse): T;
  /** Loads the objects of the keys, or all, ordered. */
  load(db: Db | Tx, keys?: readonly string[]): Promise<Current<T, Facts>[]>;
  /** Locks the row against those who change it without declaring it, such as an agent that connects. */
  lock?(tx: Tx, key: string): Promise<void>;
  save(batch: Batch, many: readonly Wanted<T, Facts>[]): Promise<void>;
  remove(batch: Batch, many: readonly Current<T, Facts>[]): Promise<void>;
  /** Hands objects that were made by hand to the fleet file (`--adopt`). */
  adopt(tx: Tx, keys: readonly string[]): Promise<void>;
  /** `edge fra1`, in plans and messages. Default: the name of the kind and the key. */
  subject?(object: T): string;
  /** A new object in a few words. */
  summary(object: T): string;
  /** The fields of a difference, where they are shown otherwise than by the schema; a secret never. */
  shown?(object: T): Readonly<Record<string, unknown>>;
  /** Effects of a change beside its fields, in words that follow those of the fields. */
  further?(before: Current<T, Facts>, after: T): string[];
  /** The object as it is answered, where something of it is not. */
  view?(object: T): object;
  /** Losses by a change (`after`) or a removal (null), in sentences: it then has to be allowed. */
  losses?(change: Losing<T, Facts>): string[];
  /** Why it cannot be removed by hand at present; null if it can. */
  hindrance?(current: Current<T, Facts>): string | null;
  /** Objects of it that were made by hand, such as `2 servers`: the file cannot end it before. */
  holds?(current: Current<T, Facts>): string | null;
  /** Notes for the operator about a declared object, which change nothing. */
  notes?(object: T, current: Current<T, Facts> | null): string[];
}

/** One of several objects that an entry of a file makes. */
export interface Spread {
  readonly value: object;
  /** Where the entry has what the object has at a pointer, if elsewhere. */
  readonly pointers: Readonly<Record<string, string>>;
}

/** A field that names an object of another kind. */
export interface Reference<T extends object> {
  readonly kind: string;
  /** The JSON pointer of the field. */
  readonly pointer: string;
  /** The key of the named object; null if it names none. */
  key(object: T): string | null;
}

export interface Losing<T extends object, Facts extends object = object> {
  readonly before: Current<T, Facts>;
  readonly after: T | null;
  /** It is the only one of its kind. */
  readonly isLast: boolean;
}

/** A kind of the interface, with what control does with its objects. */
export function defineKind<
  D extends Pick<Kind, DeclaredMember>,
  T extends object,
  F extends object,
>(declared: D, kind: Omit<Kind<T, F>, DeclaredMember>): D & Kind<T, F> {
  return { ...declared, ...kind };
}

type DeclaredMember = 'name' | 'title' | 'plural' | 'schema' | 'path';

export function subjectOf<T extends object>(kind: Kind<T>, object: T): string {
  return kind.subject?.(object) ?? `${kind.name.replaceAll('-', ' ')} ${kind.key(object)}`;
}
