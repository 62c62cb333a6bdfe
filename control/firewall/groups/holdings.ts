import { loadHolder } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import { lockRows } from '../../db/locks.ts';
import { Problem } from '../../problem.ts';

/**
 * Limits of an address count own rules and filters, and groups assigned to it or to a
 * containing prefix. So that two concurrent writes never exceed a limit:
 * - a write to own rules or filters takes its holding FOR SHARE before it locks its address and counts;
 * - an assignment, and an edit of an assigned group, takes its group and then its holdings FOR NO KEY UPDATE, before
 *   it counts. That also covers addresses that have no row yet.
 */
export async function lockHoldings(tx: Tx, ids: readonly number[]): Promise<void> {
  await lockRows(tx, 'holdings', ids, 'no key update');
}

/**
 * Returns the most specific current holding that contains `target` (a CIDR with length). Throws `not_found` when it is
 * not the organisation's own.
 */
export async function findAssignableHolding(
  tx: Tx,
  organisationId: number,
  target: string,
): Promise<number> {
  const holding = await loadHolder(tx, target);
  if (holding === null || holding.organisationId !== organisationId) {
    throw new Problem('not_found', `The organisation does not hold ${target}.`);
  }
  return holding.id;
}
