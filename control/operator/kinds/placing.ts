import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { Problem } from '../../problem.ts';
import type { Placed, Target } from '../kind.ts';
import { showCidr } from '../forms.ts';

/** A target and who has to hold it. */
interface HeldTarget {
  readonly organisation: string;
  readonly target: string;
}

/** The holdings that targets belong to: the present ones, or those of their organisation that begin later. */
export async function findHoldings(
  db: Db | Tx,
  targets: readonly HeldTarget[],
): Promise<ReadonlyMap<string, number>> {
  if (targets.length === 0) return new Map();
  const { rows } = await sql<HeldTarget & { id: number | null }>`
    select w.organisation, w.target, case when cur.organisation_id = o.id then cur.id else later.id end as id
      from jsonb_to_recordset(${JSON.stringify(targets)}::jsonb) as w (organisation text, target cidr)
      join organisations o on o.slug = w.organisation
      left join lateral (select id, organisation_id from holdings h
                          where h.cidr >>= w.target and h.during @> now()
                          order by masklen(h.cidr) desc limit 1) as cur on true
      left join lateral (select id from holdings h
                          where h.cidr >>= w.target and h.organisation_id = o.id and lower(h.during) > now()
                          order by masklen(h.cidr) desc limit 1) as later on true`.execute(db);
  return new Map(
    rows.flatMap(({ id, ...one }) => (id === null ? [] : [[placeKey(one), id] as const])),
  );
}

function placeKey({ organisation, target }: HeldTarget): string {
  return `${organisation} ${target}`;
}

/** An object with the holdings that its targets belong to. */
export interface PlacedObject<W> {
  readonly one: W;
  readonly places: readonly { readonly target: string; readonly holdingId: number }[];
}

/** Finds the holdings of the targets of objects. Throws 422 for one that is not held. */
export async function placeAll<W extends { readonly object: { readonly organisation: string } }>(
  tx: Tx,
  targets: (object: W['object']) => readonly Target[],
  many: readonly W[],
): Promise<PlacedObject<W>[]> {
  const all = many.flatMap(({ object }) =>
    targets(object).map(({ target }) => ({ target, organisation: object.organisation })),
  );
  const held = await findHoldings(tx, all);
  return many.map((one) => {
    const { organisation } = one.object;
    const places = targets(one.object).map((at) => {
      const holdingId = held.get(placeKey({ organisation, target: at.target }));
      if (holdingId === undefined) throw notHeld(organisation, at);
      return { target: at.target, holdingId };
    });
    return { one, places };
  });
}

function notHeld(organisation: string, { pointer, target }: Target): Problem {
  const detail = `${organisation} does not hold ${showCidr(target)}.`;
  return new Problem('invalid_request', detail, { errors: [{ pointer, detail }] });
}

/** The differing places of an object: those to be taken away by their ids, and those to be added. */
export function comparePlaces<P extends { readonly target: string; readonly holdingId: number }>(
  stored: readonly P[],
  wanted: readonly { readonly target: string; readonly holdingId: number }[],
) {
  const keyOf = (one: { readonly target: string; readonly holdingId: number }): string =>
    `${one.target} ${one.holdingId}`;
  const [there, named] = [new Set(stored.map(keyOf)), new Set(wanted.map(keyOf))];
  return {
    removed: stored.filter((one) => !named.has(keyOf(one))),
    added: wanted.filter((one) => !there.has(keyOf(one))),
  };
}

/** The targets that a list of addresses names. */
export function targetsOf({ addresses }: { readonly addresses: readonly string[] }): Target[] {
  return addresses.map((target, index) => ({ pointer: `/addresses/${index}`, target }));
}

export function withoutAddresses<T extends { readonly addresses: readonly string[] }>(
  object: T,
  ended: ReadonlySet<string>,
): T {
  return { ...object, addresses: object.addresses.filter((target) => !ended.has(target)) };
}

/** `+ on X, - off Y`, in words of a plan. */
export function describePlaces(before: readonly string[], after: readonly string[]): string[] {
  const [was, is] = [new Set(before), new Set(after)];
  return [
    ...before.filter((one) => !is.has(one)).map((one) => `off ${showCidr(one)}`),
    ...after.filter((one) => !was.has(one)).map((one) => `on ${showCidr(one)}`),
  ];
}

/** The most that one line of a plan names. */
const NAMED = 10;

export function shorten(words: readonly string[]): string[] {
  return words.length > NAMED ? [...words.slice(0, NAMED), 'and more'] : [...words];
}

/** The places of a row `g`, without those on holdings that ended. */
export function placesOf(table: string, column: string): RawBuilder<unknown> {
  return sql`coalesce((
    select json_agg(json_build_object('id', a.id, 'holdingId', a.holding_id, 'target', a.target) order by a.id)
      from ${sql.table(table)} a join holdings h on h.id = a.holding_id
     where ${sql.ref(`a.${column}`)} = g.id and a.deleted_generation is null
       and (upper_inf(h.during) or upper(h.during) > now())), '[]')`;
}

export function addressesAt(places: Placed['places']): string[] {
  return [...new Set(places.map(({ target }) => target))];
}
