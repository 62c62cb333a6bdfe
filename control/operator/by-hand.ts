import { createValidator, type Validator } from '@portcullis/contract/validator.ts';
import { sql } from 'kysely';
import { type Actor, notifyAccess, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { constraintOf } from '../db/failure.ts';
import { lockInstallation } from '../db/locks.ts';
import { Batch } from '../fleet/batch.ts';
import { sameState } from '../http/operations/etag.ts';
import { conflict, type FieldError, Problem } from '../problem.ts';
import {
  type Current,
  type EggLibrary,
  type Kind,
  type Made,
  NOTHING_OUTSIDE,
  type Outside,
  type Refuse,
  subjectOf,
  type Wanted,
} from './kind.ts';
import { kindNamed, type KindName } from './kinds.ts';
import { differenceOf } from './plan.ts';
import { readObject } from './read.ts';

/** A change of what is declared, by an operator: one at a time, and not of what the fleet file owns. */
export async function operate<T>(tx: Tx, change: (batch: Batch) => Promise<T>): Promise<T> {
  await lockInstallation(tx);
  try {
    return await change(new Batch(tx, 'portal'));
  } catch (error) {
    throw await explain(error, tx);
  }
}

/** Names that somebody else has, by the constraint that says so. */
const TAKEN: Readonly<Record<string, readonly [pointer: string, detail: string]>> = {
  // Others wrote at the same time: agents, or a release that does not take the lock.
  holdings_one_holder: [
    '/prefix',
    'Another organisation was given it at the same time: look again.',
  ],
  organisations_external_id_key: ['/external_id', 'Another organisation has this external id.'],
  game_servers_external_id: [
    '/external_id',
    'Another server of the organisation has this external id.',
  ],
};

async function explain(error: unknown, tx: Tx): Promise<unknown> {
  if (error instanceof Problem && error.code === 'managed_by_fleet_file') {
    const { rows } = await sql<{ path: string }>`
      select path from fleet_applies order by id desc limit 1`.execute(tx);
    const [{ path } = { path: null }] = rows;
    return path === null ? error : new Problem(error.code, `${error.detail} It is ${path}.`);
  }
  const taken = TAKEN[constraintOf(error) ?? ''];
  return taken === undefined ? error : conflict(taken[1], taken[0]);
}

/** The conditions of a write (RFC 9110, 13), and what it may end. */
export interface WriteTerms {
  readonly actor: Actor;
  readonly ifMatch?: string | null;
  readonly ifNoneMatch?: string | null;
  /** Also if something would be lost. */
  readonly allowsLosses?: boolean;
  /** Whether the path of the request is that of the object. */
  readonly isAt?: (object: object) => boolean;
  /** It makes the object where there is none of this side. */
  readonly isWhole?: boolean;
  /** The word for the change in the audit trail. Default: `create` or `change`. */
  readonly action?: string;
  /** Where the eggs come from that an object names. */
  readonly library?: EggLibrary;
}

export interface Written<T extends object> {
  readonly current: Current<T>;
  readonly isNew: boolean;
  /** Null when nothing changed for edges. */
  readonly generation: number | null;
  /** Made for it, and shown this once. */
  readonly secret: string | null;
}

/**
 * Creates or changes an object of the side that writes. `key`: null creates one whose number is given. `make`: the object
 * from what there is (null: nothing yet), with defaults left out. Throws 412, 422 or the loss, and then nothing is changed.
 */
export async function saveByHand<T extends object>(
  batch: Batch,
  kind: Kind<T>,
  key: string | null,
  make: (before: Current<T> | null) => object | Promise<object>,
  terms: WriteTerms,
): Promise<Written<T>> {
  const { tx } = batch;
  const before = key === null ? null : await loadForWrite(batch, kind, key, terms);
  if (kind.isNumbered && key !== null && before === null) throw noSuch(kind, key);
  const find = outsideOf(tx, kind, terms);
  const object = await readWhole(kind, await make(before), before?.object ?? null, find);
  await requireReferences(tx, kind, object);
  const difference = differenceOf(kind, before, object);
  if (difference === null && before !== null)
    return { current: before, isNew: false, generation: null, secret: null };
  await refuseChange(tx, kind, { object, before }, terms);
  const made: Made[] = [];
  await kind.save(batch, [{ object, before }], (_index, one) => made.push(one));
  const [{ key: given, secret } = { key: kind.key(object), secret: null }] = made;
  const [current] = await kind.load(tx, [given]);
  if (current === undefined) throw new Error(`the ${subjectOf(kind, object)} was not saved`);
  const { action = before === null ? 'create' : 'change' } = terms;
  const words = difference?.words;
  const generation = await finish(batch, kind, { object: current.object, action, terms, words });
  return { current, isNew: before === null, generation, secret };
}

/** Creates or changes an object that control declares by itself, such as the node of its own host. */
export async function saveDeclared(
  batch: Batch,
  name: KindName,
  given: object,
  from: Pick<WriteTerms, 'library'> = {},
): Promise<void> {
  const kind = kindNamed(name);
  if (kind === undefined) throw new Error(`there is no kind ${name}`);
  const key = kind.key(given);
  const [before = null] = await kind.load(batch.tx, [key]);
  const find = outsideOf(batch.tx, kind, from);
  const object = await readWhole(kind, given, before?.object ?? null, find);
  await kind.save(batch, [{ object, before }], () => {});
}

/** Removes an object of the side that writes. */
export async function removeByHand<T extends object>(
  batch: Batch,
  kind: Kind<T>,
  key: string,
  terms: WriteTerms,
): Promise<void> {
  const before = await loadForWrite(batch, kind, key, terms, kind.isEndedByHand);
  if (before === null || terms.isAt?.(before.object) === false) throw noSuch(kind, key);
  const hindrance = kind.hindrance?.(before) ?? null;
  if (hindrance !== null) throw conflict(hindrance);
  if (kind.losses !== undefined && terms.allowsLosses !== true) {
    const isLast = (await kind.load(batch.tx)).length === 1;
    refuseLosses(kind.losses({ before, after: null, isLast, byHand: true }), terms);
  }
  await kind.remove(batch, [before]);
  await finish(batch, kind, { object: before.object, action: 'remove', terms });
}

export function noSuch(kind: Pick<Kind, 'name'>, key: string): Problem {
  const called = kind.name.replaceAll('-', ' ');
  return new Problem('not_found', `There is no ${called} "${key.slice(0, 100)}".`);
}

/** The state that `If-Match` compares. */
export function stateOf<T extends object>(kind: Kind<T>, { object, owner }: Current<T>): string {
  return JSON.stringify({ ...(kind.view?.(object) ?? object), owner });
}

async function loadForWrite<T extends object>(
  batch: Batch,
  kind: Kind<T>,
  key: string,
  { ifMatch = null, ifNoneMatch = null, isWhole = false }: WriteTerms,
  isOfAny = false,
): Promise<Current<T> | null> {
  await kind.lock?.(batch.tx, key);
  const stored = await kind.load(batch.tx, [key]);
  const isOwn = ({ owner }: Current<T>) => !isWhole || !kind.isTwoSided || owner === batch.owner;
  const before = stored.find(isOwn) ?? null;
  const called = `${kind.name.replaceAll('-', ' ')} ${key}`;
  const isSame = (tags: string) => before !== null && sameState(tags, stateOf(kind, before));
  if (ifNoneMatch !== null && isSame(ifNoneMatch)) {
    throw new Problem('precondition_failed', `There is a ${called} already. Nothing was changed.`);
  }
  if (ifMatch !== null && !isSame(ifMatch)) {
    const other = stored.find((one) => sameState(ifMatch, stateOf(kind, one)));
    if (other !== undefined) batch.requireOwn(other.owner, `The ${subjectOf(kind, other.object)}`);
    const why = before === null ? 'is not there' : 'was changed since it was read';
    throw new Problem('precondition_failed', `The ${called} ${why}. Read it again.`);
  }
  if (before !== null && !isOfAny)
    batch.requireOwn(before.owner, `The ${subjectOf(kind, before.object)}`);
  return before;
}

const validators = new WeakMap<object, Validator<unknown>>();

/**
 * Reads a whole object, also one that no validator has seen. `find`: what it names that no kind declares. Throws 422
 * with every mistake at its place.
 */
export async function readWhole<T extends object>(
  kind: Kind<T>,
  given: object,
  before: T | null,
  find: (given: object) => Promise<Outside>,
): Promise<T> {
  const validator = validators.get(kind.schema) ?? createValidator(kind.schema);
  validators.set(kind.schema, validator);
  const errors: FieldError[] = validator.fits(given)
    ? []
    : validator.explain(given).map(({ pointer, detail }) => ({ pointer, detail }));
  if (errors.length === 0) {
    const refuse: Refuse = (pointer, detail) => errors.push({ pointer, detail });
    const object = readObject(kind, given, refuse, await find(given));
    kind.checkByHand?.(object, refuse);
    const whole = kind.inherit?.(object, before, refuse) ?? object;
    if (errors.length === 0) return whole;
  }
  throw refusal(errors);
}

function refusal(errors: readonly FieldError[]): Problem {
  return new Problem('invalid_request', errors.map(({ detail }) => detail).join(' '), { errors });
}

/** Finds what objects name that no kind declares. */
export function outsideOf<T extends object>(
  tx: Tx,
  kind: Kind<T>,
  { library }: Pick<WriteTerms, 'library'>,
): (given: object) => Promise<Outside> {
  return async (given) => {
    if (kind.outside === undefined || library === undefined) return NOTHING_OUTSIDE;
    return kind.outside(tx, given, library);
  };
}

async function requireReferences<T extends object>(
  tx: Tx,
  kind: Kind<T>,
  object: T,
): Promise<void> {
  for (const { kind: name, pointer, ...reference } of kind.refersTo) {
    const key = reference.key(object);
    const other = kindNamed(name);
    if (key === null || other === undefined) continue;
    const [named] = await other.load(tx, [key]);
    if (named && reference.accepts?.(object, named.object) !== false) {
      const errors: FieldError[] = [];
      reference.check?.(object, named.object, (place, detail) =>
        errors.push({ pointer: place, detail }),
      );
      if (errors.length > 0) throw refusal(errors);
      continue;
    }
    const none = `There is no ${name.replaceAll('-', ' ')} ${key}.`;
    const detail = reference.missing?.(object) ?? none;
    throw new Problem('invalid_request', detail, { errors: [{ pointer, detail }] });
  }
}

async function refuseChange<T extends object>(
  tx: Tx,
  kind: Kind<T>,
  { object, before }: Wanted<T>,
  terms: WriteTerms,
): Promise<void> {
  const obstacle = (before && kind.obstacle?.(before, object)) ?? null;
  if (obstacle !== null) throw conflict(obstacle);
  await kind.admit?.(tx, { object, before });
  if (terms.allowsLosses === true) return;
  const own =
    before === null
      ? []
      : (kind.losses?.({ before, after: object, isLast: false, byHand: true }) ?? []);
  const elsewhere = (await kind.endsElsewhere?.(tx, [object]))?.get(kind.key(object)) ?? [];
  refuseLosses([...own, ...elsewhere], terms);
}

function refuseLosses(losses: readonly string[] = [], { allowsLosses = false }: WriteTerms): void {
  if (allowsLosses || losses.length === 0) return;
  throw new Problem(
    'live_objects',
    `${losses.join(' ')} Nothing was changed: allow_losses=true does it.`,
  );
}

async function organisationOf<T extends object>(
  tx: Tx,
  kind: Kind<T>,
  object: T,
): Promise<number | null> {
  const slug = kind.organisation?.(object) ?? null;
  if (slug === null) return null;
  const { rows } = await sql<{ id: number }>`
    select id from organisations where slug = ${slug}`.execute(tx);
  return rows[0]?.id ?? null;
}

interface Finished<T extends object> {
  readonly object: T;
  readonly action: string;
  readonly terms: WriteTerms;
  readonly words?: string | undefined;
}

/** Takes the generation and writes the audit trail, that of the object's organisation too. */
async function finish<T extends object>(
  batch: Batch,
  kind: Kind<T>,
  { object, action: done, terms: { actor }, words }: Finished<T>,
): Promise<number | null> {
  const action = `${kind.name}.${done}`;
  await notifyAccess(batch.tx);
  const generation = await batch.takeGeneration(action);
  await recordAudit(batch.tx, {
    actor,
    organisationId: await organisationOf(batch.tx, kind, object),
    action,
    target: kind.target?.(object) ?? `${kind.name}:${kind.key(object)}`,
    detail: words === undefined ? {} : { words },
    generation,
  });
  return generation;
}
