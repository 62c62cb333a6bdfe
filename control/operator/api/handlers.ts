import { pathNames } from '@portcullis/contract/schemas/declared/declared-kind.ts';
import type { Form } from '@portcullis/contract/schemas/declared/shapes.ts';
import { createValidator } from '@portcullis/contract/validator.ts';
import { operatorActor } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Batch } from '../../fleet/batch.ts';
import type { Answer, OperatorCall } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { fieldsOf } from '../fields.ts';
import { FORMS } from '../forms.ts';
import {
  noSuch,
  operate,
  removeByHand,
  saveByHand,
  stateOf,
  type WriteTerms,
  type Written,
} from '../by-hand.ts';
import type { Current, EggLibrary, Kind } from '../kind.ts';

/** A call of an operation of a kind, whatever its fields are. */
type KindCall = OperatorCall<Readonly<Record<string, unknown>>>;

/** The handlers of the operations of a kind, by what they do. */
export interface KindHandlers {
  list(call: KindCall, db: Db): Promise<Answer>;
  read(call: KindCall, db: Db): Promise<Answer>;
  /** Creates an object whose number is given. */
  create(call: KindCall, tx: Tx): Promise<Answer>;
  save(call: KindCall, tx: Tx): Promise<Answer>;
  change(call: KindCall, tx: Tx): Promise<Answer>;
  remove(call: KindCall, tx: Tx): Promise<Answer>;
}

export function createKindHandlers<T extends object>(
  kind: Kind<T>,
  library: EggLibrary,
): KindHandlers {
  const paths = pathsOf(kind);
  const { namesOf, keyOf, isAt } = paths;
  return {
    ...createWriters(kind, paths, library),
    list: (call, db) => listObjects(kind, { ...call, params: namesOf(call) }, db),
    async read(call, db) {
      const [found] = await kind.load(db, [keyOf(call)]);
      if (found === undefined || !isAt(call, found.object)) throw noSuch(kind, keyOf(call));
      return { status: 200, body: { data: viewOf(kind, found) }, state: stateOf(kind, found) };
    },
    remove: (call, tx) =>
      operate(tx, async (batch) => {
        const terms = { ...termsOf(call, library), isAt: (object: object) => isAt(call, object) };
        await removeByHand(batch, kind, keyOf(call), terms);
        if (kind.isHolder) call.endsRights(Number(keyOf(call)));
        return { status: 200, body: { data: { done: true } } };
      }),
  };
}

/** The object that the path of a call names. */
interface Paths {
  namesOf(call: KindCall): Readonly<Record<string, unknown>>;
  keyOf(call: KindCall): string;
  isAt(call: KindCall, object: object): boolean;
}

function pathsOf<T extends object>(kind: Kind<T>): Paths {
  const read = pathReader(kind);
  const namesOf = ({ params }: KindCall) => read(params);
  return {
    namesOf,
    keyOf: (call) => kind.key(namesOf(call) as T),
    isAt: (call, object) =>
      Object.entries(namesOf(call)).every(([name, value]) => Reflect.get(object, name) === value),
  };
}

function createWriters<T extends object>(
  kind: Kind<T>,
  { namesOf, keyOf, isAt }: Paths,
  library: EggLibrary,
): Pick<KindHandlers, 'create' | 'save' | 'change'> {
  type Write = Omit<ObjectWrite<T>, 'body'> & Pick<WriteTerms, 'isWhole'>;
  const write = (call: KindCall, tx: Tx, wanted: Write): Promise<Answer> =>
    operate(tx, (batch) => {
      if (kind.isHolder && wanted.key !== null) call.endsRights(Number(wanted.key));
      const { isWhole = false, ...others } = wanted;
      const write = { ...others, body: Object(call.body) };
      return writeObject(batch, kind, write, { ...termsOf(call, library), isWhole });
    });
  return {
    create: (call, tx) =>
      write(call, tx, { key: null, make: (_before, body) => ({ ...body, ...namesOf(call) }) }),
    save: (call, tx) => {
      const key = keyOf(call);
      return write(call, tx, {
        key,
        isWhole: true,
        make(before, body) {
          const isElsewhere = before !== null && !isAt(call, before.object);
          if (kind.isNumbered && isElsewhere) throw noSuch(kind, key);
          return { ...body, ...namesOf(call) };
        },
      });
    },
    change: (call, tx) => {
      const key = keyOf(call);
      return write(call, tx, {
        key,
        make(before, body) {
          if (before === null || !isAt(call, before.object)) throw noSuch(kind, key);
          return patched(kind, before.object, body);
        },
      });
    },
  };
}

/** The objects that are at the path, and whose answers have the members that the query names. */
async function listObjects<T extends object>(
  kind: Kind<T>,
  { params, query }: KindCall,
  db: Db,
): Promise<Answer> {
  const within = Object.entries({ ...params, ...Object(query) });
  const { organisation } = params;
  const found = await kind.load(
    db,
    undefined,
    typeof organisation === 'string' ? organisation : undefined,
  );
  const views = found.filter((one) => kind.isPast?.(one) !== true).map((one) => viewOf(kind, one));
  const data = views.filter((view) =>
    within.every(([name, value]) => Reflect.get(view, name) === value),
  );
  return { status: 200, body: { data } };
}

interface ObjectWrite<T extends object> {
  /** Null: the number is given now. */
  readonly key: string | null;
  readonly body: object;
  /** The object from what there is and from the body, without what that has beside it. */
  make(before: Current<T> | null, body: object): object;
}

/** Saves the object of a request and what the request has beside it, and answers it. */
async function writeObject<T extends object>(
  batch: Batch,
  kind: Kind<T>,
  { key, body, make }: ObjectWrite<T>,
  terms: WriteTerms & { readonly library: EggLibrary },
): Promise<Answer> {
  const { tx } = batch;
  const { library } = terms;
  const [beside, declared] = partition(body, kind.input ?? {});
  const complete = async (given: object): Promise<object> =>
    (await kind.beside?.complete?.(tx, given, beside, library)) ?? given;
  const written = await saveByHand(
    batch,
    kind,
    key,
    (before) => complete(make(before, declared)),
    terms,
  );
  if (kind.beside?.save === undefined || Object.keys(beside).length === 0) {
    return answerOf(tx, kind, written);
  }
  const at = kind.key(written.current.object);
  await kind.beside.save(tx, at, beside);
  const [current = written.current] = await kind.load(tx, [at]);
  return answerOf(tx, kind, { ...written, current });
}

/** Splits a request into what it has beside the object, and the object. */
export function partition<T extends object, Names extends object>(
  body: T,
  names: Names,
): readonly [beside: Partial<T>, declared: Omit<T, keyof Names>] {
  const members = Object.entries(body);
  const isBeside = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(names, name);
  return [
    Object.fromEntries(members.filter(isBeside)) as Partial<T>,
    Object.fromEntries(members.filter((member) => !isBeside(member))) as Omit<T, keyof Names>,
  ];
}

/** An object after a merge patch. What follows from a field that the patch changes is left out, unless it names that too. */
export function patched<T extends object>(kind: Kind<T>, before: T, patch: object): object {
  const merged = Object(mergePatch(before, patch)) as Record<string, unknown>;
  for (const [name, { 'x-follows': of = '' }] of Object.entries(fieldsOf(kind.schema))) {
    const isChanged = Object.hasOwn(patch, of) && Reflect.get(before, of) !== merged[of];
    if (isChanged && !Object.hasOwn(patch, name)) delete merged[name];
  }
  return merged;
}

function viewOf<T extends object>(kind: Kind<T>, { object, owner, facts }: Current<T>): object {
  return { ...(kind.view?.(object) ?? object), ...kind.beside?.show(facts), owner };
}

export async function answerOf<T extends object>(
  tx: Tx,
  kind: Kind<T>,
  { current, isNew, generation, secret }: Written<T>,
): Promise<Answer> {
  const data = viewOf(kind, current);
  const remarks = (await kind.remarks?.(tx, current)) ?? [];
  const body = remarks.length === 0 ? { data } : { data, message: remarks.join(' ') };
  return {
    status: isNew ? 201 : 200,
    body,
    // A secret must be in no cache, and in no answer that is kept.
    ...(secret !== null && { body: { ...body, data: { ...data, secret } }, remembered: body }),
    headers: {
      ...(generation !== null && { 'portcullis-generation': String(generation) }),
      ...(secret !== null && { 'cache-control': 'no-store' }),
    },
    state: stateOf(kind, current),
  };
}

function termsOf(
  call: KindCall,
  library: EggLibrary,
): WriteTerms & { readonly library: EggLibrary } {
  const { ifMatch, ifNoneMatch, query } = call;
  const { allow_losses: allowsLosses = false } = query as { readonly allow_losses?: boolean };
  return { actor: operatorActor(call), ifMatch, ifNoneMatch, allowsLosses, library };
}

/** Reads the fields that the path names; a text that can be none of the kind is 404. */
function pathReader(
  kind: Kind,
): (params: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> {
  const fields = fieldsOf(kind.schema);
  const readers = pathNames(kind.path).map((name) => {
    const field = fields[name] ?? {};
    return { name, form: field['x-form'], validator: createValidator(field) };
  });
  return (params) =>
    Object.fromEntries(
      readers.flatMap(({ name, form, validator }) => {
        const value = params[name];
        if (value === undefined) return [];
        const formed =
          form === undefined || typeof value !== 'string' ? null : FORMS[form as Form](value);
        if (formed?.ok === false) throw new Problem('not_found', formed.reason);
        if (validator.fits(value)) return [[name, formed?.value ?? value]];
        const [wrong] = validator.explain(value);
        throw new Problem('not_found', `There is no such path: ${name} ${wrong?.detail}.`);
      }),
    );
}

/** Applies a merge patch (RFC 7396). */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
  const merged = new Map<string, unknown>(Object.entries(isObject ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
