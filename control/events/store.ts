import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

export const EVENTS_KEPT_DAYS = 7;

/** A position between events. Opaque to callers, which send it back as `Last-Event-ID`. */
export interface Cursor {
  /** A number of 64 bits. */
  readonly transaction: string;
  readonly id: number;
}

export interface StoredEvent extends Cursor {
  readonly at: Date;
  /** Null: concerns the operator alone. */
  readonly organisationId: number | null;
  readonly kind: string;
  readonly target: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Where a reader begins that wants what happens from now on. */
export async function newestCursor(db: Db): Promise<Cursor> {
  const { rows } = await sql<{ transaction: string }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as transaction`.execute(db);
  return { transaction: rows[0]?.transaction ?? '0', id: 0 };
}

/**
 * Events after a cursor, in order; of one organisation, or of all with null. Leaves out those of transactions that a
 * running one may still come before; `isWaiting` says that there are such.
 */
export async function loadEvents(
  db: Db,
  after: Cursor,
  organisationId: number | null,
  limit: number,
): Promise<{ readonly events: readonly StoredEvent[]; readonly isWaiting: boolean }> {
  const { rows } = await sql<StoredEvent & { isFinal: boolean }>`
    select transaction::text, id, at, organisation_id as "organisationId", kind, target, data,
           transaction < pg_snapshot_xmin(pg_current_snapshot()) as "isFinal"
      from events
     where (transaction, id) > (${after.transaction}::xid8, ${after.id}::bigint)
       and (${organisationId}::bigint is null or organisation_id = ${organisationId}::bigint)
     order by transaction, id limit ${limit}`.execute(db);
  const events = rows.filter(({ isFinal }) => isFinal);
  return { events, isWaiting: events.length < rows.length };
}

/** Whether everything after the cursor is still kept. */
export async function isKept(db: Db, after: Cursor): Promise<boolean> {
  const { rows } = await sql<{ kept: boolean }>`
    select coalesce((select min(transaction) from events) <= ${after.transaction}::xid8, true)
           or (select min(at) from events) > now() - ${EVENTS_KEPT_DAYS - 1} * interval '1 day' as kept`.execute(
    db,
  );
  return rows[0]?.kept ?? true;
}

const BATCH = 5_000;

/** Deletes one batch of old events; returns how many. */
export async function sweepEvents(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from events where id in (
      select id from events where at < now() - ${EVENTS_KEPT_DAYS} * interval '1 day'
       order by at limit ${BATCH} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
