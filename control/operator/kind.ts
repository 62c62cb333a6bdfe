import type { PatternCompiler } from '@portcullis/core/game-servers/eggs/rules.ts';
import type { TObject } from 'typebox';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';
import type { EggFile } from '../game-servers/index.ts';

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
  /** Its number in the path is given when it is made. */
  readonly isNumbered?: true;
  /** The fields of requests that are not declared (`beside`). */
  readonly input?: object;
  /**
   * Where it is in the file: `/edges/*`; a name in braces is the member's name, and a field of the object. A kind that is
   * written in several places finds its entries itself.
   */
  readonly place: string | ((file: object, refuse: Refuse) => FileEntry[]);
  /**
   * Writes objects as a file has them, where that is not at `place` with the fields of the object: the inverse of a `place`
   * that is a function, of `spread`, and of other spellings.
   */
  write?(many: readonly Written<T, Facts>[], about: Writing): FilePart[];
  /** Fields that a file leaves open, as JSON pointers, because others set them (`keeps`). */
  open?(current: Current<T, Facts>): readonly string[];
  /** Names the object among all of its kind. */
  key(object: T): string;
  /** The objects of other kinds that it names: those are saved before it and removed after it. */
  readonly refersTo: readonly Reference<T>[];
  /** The slug of its organisation; null: of none. Absent: the kind is of none. */
  organisation?(object: T): string | null;
  /** Finds what an object names that no kind declares, by hand: `given` matches the schema. */
  outside?(tx: Tx, given: object, library: EggLibrary): Promise<Outside>;
  /** Returns fields that depend on others: a default, or one spelling. */
  complete?(given: Given<T>, outside: Outside): Partial<T>;
  /** Refuses what a schema cannot say. */
  check?(object: T, refuse: Refuse, outside: Outside): void;
  /** Makes several objects of an entry of a file. */
  spread?(entry: object): readonly Spread[];
  /** Joins two entries of a file that are of one object. Absent: the second is refused. */
  combine?(one: T, other: T, refuse: Refuse): T;
  /** Refuses objects that do not go together; `index` is that of the list. */
  checkAll?(
    objects: readonly T[],
    refuse: (index: number, ...why: Parameters<Refuse>) => void,
  ): void;
  /** The held networks that it stands on. A plan leaves out those that its organisation holds no more (`without`). */
  targets?(object: T): Target[];
  /** Null: nothing of it is left. */
  without?(object: T, targets: ReadonlySet<string>): T | null;
  /** Says what is wrong with two objects of a file that have one key; null: nothing. Default: it is there twice. */
  clash?(object: T, other: T): string | null;
  /** Finds the rows of the objects of a file, by index. Default: those of the same keys. */
  match?(
    objects: readonly T[],
    rows: readonly Current<T, Facts>[],
  ): ReadonlyMap<number, Current<T, Facts>>;
  /** Refuses objects of a file that do not go together with stored ones: `others` are those that it does not name. */
  checkStored?(
    objects: readonly T[],
    others: readonly Current<T, Facts>[],
    refuse: (index: number, message: string) => void,
    matched: ReadonlyMap<number, Current<T, Facts>>,
  ): void;
  /** Why a file leaves an object as it is, as a note; null: it does not. */
  omits?(object: T, before: Current<T, Facts> | null, now: Date): string | null;
  /** Throws when an object cannot be saved by hand at present, such as for lack of capacity. */
  admit?(tx: Tx, wanted: Wanted<T, Facts>): Promise<void>;
  /** Refuses what only the fleet file may declare. */
  checkByHand?(object: T, refuse: Refuse): void;
  /** Keeps what others set of an object, where a file leaves it open. */
  keeps?(declared: T, before: Current<T, Facts>): T;
  /** Takes over from what is stored what the declaration leaves open. */
  inherit?(object: T, before: T | null, refuse: Refuse): T;
  /** Loads the objects of the keys, or all, ordered. A kind of organisations may read only those of one. */
  load(db: Db | Tx, keys?: readonly string[], organisation?: string): Promise<Current<T, Facts>[]>;
  /** Locks the row against those who change it without declaring it, such as an agent that connects. */
  lock?(tx: Tx, key: string): Promise<void>;
  /** Makes way for changes of a file before any of them is applied. */
  prepare?(batch: Batch, many: readonly Wanted<T, Facts>[]): Promise<void>;
  /** `made`: called for what is not known before it is saved. */
  save(batch: Batch, many: readonly Wanted<T, Facts>[], made: OnMade): Promise<void>;
  remove(batch: Batch, many: readonly Current<T, Facts>[]): Promise<void>;
  /** Hands objects that were made by hand to the fleet file (`--adopt`). Absent: they stay with those who made them. */
  adopt?(tx: Tx, keys: readonly string[]): Promise<void>;
  /** `edge fra1`, in plans and messages. Default: the name of the kind and the key. */
  subject?(object: T): string;
  /** Names the object in the audit trail. Default: the name of the kind and the key. */
  target?(object: T): string;
  /** A new object in a few words. */
  summary(object: T): string;
  /** The fields of a difference, where they are shown otherwise than by the schema; a secret never. */
  shown?(object: T): Readonly<Record<string, unknown>>;
  /** The words of a removal. Default: none. `isNamed`: objects that stay refer to it. */
  ending?(current: Current<T, Facts>, isNamed: boolean): string;
  /** Why an object cannot become another: a sentence; null if it can. */
  obstacle?(before: Current<T, Facts>, after: T): string | null;
  /** Nothing of it is left to be removed: it is kept for the history. `isNamed`: objects that stay refer to it. */
  isEnded?(current: Current<T, Facts>, isNamed: boolean): boolean;
  /** It is history, which is not listed. */
  isPast?(current: Current<T, Facts>): boolean;
  /** It stays as history when the file no longer names it. */
  stays?(current: Current<T, Facts>): boolean;
  /** Handles the fields of requests and answers that are beside the object (`input`). */
  readonly beside?: Beside<Facts>;
  /** Effects of a change beside its fields, in words that follow those of the fields. `isEqual`: no field changes. */
  further?(before: Current<T, Facts>, after: T, isEqual: boolean): string[];
  /** The object as it is answered, where something of it is not. */
  view?(object: T): object;
  /** Losses by a change (`after`) or a removal (null), in sentences: it then has to be allowed. */
  losses?(change: Losing<T, Facts>): string[];
  /** Losses of others by saving objects, in sentences by key: it then has to be allowed. */
  endsElsewhere?(
    db: Db | Tx,
    objects: readonly T[],
  ): Promise<ReadonlyMap<string, readonly string[]>>;
  /** The file may have one of a key, and those who write by hand another one. */
  readonly isTwoSided?: true;
  /** It may be removed by hand also if the fleet file declares it. */
  readonly isEndedByHand?: true;
  /** It has rights: an answer to a write waits for the writes that began by the old ones. */
  readonly isHolder?: true;
  /** Why it cannot be removed by hand at present; null if it can. */
  hindrance?(current: Current<T, Facts>): string | null;
  /** Sentences about the object in the answer to a write. */
  remarks?(tx: Tx, current: Current<T, Facts>): Promise<string[]>;
  /** Objects of it that were made by hand, such as `2 servers`: the file cannot end it before. */
  holds?(current: Current<T, Facts>): string | null;
  /** Notes for the operator about a declared object, which change nothing. */
  notes?(object: T, current: Current<T, Facts> | null): string[];
}

/** Something that saving an object made, and that is not stored with it. */
export interface Made {
  /** The key by which it is loaded. */
  readonly key: string;
  /** It is shown once, and stored nowhere; null: none was made. */
  readonly secret: string | null;
}

/** `index`: that of the object in the list that is saved. */
export type OnMade = (index: number, made: Made) => void;

/** A network with its length, at a JSON pointer inside of its object. */
export interface Target {
  readonly pointer: string;
  readonly target: string;
}

/** The facts of a kind with targets: where each stands, also on holdings that ended. */
export interface Placed {
  readonly places: readonly {
    readonly id: number;
    readonly target: string;
    readonly holdingId: number;
  }[];
}

/** An object in a file: its value, and where it is. */
export interface FileEntry extends Omit<Spread, 'pointers'>, Partial<Pick<Spread, 'pointers'>> {
  readonly pointer: string;
}

/** A stored object with the fields that a file writes of it: what is at its default is left out. */
export interface Written<T extends object = object, Facts extends object = object>
  extends Current<T, Facts> {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Facts about the installation that objects are written by. */
export interface Writing {
  /** The largest number of ports that one rule of an organisation may name. */
  maxPorts(organisation: string): number;
}

/** A step to a place in a file: a member, the entry of a list that has this id, or a new entry of a list. */
export type FileStep = string | { readonly id: number } | typeof APPENDED;

/** The step to a new entry of a list. */
export const APPENDED = Symbol('a new entry');

/** A value at its place in a file, and the objects that it is of. */
export interface FilePart {
  readonly path: readonly FileStep[];
  readonly value: unknown;
  readonly of: readonly Current<object>[];
}

/** Fields of requests and answers that are not declared, such as what a billing system calls an object. */
export interface Beside<Facts extends object> {
  /** Completes the object of a request by what the request has beside it. */
  complete?(tx: Tx, given: object, beside: object, library: EggLibrary): Promise<object>;
  /** Absent: requests have nothing beside it. */
  save?(tx: Tx, key: string, beside: object): Promise<void>;
  show(facts: Facts): object;
}

/** Things that objects name and that no kind declares. */
export interface Outside {
  readonly eggs: ReadonlyMap<string, EggFile>;
  /** Compiles `regex:` rules of eggs; null: nodes alone check them. */
  readonly compile: PatternCompiler | null;
  /** A server may name the egg that it has by its digest, also if it is not found: what it has is known later. */
  readonly mayKeepEggs?: boolean;
}

export const NOTHING_OUTSIDE: Outside = { eggs: new Map(), compile: null };

/** The shipped eggs, and the reader of others, for objects that are written by hand. */
export interface EggLibrary extends Pick<Outside, 'compile'> {
  find(name: string): Promise<EggFile>;
  /** The names of the shipped ones. */
  names(): readonly string[];
  /** An egg that came as a document. */
  read(document: unknown): EggFile;
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
  /** Whether it may name that object. Default: it may. */
  accepts?(object: T, named: object): boolean;
  /** Refuses what does not go with the named object, such as more than its limit. */
  check?(object: T, named: object, refuse: Refuse): void;
  /** Says what to do where it may not, or there is none. */
  missing?(object: T): string;
}

export interface Losing<T extends object, Facts extends object = object> {
  readonly before: Current<T, Facts>;
  readonly after: T | null;
  /** It is the only one of its kind. */
  readonly isLast: boolean;
  /** It was named, rather than left out of a file. */
  readonly byHand: boolean;
}

/** A kind of the interface, with what control does with its objects. */
export function defineKind<
  D extends Pick<Kind, DeclaredMember>,
  T extends object,
  F extends object,
>(declared: D, kind: Omit<Kind<T, F>, DeclaredMember>): D & Kind<T, F> {
  return { ...declared, ...kind };
}

type DeclaredMember = 'name' | 'title' | 'plural' | 'schema' | 'path' | 'input' | 'isNumbered';

export function subjectOf<T extends object>(kind: Kind<T>, object: T): string {
  return kind.subject?.(object) ?? `${kind.name.replaceAll('-', ' ')} ${kind.key(object)}`;
}
