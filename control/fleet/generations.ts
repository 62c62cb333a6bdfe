import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import { noteLock } from '../db/locks.ts';

/** Every control process listens here; the payload is the generation in decimal. */
export const GENERATION_CHANNEL = 'portcullis_generation';

export interface GenerationRequest {
  /** The reason, for operators: `rule.create`, `holding`, `fleet.apply`. */
  readonly cause: string;
  /** Addresses and CIDRs whose policies may change; a CIDR includes everything inside it. */
  readonly targets: readonly string[];
  /** It changes what no target names, such as settings of edges: every edge must confirm it, as one without targets. */
  readonly everywhere?: boolean;
}

/** A generation with more targets concerns every edge: comparing them with the prefixes of each costs more than it saves. */
const MOST_TARGETS = 256;

/**
 * Takes the fleet's next generation for this transaction and returns it.
 *
 * The transaction then holds the fleet's row lock until the commit, which makes the order of commits the order of
 * generations: call it as late as possible. Edges are notified at the commit, and not after a rollback. One
 * statement, so one round trip under the lock.
 */
export async function takeGeneration(tx: Tx, request: GenerationRequest): Promise<number> {
  noteLock(tx, 'fleet');
  const { rows } = await sql<{ generation: number }>`
    with ${takenGeneration(request)}
    select generation, ${announced()} from taken`.execute(tx);
  const taken = rows[0];
  if (taken === undefined) throw lostFleet();
  return taken.generation;
}

/**
 * The head of a statement that takes a generation and writes with it, in one round trip under the lock. `taken` has
 * the generation; the statement must also select `announced()`.
 */
export function takenGeneration({
  cause,
  targets,
  everywhere = false,
}: GenerationRequest): RawBuilder<unknown> {
  const isEverywhere = everywhere || targets.length === 0 || targets.length > MOST_TARGETS;
  return sql`
    taken as (
      update fleet set generation = generation + 1 returning generation
    ), named as (
      insert into generations (generation, cause, everywhere)
      select generation, ${cause}, ${isEverywhere}::boolean from taken
    ), changed as (
      insert into changes (generation, target)
      select distinct generation, target::cidr
        from taken, unnest(${targets}::text[]) as target
    )`;
}

export function announced(): RawBuilder<unknown> {
  return sql`pg_notify(${GENERATION_CHANNEL}, generation::text)`;
}

export function lostFleet(): Error {
  return new Error('the fleet has lost its row: the database was damaged by hand');
}

/** The newest accepted generation; 0 before the first write. */
export async function currentGeneration(db: Db | Tx): Promise<number> {
  const { rows } = await sql<{ generation: number }>`select generation from fleet`.execute(db);
  return rows[0]?.generation ?? 0;
}
