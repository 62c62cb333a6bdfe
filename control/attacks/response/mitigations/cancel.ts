import { sql } from 'kysely';
import { type Actor, recordAudit } from '../../../access/index.ts';
import type { Tx } from '../../../db/database.ts';
import { respondIn } from './respond.ts';
import { EXPIRY_SECONDS } from './store.ts';

export interface Cancelled {
  readonly subject: string;
  /** Withdraws the mitigations. Null if there were none. */
  readonly generation: number | null;
}

/**
 * Withdraws all mitigations of an attack and prevents new ones for as long as it is this attack, also if none were
 * planned yet. A repetition does nothing. Null if there is no such attack.
 */
export async function cancelIn(tx: Tx, attackId: number, actor: Actor): Promise<Cancelled | null> {
  const { rows } = await sql<{ subject: string; organisationId: number | null }>`
    with attack as (
      select * from attacks where id = ${attackId} order by revision desc limit 1
    ), kept as (
      insert into attack_responses (attack_id, target, started_at, facts, ended_at, expires_at,
                                    cancelled_at, cancelled_by)
      select id, subject, started_at,
             json_build_object('type', attack_type, 'tops', null, 'shares',
               json_build_array(json_build_object('type', attack_type, 'share', 1))),
             ended_at, now() + ${EXPIRY_SECONDS} * interval '1 second', now(), ${`${actor.kind} ${actor.name}`}
        from attack
      on conflict (attack_id) do update set
        cancelled_at = coalesce(attack_responses.cancelled_at, excluded.cancelled_at),
        cancelled_by = coalesce(attack_responses.cancelled_by, excluded.cancelled_by)
      returning target)
    select kept.target::text as subject, attack.organisation_id as "organisationId"
      from kept, attack`.execute(tx);
  const [row] = rows;
  if (row === undefined) return null;
  const [responded] = await respondIn(tx, [attackId]);
  const generation = responded?.generation ?? null;
  // Also without mitigations: edges must know it for a later outage of control.
  await sql`select pg_notify('portcullis_watch', '')`.execute(tx);
  await recordAudit(tx, {
    actor,
    organisationId: row.organisationId,
    action: 'attack.cancel',
    target: `attack:${attackId}`,
    detail: { subject: row.subject },
    generation,
  });
  return { subject: row.subject, generation };
}
