import { sql } from 'kysely';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { type CancelledAttack, MAX_CANCELLED } from '@portcullis/link/messages/attacks.ts';
import type { Db, Tx } from '../db/database.ts';
import { MERGE_MS } from './record/plan.ts';

/**
 * Cancelled attacks that are ongoing or could continue: edges must know them before an outage of control. Sorted by
 * subject.
 */
export async function cancelledAttacks(db: Db | Tx): Promise<CancelledAttack[]> {
  const { rows } = await sql<CancelledAttack>`
    select o.subject::text as subject,
           round(extract(epoch from o.started_at) * 1000)::float8 as "startedAtMs"
      from attack_responses r join ongoing_attacks o on o.attack_id = r.attack_id
     where r.cancelled_at is not null
       and (o.ended_at is null or o.ended_at >= now() - ${MERGE_MS} * interval '1 millisecond')
     order by r.cancelled_at desc, r.attack_id desc limit ${MAX_CANCELLED}`.execute(db);
  return rows
    .flatMap(({ subject, startedAtMs }) => {
      const network = parseCidr(subject);
      return network.ok ? [{ subject: formatNetwork(network.value), startedAtMs }] : [];
    })
    .toSorted((a, b) => (a.subject < b.subject ? -1 : 1));
}
