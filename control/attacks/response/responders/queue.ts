import { type RawBuilder, sql } from 'kysely';
import { CALL_BACK_OFF, retryAfterMs } from '@portcullis/core/outbox/back-off.ts';
import type { Db } from '../../../db/database.ts';
import type { ResponderSpec } from '../../../db/schema.ts';
import { type Attempt, claimAttempts, storeResult } from '../../../outbox/index.ts';
import type { CallBody } from './call.ts';
import type { CallOutcome, CallResult } from './result.ts';

export const CALLS = 'responder_calls';

export interface DueCall extends Attempt {
  readonly responder: string;
  readonly spec: ResponderSpec;
  readonly body: CallBody;
}

/** The margin beyond the timeout for storing the result. */
const SPARE_SECONDS = 15;

/**
 * The most concurrent calls per responder over all replicas, and per organisation: a hanging responder affects only
 * itself.
 */
const PER_RESPONDER = 8;
const PER_ORGANISATION = 4;

/**
 * Claims due calls, at most `room`, for the timeouts of their responders. Responders do not wait for each other, and
 * organisations share a responder fairly. A withdrawal waits until its start is settled.
 */
export async function claimCalls(db: Db, room: number): Promise<DueCall[]> {
  const rows = await claimAttempts<ClaimedRow>(db, CALLS, {
    chosen: chooseCalls(room),
    columns: sql`
      c.kind, r.id as "runId", r.responder, r.spec, r.attack_id as "attackId",
      r.expires_at as "expiresAt", a.target::text as target, a.facts ->> 'type' as type,
      a.started_at as "startedAt",
      (select json_build_object('pps', t.peak_pps, 'bps', t.peak_bps) from attacks t
        where t.id = r.attack_id order by revision desc limit 1) as peak`,
    joins: sql`
      join responder_runs r on r.id = c.run_id
      join attack_responses a on a.attack_id = r.attack_id`,
  });
  return rows.map(dueCallOf);
}

function chooseCalls(room: number): RawBuilder<unknown> {
  return sql`
    ${IN_TURN}, due as materialized (
      select c.id, c.run_id from responder_calls c
       where c.id in (select id from turns where nth + calls <= ${PER_RESPONDER}
                       order by nth + calls, id limit ${room})
         and c.settled_at is null and c.due_at <= now()
       order by c.id for update skip locked
    ), served as (
      insert into responder_turns
      select r.responder, coalesce(r.organisation_id, 0), clock_timestamp()
        from due join responder_runs r on r.id = due.run_id
       group by 1, 2 order by 1, 2
      on conflict (responder, organisation_id) do update set served_at = excluded.served_at
    ), chosen as (
      select due.id, (r.spec ->> 'timeoutSeconds')::integer + ${SPARE_SECONDS} as lease_seconds
        from due join responder_runs r on r.id = due.run_id
    )`;
}

/** `turns`: the due calls, numbered per responder with organisations interleaved. */
const IN_TURN = sql`
    busy as (
      select r.responder, coalesce(r.organisation_id, 0) as organisation, count(*) as calls
        from responder_calls c join responder_runs r on r.id = c.run_id
       where c.settled_at is null and c.claimed_until > now()
       group by 1, 2
    ), waiting as (
      select c.id, r.responder, coalesce(r.organisation_id, 0) as organisation,
             row_number() over (partition by r.responder, r.organisation_id order by c.id) as nth
        from responder_calls c join responder_runs r on r.id = c.run_id
       where c.settled_at is null and c.due_at <= now()
         and (c.kind = 'start' or not exists (
               select from responder_calls s
                where s.run_id = c.run_id and s.kind = 'start' and s.settled_at is null))
    ), turns as (
      select w.id, row_number() over (
               partition by w.responder
               order by w.nth + coalesce(b.calls, 0), t.served_at nulls first, w.id) as nth,
             coalesce((select sum(calls) from busy a where a.responder = w.responder), 0) as calls
        from waiting w
        left join busy b on b.responder = w.responder and b.organisation = w.organisation
        left join responder_turns t
               on t.responder = w.responder and t.organisation_id = w.organisation
       where w.nth + coalesce(b.calls, 0) <= ${PER_ORGANISATION}
    )`;

interface ClaimedRow extends Attempt {
  readonly kind: CallBody['event'];
  readonly runId: number;
  readonly responder: string;
  readonly spec: ResponderSpec;
  readonly attackId: number;
  readonly expiresAt: Date;
  readonly target: string;
  readonly type: string;
  readonly startedAt: Date;
  readonly peak: { readonly pps: number; readonly bps: number } | null;
}

function dueCallOf(row: ClaimedRow): DueCall {
  const { id, kind, claim, attempts, responder, spec, runId } = row;
  const body: CallBody = {
    call: id,
    event: kind,
    run: runId,
    attack: {
      id: row.attackId,
      target: row.target,
      type: row.type,
      peak_pps: row.peak?.pps ?? 0,
      peak_bps: row.peak?.bps ?? 0,
      started_at: row.startedAt.toISOString(),
    },
    expires_at: row.expiresAt.toISOString(),
  };
  return { id, claim, attempts, responder, spec, body };
}

/** Stores the result of an attempt. */
export async function saveResult(
  db: Db,
  due: DueCall,
  { succeeded, output }: CallResult,
): Promise<CallOutcome> {
  const backOff = CALL_BACK_OFF[due.body.event];
  const retryMs = succeeded ? null : retryAfterMs(backOff, due.attempts, Math.random());
  // PostgreSQL takes no NUL in text.
  const result = output.replaceAll('\0', '\uFFFD').toWellFormed();
  const outcome = retryMs === null ? succeeded : null;
  const set = sql`result = ${result}, succeeded = ${outcome}::boolean`;
  if (!(await storeResult(db, CALLS, due, { set, retryMs }))) return 'superseded';
  return retryMs === null ? 'settled' : 'retried';
}
