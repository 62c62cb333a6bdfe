import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';

/** An edge keeps 512 attacks on its disk, and tells each again when it has ended. */
const MOST = 1_024;
/** So long until it may tell as many again. */
const REFILL_SECONDS = 3_600;

/** What is spent now; a clock that was set back gives nothing back. */
const SPENT = sql`greatest(0, b.spent - ${MOST}::float8 * greatest(0, extract(epoch from now() - b.at)) / ${REFILL_SECONDS})`;

/**
 * Of how many attacks each edge may tell late, so that none can fill the history, through however many control planes.
 * Whether there is room for so many; then they are taken.
 */
export async function takeLate(db: Db, edge: string, amount: number): Promise<boolean> {
  if (amount === 0) return true;
  const { rows } = await sql`
    insert into late_budgets as b (edge, spent) select ${edge}, ${amount}::float8 where ${amount}::float8 <= ${MOST}::float8
        on conflict (edge) do update set spent = ${SPENT} + excluded.spent, at = now()
     where ${SPENT} + excluded.spent <= ${MOST}
    returning 1`.execute(db);
  return rows.length > 0;
}

/** They could not be recorded, and will be told again. */
export async function giveLateBack(db: Db, edge: string, amount: number): Promise<void> {
  await sql`
    update late_budgets set spent = greatest(0, spent - ${amount}::float8) where edge = ${edge}`.execute(
    db,
  );
}
