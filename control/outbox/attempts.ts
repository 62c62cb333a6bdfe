import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';

/**
 * Tables of work that is sent outward at least once. Their common columns are `attempts` (claims begun), `released`
 * (claims that a stop aborted), `due_at` (during an attempt, when another process may begin the next one),
 * `claimed_until` (the same; null without an attempt) and `settled_at`.
 */
export type OutboxTable = 'webhook_deliveries' | 'responder_calls';

/** A claimed row of an outbox. */
export interface Attempt {
  readonly id: number;
  /** The number of the claim, used once: a result is stored only while no later claim exists. */
  readonly claim: number;
  /** The number of attempts with this one, without those that a stop aborted. */
  readonly attempts: number;
}

/** Keys of the advisory locks that serialise claims, because a claim counts the running attempts of other processes. */
const CLAIMING: Readonly<Record<OutboxTable, number>> = {
  responder_calls: 0x70636c63,
  webhook_deliveries: 0x70636c64,
};

/** The condition of unsettled rows, in the words of their indexes. */
const UNSETTLED = {
  responder_calls: sql<boolean>`settled_at is null`,
  webhook_deliveries: sql<boolean>`state = 'pending'`,
} as const satisfies Record<OutboxTable, RawBuilder<boolean>>;

export interface ClaimQuery {
  /** Common table expressions; the last is `chosen (id, lease_seconds)`, locked rows that are due. */
  readonly chosen: RawBuilder<unknown>;
  /** Columns beside those of `Attempt`. The claimed row is `c`. */
  readonly columns: RawBuilder<unknown>;
  readonly joins: RawBuilder<unknown>;
}

/**
 * Claims the chosen rows until their leases end. A result must be stored before that; afterwards another process repeats
 * the attempt.
 */
export async function claimAttempts<Due extends Attempt>(
  db: Db,
  table: OutboxTable,
  { chosen, columns, joins }: ClaimQuery,
): Promise<Due[]> {
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${CLAIMING[table]})`.execute(tx);
    const { rows } = await sql<Due>`
      with ${chosen}, claimed as (
        update ${sql.table(table)} c
           set attempts = c.attempts + 1, due_at = l.until, claimed_until = l.until
          from chosen, lateral (select now() + chosen.lease_seconds * interval '1 second' as until) l
         where c.id = chosen.id
        returning c.*
      )
      select c.id, c.attempts as claim, c.attempts - c.released as attempts, ${columns}
        from claimed c ${joins}`.execute(tx);
    return rows;
  });
}

export interface Waiting {
  /** Whether something is due. Running attempts may hold it back. */
  readonly isDue: boolean;
  /** Milliseconds until something else is due, such as by the end of a lease; null: nothing. */
  readonly nextMs: number | null;
}

export async function loadWaiting(db: Db, table: OutboxTable): Promise<Waiting> {
  const unsettled = sql`${sql.table(table)} where ${UNSETTLED[table]}`;
  const { rows } = await sql<Waiting>`
    select coalesce((select due_at from ${unsettled} order by due_at limit 1) <= at, false) as "isDue",
           (select (extract(epoch from due_at - at) * 1000)::float8 from ${unsettled} and due_at > at
             order by due_at limit 1) as "nextMs"
      from (select clock_timestamp() as at) clock`.execute(db);
  return rows[0] ?? { isDue: false, nextMs: null };
}

/**
 * Stores the result of an attempt: the columns in `set`, and the wait until the next attempt, or null to settle the row.
 * Returns false, and stores nothing, when the lease has ended and another process has claimed the row, or when it was
 * settled meanwhile.
 */
export async function storeResult(
  db: Db | Tx,
  table: OutboxTable,
  { id, claim }: Attempt,
  { set, retryMs }: { readonly set: RawBuilder<unknown>; readonly retryMs: number | null },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update ${sql.table(table)}
       set ${set}, claimed_until = null,
           settled_at = case when ${retryMs}::float8 is null then now() end,
           due_at = now() + coalesce(${retryMs}::float8, 0) * interval '1 millisecond'
     where ${isLast(table, id, claim)}`.execute(db);
  return numAffectedRows === 1n;
}

/** Gives back an attempt that a stop aborted: due at once, and not counted. */
export async function releaseAttempt(
  db: Db,
  table: OutboxTable,
  { id, claim }: Attempt,
): Promise<void> {
  await sql`
    update ${sql.table(table)}
       set due_at = now(), claimed_until = null, released = released + 1
     where ${isLast(table, id, claim)}`.execute(db);
}

function isLast(table: OutboxTable, id: number, claim: number): RawBuilder<boolean> {
  return sql`id = ${id} and attempts = ${claim} and ${UNSETTLED[table]}`;
}
