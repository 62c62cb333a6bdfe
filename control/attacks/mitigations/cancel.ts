import { sql } from 'kysely';
import { type Actor, recordAudit } from '../../access/index.ts';
import type { Db } from '../../db/database.ts';
import { respondIn } from './respond.ts';

export type Cancelled =
  | { readonly kind: 'cancelled'; readonly subject: string; readonly generation: number | null }
  /** Nothing was decided about an attack of this id, or it is not the caller's. */
  | { readonly kind: 'unknown' };

/**
 * Withdraws everything that is done against an attack, for as long as it is this attack. Again does nothing.
 * `organisationId` null: whoever's it is.
 */
export async function cancelMitigations(
  db: Db,
  attackId: number,
  { actor, organisationId }: { readonly actor: Actor; readonly organisationId: number | null },
): Promise<Cancelled> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ subject: string; organisationId: number | null }>`
      update attack_responses r
         set cancelled_at = coalesce(cancelled_at, now()),
             cancelled_by = coalesce(cancelled_by, ${`${actor.kind} ${actor.name}`})
        from (select organisation_id from attacks where id = ${attackId}
               order by revision desc limit 1) a
       where r.attack_id = ${attackId}
         and (${organisationId}::bigint is null or a.organisation_id = ${organisationId})
      returning r.target::text as subject, a.organisation_id as "organisationId"`.execute(tx);
    const [row] = rows;
    if (row === undefined) return { kind: 'unknown' };
    const responded = await respondIn(tx, attackId);
    const generation = responded?.generation ?? null;
    await recordAudit(tx, {
      actor,
      organisationId: row.organisationId,
      action: 'attack.cancel',
      target: `attack:${attackId}`,
      detail: { subject: row.subject },
      generation,
    });
    return { kind: 'cancelled', subject: row.subject, generation };
  });
}
