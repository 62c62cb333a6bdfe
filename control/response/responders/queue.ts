import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import type { ResponderSpec } from '../../db/schema.ts';
import type { CallBody } from './call.ts';
import type { CallResult } from './result.ts';

export interface DueCall {
  readonly id: number;
  readonly responder: string;
  readonly spec: ResponderSpec;
  readonly attempts: number;
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
/** The most concurrent calls of one process. */
const AT_A_TIME = 256;
/** Claims are serialised, because running calls of others are counted. */
const CLAIMING = 0x70636c63;

/** The time until the next call is due; 0 or less: one is. Infinity: none waits. */
export async function nextDueMs(db: Db): Promise<number> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8 as ms
      from responder_calls where settled_at is null`.execute(db);
  return rows[0]?.ms ?? Infinity;
}

/**
 * Claims due calls, beside the `underWay` calls of this process and those of others; a claim lasts for the call's
 * timeout. Responders do not wait for each other, and organisations share a responder fairly. A withdrawal waits until
 * its start is settled. The call of a dead process is repeated.
 */
export async function claimCalls(db: Db, underWay: number): Promise<DueCall[]> {
  const room = AT_A_TIME - underWay;
  if (room <= 0) return [];
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${CLAIMING})`.execute(tx);
    const { rows } = await claim(room).execute(tx);
    return rows.map(dueCallOf);
  });
}

function claim(room: number): RawBuilder<ClaimedRow> {
  return sql<ClaimedRow>`
    with ${IN_TURN}, due as materialized (
      select c.id from responder_calls c
       where c.id in (select id from turns where nth + calls <= ${PER_RESPONDER}
                       order by nth + calls, id limit ${room})
         and c.settled_at is null and c.due_at <= now()
       order by c.id for update skip locked
    ), served as (
      insert into responder_turns
      select r.responder, coalesce(r.organisation_id, 0), clock_timestamp()
        from due join responder_calls c on c.id = due.id join responder_runs r on r.id = c.run_id
       group by 1, 2 order by 1, 2
      on conflict (responder, organisation_id) do update set served_at = excluded.served_at
    )
    update responder_calls c set attempts = attempts + 1, due_at = t.until, claimed_until = t.until
      from due, responder_runs r, attack_responses a, lateral (
        select now() + ((r.spec ->> 'timeoutSeconds')::integer + ${SPARE_SECONDS}) * interval '1 second' as until) t
     where c.id = due.id and r.id = c.run_id and a.attack_id = r.attack_id
    returning c.id, c.kind, c.attempts, r.id as "runId", r.responder, r.spec, r.attack_id as "attackId",
              r.expires_at as "expiresAt", a.target::text as target, a.facts ->> 'type' as type,
              a.started_at as "startedAt",
              (select json_build_object('pps', t.peak_pps, 'bps', t.peak_bps) from attacks t
                where t.id = r.attack_id order by revision desc limit 1) as peak`;
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

interface ClaimedRow {
  readonly id: number;
  readonly kind: 'start' | 'withdraw';
  readonly attempts: number;
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
  const { id, kind, attempts, responder, spec, runId } = row;
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
  return { id, responder, spec, attempts, body };
}

/**
 * A start is retried for half a minute, a withdrawal for a quarter of an hour, because a missing withdrawal does harm.
 */
const ATTEMPTS: Readonly<Record<CallBody['event'], number>> = { start: 5, withdraw: 20 };
const LONGEST_WAIT_SECONDS = 60;

/** Returns whether it is settled: it succeeded or is out of retries. */
export async function saveResult(
  db: Db,
  { id, attempts, body }: DueCall,
  { succeeded, said }: CallResult,
): Promise<boolean> {
  const settled = succeeded || attempts >= ATTEMPTS[body.event];
  const waitSeconds = Math.min(LONGEST_WAIT_SECONDS, 2 ** (attempts - 1));
  // PostgreSQL takes no NUL in text.
  const result = said.replaceAll('\0', '\uFFFD').toWellFormed();
  await sql`
    update responder_calls
       set result = ${result}, claimed_until = null, due_at = now() + ${waitSeconds} * interval '1 second',
           settled_at = case when ${settled} then now() end,
           succeeded = case when ${settled} then ${succeeded}::boolean end
     where ${isOurs(id, attempts)}`.execute(db);
  return settled;
}

/** Aborted by a stop: due immediately. It may have arrived, so it counts as an attempt. */
export async function releaseCall(db: Db, { id, attempts }: DueCall): Promise<void> {
  await sql`
    update responder_calls set due_at = now(), claimed_until = null
     where ${isOurs(id, attempts)}`.execute(db);
}

/** Not when the claim has ended and another process has begun the next attempt. */
function isOurs(id: number, attempts: number): RawBuilder<boolean> {
  return sql`id = ${id} and attempts = ${attempts} and settled_at is null`;
}
