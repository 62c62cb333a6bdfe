import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { ResponderSpec } from '../../db/schema-mitigations.ts';
import type { EndedBecause } from '../mitigations/plan.ts';
import type { CallBody } from './call.ts';
import { type NamedResponder, planRuns, type ResponderRun } from './plan.ts';
import type { CallResult } from './result.ts';

/**
 * Begins and takes back what the attack needs, in the transaction that decides about its mitigations. `because`: why
 * nothing is to be done; null: it is mitigated.
 */
export async function updateRuns(
  tx: Tx,
  attackId: number,
  subject: string,
  because: EndedBecause | null,
): Promise<void> {
  const { rows: runs } = await sql<ResponderRun>`
    select id, responder, expires_at <= now() as expired, withdrawn_because as "withdrawnBecause"
      from responder_runs where attack_id = ${attackId} order by id`.execute(tx);
  const { rows: responders } = await sql<NamedResponder>`
    select name, spec from responders order by name`.execute(tx);
  if (runs.length + responders.length === 0) return;
  const { rows: peaks } = await sql<{ pps: number; bps: number }>`
    select peak_pps as pps, peak_bps as bps from attacks where id = ${attackId}
     order by revision desc limit 1`.execute(tx);
  const { pps: peakPps, bps: peakBps } = peaks[0] ?? { pps: 0, bps: 0 };
  const plan = planRuns({ subject, peakPps, peakBps, because, responders, runs });
  for (const { name, spec } of plan.begin) {
    await sql`
      with run as (
        insert into responder_runs (attack_id, responder, spec, expires_at)
        values (${attackId}, ${name}, ${JSON.stringify(spec)}::jsonb,
                now() + ${spec.expiresSeconds} * interval '1 second') returning id)
      insert into responder_calls (run_id, kind) select id, 'start' from run`.execute(tx);
  }
  for (const { id, because: why } of plan.withdraw) await withdraw(tx, id, why);
}

/** What nobody was called for yet needs no withdrawal. */
async function withdraw(tx: Tx, runId: number, because: EndedBecause): Promise<void> {
  await sql`
    update responder_runs set withdrawn_at = now(), withdrawn_because = ${because}
     where id = ${runId}`.execute(tx);
  const { rows } = await sql<{ id: number }>`
    update responder_calls set settled_at = now(), succeeded = false, result = 'not needed any more'
     where run_id = ${runId} and kind = 'start' and attempts = 0 and settled_at is null
    returning id`.execute(tx);
  if (rows.length > 0) return;
  await sql`
    insert into responder_calls (run_id, kind) values (${runId}, 'withdraw')
    on conflict do nothing`.execute(tx);
}

/** Attacks with a run that has lasted long enough. */
export async function expiredRuns(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct attack_id as id from responder_runs
     where withdrawn_at is null and expires_at <= now()`.execute(db);
  return rows.map(({ id }) => id);
}

export interface DueCall {
  readonly id: number;
  readonly responder: string;
  readonly spec: ResponderSpec;
  readonly attempts: number;
  readonly body: CallBody;
}

/** What a call takes beyond its time until its result is kept. */
const SPARE_SECONDS = 15;

/**
 * Takes calls that are due; nobody else makes them until their time is over. A withdrawal waits for its start to be
 * settled. A process that dies with a call leaves it to be made again.
 */
export async function claimCalls(db: Db, limit: number): Promise<DueCall[]> {
  if (limit <= 0) return [];
  const { rows } = await sql<ClaimedRow>`
    with due as (
      select c.id from responder_calls c
       where c.settled_at is null and c.due_at <= now()
         and (c.kind = 'start' or not exists (
               select from responder_calls s
                where s.run_id = c.run_id and s.kind = 'start' and s.settled_at is null))
       order by c.id limit ${limit} for update skip locked
    )
    update responder_calls c
       set attempts = attempts + 1,
           due_at = now() + ((r.spec ->> 'timeoutSeconds')::integer + ${SPARE_SECONDS}) * interval '1 second'
      from due, responder_runs r, attack_responses a
     where c.id = due.id and r.id = c.run_id and a.attack_id = r.attack_id
    returning c.id, c.kind, c.attempts, r.id as "runId", r.responder, r.spec, r.attack_id as "attackId",
              r.expires_at as "expiresAt", a.target::text as target, a.facts ->> 'type' as type,
              a.started_at as "startedAt",
              (select json_build_object('pps', t.peak_pps, 'bps', t.peak_bps) from attacks t
                where t.id = r.attack_id order by revision desc limit 1) as peak`.execute(db);
  return rows.map(dueCallOf);
}

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

/** A start is tried for half a minute, a withdrawal for a quarter of an hour: what it leaves standing hurts. */
const ATTEMPTS: Readonly<Record<CallBody['event'], number>> = { start: 5, withdraw: 20 };
const LONGEST_WAIT_SECONDS = 60;

/** Answers whether it is settled: it succeeded, or was tried often enough. */
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
       set result = ${result}, due_at = now() + ${waitSeconds} * interval '1 second',
           settled_at = case when ${settled} then now() end,
           succeeded = case when ${settled} then ${succeeded}::boolean end
     where id = ${id} and settled_at is null`.execute(db);
  return settled;
}

/** Not finished, because we stop: due at once. It may have been heard, so it counts as tried. */
export async function giveBack(db: Db, { id }: DueCall): Promise<void> {
  await sql`
    update responder_calls set due_at = now()
     where id = ${id} and settled_at is null`.execute(db);
}
