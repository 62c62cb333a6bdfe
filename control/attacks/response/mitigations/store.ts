import { sql } from 'kysely';
import type { Db, Tx } from '../../../db/database.ts';
import { takeGeneration } from '../../../fleet/generations.ts';
import type { ReportedAttack } from '../../detection/index.ts';
import { type AttackFacts, factsOfEvidence } from './facts.ts';
import type { PlannedResponse, ActiveMitigation } from './plan.ts';

/** An attack without reports for this time is not mitigated. */
export const EXPIRY_SECONDS = 900;

/**
 * Stores reports, one row per attack. A later report updates it, also from ended to ongoing: then what was known of its
 * sources and ports is of earlier traffic.
 */
export async function saveReports(tx: Tx, reported: readonly ReportedAttack[]): Promise<void> {
  const items = reported.map(({ attackId, kind, attack, tops, isClaimed = false }) => {
    const { type, shares, present, subject, startedAtMs } = attack;
    const startedAt = new Date(startedAtMs);
    const facts = { type, shares, present, tops, isClaimed };
    return { attackId, subject, startedAt, ended: kind === 'ended', facts };
  });
  await sql`
    insert into attack_responses (attack_id, target, started_at, facts, ended_at, expires_at)
    select "attackId", subject, "startedAt", facts, case when ended then now() end,
           now() + ${EXPIRY_SECONDS} * interval '1 second'
      from jsonb_to_recordset(${JSON.stringify(items)}::jsonb)
        as i ("attackId" bigint, subject cidr, "startedAt" timestamptz, ended boolean, facts jsonb)
     order by "attackId"
    on conflict (attack_id) do update set
      facts = case when excluded.facts -> 'tops' = 'null' and attack_responses.ended_at is null
                   then jsonb_set(excluded.facts, '{tops}', attack_responses.facts -> 'tops')
                   else excluded.facts end
              || case when attack_responses.facts -> 'isClaimed' = 'true' then '{}'::jsonb
                      else '{"isClaimed": false}' end,
      ended_at = case when excluded.ended_at is not null
                      then coalesce(attack_responses.ended_at, now()) end,
      expires_at = excluded.expires_at,
      closed_at = case when excluded.ended_at is not null then attack_responses.closed_at end`.execute(
    tx,
  );
}

export interface KeptResponse {
  readonly attackId: number;
  readonly subject: string;
  readonly facts: AttackFacts;
  readonly ended: boolean;
  readonly expired: boolean;
  readonly cancelled: boolean;
  readonly active: readonly ActiveMitigation[];
}

/** Locks the existing responses in the order of their ids until the end of the transaction. */
export async function lockResponses(tx: Tx, attackIds: readonly number[]): Promise<KeptResponse[]> {
  const { rows } = await sql<Omit<KeptResponse, 'active'>>`
    select attack_id as "attackId",
           case when masklen(target) = case family(target) when 4 then 32 else 128 end
                then host(target) else target::text end as subject,
           facts, ended_at is not null as ended, expires_at <= now() as expired,
           cancelled_at is not null as cancelled
      from attack_responses where attack_id = any(${attackIds}::bigint[])
     order by attack_id for update`.execute(tx);
  const { rows: all } = await sql<ActiveMitigation & { attackId: number }>`
    select attack_id as "attackId", id, countermeasure as action, mode, safelist from mitigations
     where attack_id = any(${attackIds}::bigint[]) and deleted_generation is null
     order by id`.execute(tx);
  const active = Map.groupBy(all, ({ attackId }) => attackId);
  return rows.map((row) => ({
    ...row,
    active: (active.get(row.attackId) ?? []).map(toActive),
  }));
}

function toActive({ id, action, mode, safelist }: ActiveMitigation): ActiveMitigation {
  return { id, action, mode, safelist };
}

/** A planned change of an attack. */
export interface ToSave {
  readonly attackId: number;
  readonly subject: string;
  readonly plan: PlannedResponse;
}

/** Applies plans as one generation. Null if nothing changed for edges. */
export async function saveResponses(tx: Tx, all: readonly ToSave[]): Promise<number | null> {
  const ids = all.map(({ attackId }) => attackId);
  await sql`
    update attack_responses r set closed_at = case when c.closed then coalesce(r.closed_at, now()) end
      from unnest(${ids}::bigint[], ${all.map(({ plan }) => plan.closed)}::boolean[]) as c (id, closed)
     where r.attack_id = c.id and (r.closed_at is not null) <> c.closed`.execute(tx);
  const targets = all.flatMap(({ subject, plan: { begin, end } }) =>
    begin.length + end.length === 0 ? [] : [subject],
  );
  if (targets.length === 0) return null;
  const generation = await takeGeneration(tx, { cause: 'mitigation', targets });
  const end = all.flatMap(({ plan }) => plan.end);
  await sql`
    update mitigations m set deleted_generation = ${generation}, deleted_at = now(), ended_because = ended.why
      from unnest(${end.map(({ id }) => id)}::bigint[], ${end.map(({ because }) => because)}::text[]) as ended (id, why)
     where m.id = ended.id`.execute(tx);
  const begin = all.flatMap(({ attackId, subject, plan }) =>
    plan.begin.map((one) => ({ attackId, subject, ...one })),
  );
  await sql`
    insert into mitigations (attack_id, target, countermeasure, mode, safelist, created_generation)
    select "attackId", subject, action, mode, safelist, ${generation}
      from jsonb_to_recordset(${JSON.stringify(begin)}::jsonb)
        as i ("attackId" bigint, subject cidr, action jsonb, mode text, safelist text[])`.execute(
    tx,
  );
  return generation;
}

/** The open responses: all, or only those that ended or expired and are still in force. */
export async function openResponses(db: Db, all: boolean): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select attack_id as id from attack_responses
     where closed_at is null and (${all} or ended_at is not null or expires_at <= now())
     order by attack_id`.execute(db);
  return rows.map(({ id }) => id);
}

/** Marks responses as ended whose attack is no longer ongoing. */
export async function endForgotten(db: Db): Promise<void> {
  await sql`
    update attack_responses set ended_at = now() where attack_id in (
      select attack_id from attack_responses r
       where closed_at is null and ended_at is null
         and not exists (select from ongoing_attacks o where o.attack_id = r.attack_id)
       order by attack_id for update)`.execute(db);
}

/** Whether a sweep could find anything; asked alone while there are no attacks. */
export async function hasAttacks(db: Db): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from ongoing_attacks) or exists (select from attack_responses where closed_at is null)
        or exists (select from responder_runs where withdrawn_at is null) as found`.execute(db);
  return rows[0]?.found === true;
}

/** Attacks that were recorded and not reported here: the process died, or another replica recorded them. */
export async function unreportedAttacks(db: Db): Promise<ReportedAttack[]> {
  const { rows } = await sql<UnheardRow>`
    select o.attack_id as "attackId", host(o.subject) as host, o.subject::text as subject,
           o.started_at as "startedAt", o.ended_at is not null as ended, r.attack_id is not null as known,
           a.attack_type as type, e.evidence
      from ongoing_attacks o
      left join attack_responses r on r.attack_id = o.attack_id
      join attacks a on a.id = o.attack_id and a.revision = o.revision
      left join lateral (select evidence from attack_evidence
                          where attack_id = o.attack_id and opened_at = o.opened_at) e on true
     where (r.attack_id is null and o.ended_at is null)
        or (r.attack_id is not null and (o.ended_at is null) <> (r.ended_at is null))
        or (o.ended_at is null and o.seen_at + ${EXPIRY_SECONDS / 2} * interval '1 second' > r.expires_at)
     order by o.attack_id`.execute(db);
  return rows.map(({ attackId, host, subject, startedAt, ended, known, type, evidence }) => {
    const { shares, tops } = factsOfEvidence(type, evidence);
    const single =
      /\/(?:32|128)$/.test(subject) && subject.endsWith(host.includes(':') ? '/128' : '/32');
    const kind = ended ? 'ended' : known ? 'changed' : 'opened';
    const attack = {
      type,
      shares,
      subject: single ? host : subject,
      startedAtMs: startedAt.getTime(),
    };
    return { attackId, kind, attack, tops } as const;
  });
}

interface UnheardRow {
  readonly attackId: number;
  readonly host: string;
  readonly subject: string;
  readonly startedAt: Date;
  readonly ended: boolean;
  readonly known: boolean;
  readonly type: AttackFacts['type'];
  readonly evidence: unknown;
}
