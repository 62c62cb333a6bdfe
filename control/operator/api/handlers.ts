import { pathNames } from '@portcullis/contract/schemas/declared/declared-kind.ts';
import type { Form } from '@portcullis/contract/schemas/declared/shapes.ts';
import { createValidator } from '@portcullis/contract/validator.ts';
import { operatorActor } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
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
import type { Current, Kind } from '../kind.ts';

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

export function createKindHandlers<T extends object>(kind: Kind<T>): KindHandlers {
  const namesOf = pathReader(kind);
  return {
    async list(call, db) {
      const within = Object.entries(namesOf(call.params));
      const found = (await kind.load(db)).filter(({ object }) =>
        within.every(([name, value]) => Reflect.get(object, name) === value),
      );
      return { status: 200, body: { data: found.map((one) => viewOf(kind, one)) } };
    },
    async read(call, db) {
      const key = kind.key(namesOf(call.params) as T);
      const [found] = await kind.load(db, [key]);
      if (found === undefined) throw noSuch(kind, key);
      return { status: 200, body: { data: viewOf(kind, found) }, state: stateOf(kind, found) };
    },
    save: (call, tx) =>
      operate(tx, async (batch) => {
        const names = namesOf(call.params);
        const made = { ...Object(call.body), ...names };
        return answer(
          kind,
          await saveByHand(batch, kind, kind.key(names as T), () => made, termsOf(call)),
        );
      }),
    change: (call, tx) =>
      operate(tx, async (batch) => {
        const key = kind.key(namesOf(call.params) as T);
        const make = (before: Current<T> | null): object => {
          if (before === null) throw noSuch(kind, key);
          return Object(mergePatch(before.object, call.body));
        };
        return answer(kind, await saveByHand(batch, kind, key, make, termsOf(call)));
      }),
    remove: (call, tx) =>
      operate(tx, async (batch) => {
        await removeByHand(batch, kind, kind.key(namesOf(call.params) as T), termsOf(call));
        return { status: 200, body: { data: { done: true } } };
      }),
  };
}

function viewOf<T extends object>(kind: Kind<T>, { object, owner }: Current<T>): object {
  return { ...(kind.view?.(object) ?? object), owner };
}

function answer<T extends object>(
  kind: Kind<T>,
  { current, isNew, generation }: Written<T>,
): Answer {
  return {
    status: isNew ? 201 : 200,
    body: { data: viewOf(kind, current) },
    headers: generation === null ? {} : { 'portcullis-generation': String(generation) },
    state: stateOf(kind, current),
  };
}

function termsOf(call: KindCall): WriteTerms {
  const { ifMatch, ifNoneMatch, query } = call;
  const { allow_losses: allowsLosses = false } = query as { readonly allow_losses?: boolean };
  return { actor: operatorActor(call), ifMatch, ifNoneMatch, allowsLosses };
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
