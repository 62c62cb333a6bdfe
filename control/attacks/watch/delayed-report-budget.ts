import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';

/** An edge stores 512 attacks and reports each again when it ended. */
const MOST = 1_024;
/** The time after which the whole budget is available again. */
const REFILL_SECONDS = 3_600;

/** The used budget; a clock set back restores nothing. */
const SPENT = sql`greatest(0, b.spent - ${MOST}::float8 * greatest(0, extract(epoch from now() - b.at)) / ${REFILL_SECONDS})`;

/**
 * Limits the delayed reports of an edge over all replicas, so that no edge can fill the history. Returns whether the
 * budget suffices; then it is used.
 */
export async function takeDelayedBudget(db: Db, edge: string, amount: number): Promise<boolean> {
  if (amount === 0) return true;
  const { rows } = await sql`
    insert into late_budgets as b (edge, spent) select ${edge}, ${amount}::float8 where ${amount}::float8 <= ${MOST}::float8
        on conflict (edge) do update set spent = ${SPENT} + excluded.spent, at = now()
     where ${SPENT} + excluded.spent <= ${MOST}
    returning 1`.execute(db);
  return rows.length > 0;
}

/** Restores the budget of reports that could not be recorded and will be repeated. */
export async function restoreDelayedBudget(db: Db, edge: string, amount: number): Promise<void> {
  await sql`
    update late_budgets set spent = greatest(0, spent - ${amount}::float8) where edge = ${edge}`.execute(
    db,
  );
}
