import { sql } from 'kysely';
import type { Db, Tx } from '../../../db/database.ts';
import type { ResponderSpec } from '../../../db/schema.ts';
import { type EndedBecause, type NamedResponder, planRuns, type ResponderRun } from './plan.ts';

/** An attack, and why it is not mitigated, or null. */
export interface RunsOf {
  readonly attackId: number;
  readonly subject: string;
  readonly because: EndedBecause | null;
}

interface BegunRun {
  readonly attackId: number;
  readonly organisationId: number | null;
  readonly name: string;
  readonly spec: ResponderSpec;
}

/** Creates starts and withdrawals in the transaction of the mitigations. */
export async function updateRuns(tx: Tx, attacks: readonly RunsOf[]): Promise<void> {
  const ids = attacks.map(({ attackId }) => attackId);
  const { rows } = await sql<ResponderRun & { attackId: number }>`
    select attack_id as "attackId", id, responder, expires_at <= now() as expired,
           withdrawn_because as "withdrawnBecause"
      from responder_runs where attack_id = any(${ids}::bigint[]) order by id`.execute(tx);
  const { rows: responders } = await sql<NamedResponder>`
    select name, spec from responders order by name`.execute(tx);
  if (rows.length + responders.length === 0) return;
  const runsOf = Map.groupBy(rows, ({ attackId }) => attackId);
  const facts = await loadFacts(tx, ids);
  const begin: BegunRun[] = [];
  const withdrawn: { readonly id: number; readonly because: EndedBecause }[] = [];
  for (const { attackId, subject, because } of attacks) {
    const { organisationId = null, peakPps = 0, peakBps = 0 } = facts.get(attackId) ?? {};
    const runs = runsOf.get(attackId) ?? [];
    const plan = planRuns({ subject, peakPps, peakBps, because, responders, runs });
    begin.push(...plan.begin.map((one) => ({ attackId, organisationId, ...one })));
    withdrawn.push(...plan.withdraw);
  }
  await beginRuns(tx, begin);
  await withdraw(tx, withdrawn);
}

interface AttackRow {
  readonly id: number;
  readonly organisationId: number | null;
  readonly peakPps: number;
  readonly peakBps: number;
}

async function loadFacts(tx: Tx, ids: readonly number[]): Promise<Map<number, AttackRow>> {
  const { rows } = await sql<AttackRow>`
    select distinct on (id) id, organisation_id as "organisationId", peak_pps as "peakPps",
           peak_bps as "peakBps"
      from attacks where id = any(${ids}::bigint[]) order by id, revision desc`.execute(tx);
  return new Map(rows.map((row) => [row.id, row]));
}

async function beginRuns(tx: Tx, begin: readonly BegunRun[]): Promise<void> {
  if (begin.length === 0) return;
  await sql`
    with run as (
      insert into responder_runs (attack_id, organisation_id, responder, spec, expires_at)
      select "attackId", "organisationId", name, spec, now() + (spec ->> 'expiresSeconds')::integer * interval '1 second'
        from jsonb_to_recordset(${JSON.stringify(begin)}::jsonb)
          as i ("attackId" bigint, "organisationId" bigint, name text, spec jsonb)
      returning id)
    insert into responder_calls (run_id, kind) select id, 'start' from run order by id`.execute(tx);
}

/** A start without an attempt needs no withdrawal. */
async function withdraw(
  tx: Tx,
  runs: readonly { readonly id: number; readonly because: EndedBecause }[],
): Promise<void> {
  if (runs.length === 0) return;
  const ids = runs.map(({ id }) => id);
  await sql`
    update responder_runs r set withdrawn_at = now(), withdrawn_because = w.because
      from unnest(${ids}::bigint[], ${runs.map(({ because }) => because)}::text[]) as w (id, because)
     where r.id = w.id`.execute(tx);
  await sql`
    with unneeded as (
      update responder_calls set settled_at = now(), succeeded = false, result = 'not needed any more'
       where run_id = any(${ids}::bigint[]) and kind = 'start' and attempts = 0 and settled_at is null
      returning run_id)
    insert into responder_calls (run_id, kind)
    select id, 'withdraw' from unnest(${ids}::bigint[]) as id
     where id not in (select run_id from unneeded)
    on conflict do nothing`.execute(tx);
}

/** Attacks with an expired responder run. */
export async function expiredRuns(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct attack_id as id from responder_runs
     where withdrawn_at is null and expires_at <= now()`.execute(db);
  return rows.map(({ id }) => id);
}
