import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { ensurePartitions } from './record/partitions.ts';

/** A recorded attack. Times are seconds before `now`. */
export interface TestAttack {
  readonly subject: string;
  readonly startedAgo: number;
  /** Null while ongoing. */
  readonly endedAgo?: number | null;
  readonly now?: Date;
  readonly peakPps?: number;
  readonly peakBps?: number;
  readonly type?: string;
}

/** Inserts an attack like the recorder: under the next revision, for the holder at that time. */
export async function putAttack(db: Db, attack: TestAttack): Promise<number> {
  const { subject, now = new Date(), endedAgo = null, type = 'udp_flood' } = attack;
  const { peakPps = 812_400, peakBps = 1_250_000_000 } = attack;
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);
  const startedAt = ago(attack.startedAgo);
  await ensurePartitions(db, startedAt, 0);
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ id: number }>`
      with tick as (update attack_revision set revision = revision + 1 returning revision), held as (
        select id, organisation_id, cidr from holdings
         where cidr >>= ${subject}::cidr and during @> ${startedAt}::timestamptz
         order by masklen(cidr) desc limit 1)
      insert into attacks (id, revision, organisation_id, holding_id, subject, prefix, attack_type,
                           peak_pps, peak_bps, started_at, ended_at)
      select nextval('attack_ids'), tick.revision, held.organisation_id, held.id, ${subject}::cidr,
             coalesce(held.cidr, ${subject}::cidr), ${type}, ${peakPps}, ${peakBps}, ${startedAt},
             ${endedAgo === null ? null : ago(endedAgo)}
        from tick left join held on true returning id`.execute(tx);
    const [row] = rows;
    if (row === undefined) throw new Error('nothing was inserted');
    return row.id;
  });
}

/** Writes the next version of an attack. */
export async function endAttack(db: Db, id: number, endedAt: Date | null): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ revision: number }>`
      update attack_revision set revision = revision + 1 returning revision`.execute(tx);
    const revision = rows[0]?.revision ?? 0;
    await sql`
      with old as (
        update attacks set until_revision = ${revision}, superseded_at = now()
         where id = ${id} and until_revision > ${revision} returning *)
      insert into attacks (id, revision, organisation_id, holding_id, subject, prefix, attack_type,
                           peak_pps, peak_bps, started_at, mitigated_at, ended_at)
      select id, ${revision}, organisation_id, holding_id, subject, prefix, attack_type, peak_pps,
             peak_bps, started_at, mitigated_at, ${endedAt} from old`.execute(tx);
  });
}

/** The evidence of an attack that was detected 750 ms after its start. */
export async function putEvidence(db: Db, id: number, evidence: object): Promise<void> {
  await sql`
    insert into attack_evidence (attack_id, opened_at, evidence)
    select id, started_at + interval '750 ms', ${JSON.stringify(evidence)}::jsonb
      from attacks where id = ${id} and superseded_at is null`.execute(db);
}
