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

/** The handlers of the five operations of a kind, by what they do. */
export interface KindHandlers {
  list(call: KindCall, db: Db): Promise<Answer>;
  read(call: KindCall, db: Db): Promise<Answer>;
  save(call: KindCall, tx: Tx): Promise<Answer>;
  change(call: KindCall, tx: Tx): Promise<Answer>;
  remove(call: KindCall, tx: Tx): Promise<Answer>;
}

export function createKindHandlers<T extends object>(
  kind: Kind<T>,
  library: EggLibrary,
): KindHandlers {
  const namesOf = pathReader(kind);
  const keyOf = ({ params }: KindCall): string => kind.key(namesOf(params) as T);
  const write = (call: KindCall, tx: Tx, make: ObjectWrite<T>['make']): Promise<Answer> =>
    operate(tx, (batch) => {
      const written = { key: keyOf(call), body: Object(call.body) as object, make };
      return writeObject(batch, kind, written, termsOf(call, library));
    });
  return {
    async list(call, db) {
      const within = Object.entries({ ...namesOf(call.params), ...Object(call.query) });
      const views = (await kind.load(db)).map((one) => viewOf(kind, one));
      const data = views.filter((view) =>
        within.every(([name, value]) => Reflect.get(view, name) === value),
      );
      return { status: 200, body: { data } };
    },
    async read(call, db) {
      const [found] = await kind.load(db, [keyOf(call)]);
      if (found === undefined) throw noSuch(kind, keyOf(call));
      return { status: 200, body: { data: viewOf(kind, found) }, state: stateOf(kind, found) };
    },
    save: (call, tx) => write(call, tx, (_before, body) => ({ ...body, ...namesOf(call.params) })),
    change: (call, tx) =>
      write(call, tx, (before, body) => {
        if (before === null) throw noSuch(kind, keyOf(call));
        return patched(kind, before.object, body);
      }),
    remove: (call, tx) =>
      operate(tx, async (batch) => {
        await removeByHand(batch, kind, keyOf(call), termsOf(call, library));
        return { status: 200, body: { data: { done: true } } };
      }),
  };
}

interface ObjectWrite<T extends object> {
  readonly key: string;
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
  const [beside, declared] = partition(body, kind.input ?? {});
  const complete = async (given: object): Promise<object> =>
    kind.beside?.complete(tx, given, beside, terms.library) ?? given;
  const written = await saveByHand(
    batch,
    kind,
    key,
    (before) => complete(make(before, declared)),
    terms,
  );
  if (kind.beside === undefined) return answerOf(tx, kind, written);
  await kind.beside.save(tx, key, beside);
  const [current = written.current] = await kind.load(tx, [key]);
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
  { current, isNew, generation }: Written<T>,
): Promise<Answer> {
  const data = viewOf(kind, current);
  const remarks = (await kind.remarks?.(tx, current)) ?? [];
  return {
    status: isNew ? 201 : 200,
    body: remarks.length === 0 ? { data } : { data, message: remarks.join(' ') },
    headers: generation === null ? {} : { 'portcullis-generation': String(generation) },
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
