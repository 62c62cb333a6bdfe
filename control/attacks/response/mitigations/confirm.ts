import { sql } from 'kysely';
import type { Db, Tx } from '../../../db/database.ts';
import { HOLDS, lockClock } from '../../detection/index.ts';

/** Attacks whose mitigation no edge has confirmed yet. */
export async function awaitsConfirmation(db: Db): Promise<boolean> {
  const { rows } = await sql<{ waits: boolean }>`
    select exists (select ${ENFORCED}) as waits`.execute(db);
  return rows[0]?.waits ?? false;
}

/** Enforced mitigations of attacks that are not marked as mitigated. */
const ENFORCED = sql`
  from attack_responses r
  join mitigations m on m.attack_id = r.attack_id
   and m.mode = 'enforce' and m.deleted_generation is null
 cross join lateral (
   select m.countermeasure ->> 'kind' = 'filter'
       or coalesce((m.countermeasure #>> '{limit,unansweredOnly}')::boolean, false) as needs_replies) n
 where r.closed_at is null and r.mitigated_at is null`;

/**
 * Sets the mitigation time of attacks: an enforcing edge that serves the target has confirmed the generation without
 * refusing the target. Returns the newly mitigated attacks. An observing edge confirms nothing, and an edge that sees
 * no replies omits mitigations for unanswered sources.
 */
export async function recordConfirmed(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with wanted as (
      select r.attack_id, r.target, n.needs_replies, min(m.created_generation) as generation
      ${ENFORCED}
       group by r.attack_id, r.target, n.needs_replies
    )
    select distinct w.attack_id as id from wanted w
     where exists (
       select from edges e
        where e.mode = 'enforce' and e.in_service and e.confirmed_generation >= w.generation
          and (e.sees = 'both' or not w.needs_replies)
          and exists (select from unnest(e.serves) s where s >>= w.target)
          and not exists (select from edge_refusals f
                           where f.edge_id = e.id and f.target = w.target
                             and f.good_generation < w.generation))`.execute(db);
  const confirmed = rows.map(({ id }) => id);
  return confirmed.length === 0
    ? []
    : db.transaction().execute((tx) => dateMitigated(tx, confirmed));
}

/**
 * Locks in the order of all writers: first the recorder lock, because recorders write versions of the same record, then
 * responses by id.
 */
async function dateMitigated(tx: Tx, attackIds: readonly number[]): Promise<number[]> {
  await lockClock(tx);
  await sql`
    update attacks set mitigated_at = coalesce(mitigated_at, now())
     where id = any(${attackIds}::bigint[]) and until_revision = ${HOLDS}`.execute(tx);
  const { rows } = await sql<{ id: number }>`
    with locked as materialized (
      select attack_id, attacks.mitigated_at from attack_responses r
        join attacks on attacks.id = r.attack_id and attacks.until_revision = ${HOLDS}
       where r.attack_id = any(${attackIds}::bigint[]) and r.mitigated_at is null
       order by attack_id for update of r
    )
    update attack_responses r set mitigated_at = locked.mitigated_at
      from locked where r.attack_id = locked.attack_id
    returning r.attack_id as id`.execute(tx);
  return rows.map(({ id }) => id);
}
