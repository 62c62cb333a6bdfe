import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';

/** The class of the advisory locks of rights; "PCLR" in ASCII. Other locks of this database are of one number. */
const LOCK = 0x50_43_4c_52;
/** Longer than most writes wait for locks; a write ends with its deadline in any case. */
const WAIT_MS = 5_000;

/**
 * Marks that this transaction writes by the right of a key, or of a person (the negative id). Taken before the right is
 * read again, and shared, so that writes do not wait for one another. It waits for nothing but `waitForWrites`, and
 * whoever ends a right holds no lock then, so that no deadlock can come of it.
 */
export async function holdRight(tx: Tx, holderId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(${LOCK}, hashint8(${holderId}))`.execute(tx);
}

/**
 * Waits for the writes of this holder, and makes later ones wait for this transaction: what it deletes is then all that
 * there is. Taken before any row, as `holdRight` is.
 */
export async function takeRight(tx: Tx, holderId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK}, hashint8(${holderId}))`.execute(tx);
}

/**
 * Called after the commit that ended or changed rights: waits until the writes that began with the old ones have ended,
 * so that nothing is written by them once the answer is sent. Gives up after 5 s; the rights have ended all the same.
 */
export async function waitForWrites(db: Db, holderIds: readonly number[]): Promise<void> {
  for (const holderId of new Set(holderIds)) {
    await db
      .transaction()
      .execute(async (tx) => {
        await sql`select set_config('lock_timeout', ${String(WAIT_MS)}, true)`.execute(tx);
        await takeRight(tx, holderId);
      })
      .catch(() => {});
  }
}
