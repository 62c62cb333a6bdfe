import { sql } from 'kysely';
import type { OutageAttack } from '@portcullis/link/messages/attacks.ts';
import type { Db } from '../../../db/database.ts';
import { ensurePartitions } from './partitions.ts';
import { lockClock, setClock, wholeRate } from './store.ts';

/** A recorded attack of an outage. */
export interface RecordedOutage {
  readonly attackId: number;
  readonly attack: OutageAttack;
}

/**
 * Records attacks that an edge detected while control did not answer, each as a row of its own: once for any number of
 * repetitions, and for the holder of the subject at its start. Returns the new ones.
 */
export async function recordOutageAttacks(
  db: Db,
  edge: string,
  attacks: readonly OutageAttack[],
): Promise<RecordedOutage[]> {
  if (attacks.length === 0) return [];
  for (const { startedAtMs, openedAtMs } of attacks) {
    await ensurePartitions(db, new Date(startedAtMs), 0);
    await ensurePartitions(db, new Date(openedAtMs), 0);
  }
  const items = JSON.stringify(attacks.map((attack) => itemOf(edge, attack)));
  return db.transaction().execute(async (tx) => {
    const revision = (await lockClock(tx)) + 1;
    await setClock(tx, revision);
    const { rows } = await sql<{ id: number; reportedAs: string }>`
      with made as materialized (
        select nextval('attack_ids') as id, i.*, h.id as holding, h.organisation_id, h.cidr as held
          from jsonb_to_recordset(${items}::jsonb)
            as i ("reportedAs" text, subject cidr, type text, pps bigint, bps bigint, started timestamptz,
                  ended timestamptz, opened timestamptz, mitigated timestamptz, evidence jsonb)
          join lateral (
            select id, organisation_id, cidr from holdings
             where cidr >>= i.subject and during @> i.started
             order by masklen(cidr) desc limit 1) h on true
         where not exists (select from attacks a
                            where a.subject = i.subject and a.reported_as = i."reportedAs")
      ), history as (
        insert into attacks (id, revision, organisation_id, holding_id, subject, prefix, attack_type, peak_pps,
                             peak_bps, started_at, mitigated_at, ended_at, reported_as)
        select id, ${revision}, organisation_id, holding, subject, held, type, pps, bps, started, mitigated,
               ended, "reportedAs" from made
      ), evidence as (
        insert into attack_evidence (attack_id, opened_at, evidence) select id, opened, evidence from made
      )
      select id, "reportedAs" from made`.execute(tx);
    const ids = new Map(rows.map(({ id, reportedAs }) => [reportedAs, id]));
    return attacks.flatMap((attack) => {
      const attackId = ids.get(`${edge}/${attack.id}`);
      return attackId === undefined ? [] : [{ attackId, attack }];
    });
  });
}

function itemOf(edge: string, attack: OutageAttack) {
  const { id, subject, type, peakPps, peakBps, shares, tops, actions, mitigatedAtMs } = attack;
  return {
    reportedAs: `${edge}/${id}`,
    subject,
    type,
    pps: wholeRate(peakPps.value),
    bps: wholeRate(peakBps.value),
    started: new Date(attack.startedAtMs),
    ended: new Date(attack.endedAtMs),
    opened: new Date(attack.openedAtMs),
    mitigated: mitigatedAtMs === null ? null : new Date(mitigatedAtMs),
    evidence: { edge, shares, tops, peakPps, peakBps, actions },
  };
}

/** The attack by control's clock: the edge's may be wrong, so only the age at sending, `nowMs - sentAtMs`, is taken. */
export function datedByAge(attack: OutageAttack, sentAtMs: number, nowMs: number): OutageAttack {
  const at = (ms: number): number => nowMs - Math.max(0, sentAtMs - ms);
  const atIf = (ms: number | null): number | null => (ms === null ? null : at(ms));
  const startedAtMs = at(attack.startedAtMs);
  return {
    ...attack,
    startedAtMs,
    endedAtMs: Math.max(startedAtMs, at(attack.endedAtMs)),
    openedAtMs: at(attack.openedAtMs),
    mitigatedAtMs: atIf(attack.mitigatedAtMs),
    actions: attack.actions.map((one) => ({
      ...one,
      sinceMs: at(one.sinceMs),
      untilMs: atIf(one.untilMs),
    })),
  };
}
