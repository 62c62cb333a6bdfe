import { sql } from 'kysely';
import type { AttackSeries } from '@portcullis/core/attacks/detector/series.ts';
import { type UsualTraffic, usualTraffic } from '@portcullis/core/attacks/usual-traffic.ts';
import { type Actor, recordAudit } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { shownSubject } from './subject.ts';
import { scopesOf } from './scopes/watch-scopes.ts';

/** Traffic accepted as usual, with the thresholds that it has since, and the name of the caller. */
export interface AcceptedTraffic extends UsualTraffic {
  readonly by: string;
  readonly at: Date;
}

interface LastingRow {
  readonly id: number;
  /** A CIDR with its length. */
  readonly subject: string;
  readonly type: string;
  readonly startedAt: Date;
  readonly series: AttackSeries | null;
  readonly sources: readonly { readonly packets: number }[] | null;
}

/** Evidence of an attack is up to tens of kilobytes. */
const BATCH = 100;

/** Ongoing attacks with the evidence that decides whether they look like usual traffic. */
function lasting(which: ReturnType<typeof sql>) {
  return sql<LastingRow>`
    select o.attack_id as id, o.subject::text as subject, a.attack_type as type, o.started_at as "startedAt",
           e.evidence -> 'series' as series, e.evidence #> '{tops,sources}' as sources
      from ongoing_attacks o
      join attacks a on a.id = o.attack_id and a.revision = o.revision and a.started_at = o.started_at
      join attack_evidence e on e.attack_id = o.attack_id and e.opened_at = o.opened_at
     where o.ended_at is null and o.started_at < now() - interval '1 hour' and ${which}
     order by o.attack_id limit ${BATCH}`;
}

/** Accepting raises thresholds, and lowers none. */
async function usualOf(
  db: Db | Tx,
  { subject, type, startedAt, series, sources }: LastingRow,
  now: Date,
): Promise<UsualTraffic | null> {
  // Written by any version.
  const isWhole = Array.isArray(series?.pps) && Array.isArray(series.bps);
  const attack = {
    type,
    startedAtMs: startedAt.getTime(),
    series: isWhole ? series : null,
    sources: Array.isArray(sources) ? sources : [],
  };
  const usual = usualTraffic(attack, now.getTime());
  const scope = usual && (await scopesOf(db, [subject])).of(shownSubject(subject));
  if (usual === null || scope === null) return null;
  return {
    pps: Math.max(usual.pps, scope.pps),
    mbps: Math.max(usual.mbps, Math.ceil(scope.bps / 1_000_000)),
  };
}

/** The thresholds that would end an attack that looks like usual traffic; null: it does not. */
export async function findUsual(
  db: Db | Tx,
  attackId: number,
  now: Date,
): Promise<UsualTraffic | null> {
  const { rows } = await lasting(sql`o.attack_id = ${attackId}`).execute(db);
  const [row] = rows;
  return row === undefined ? null : usualOf(db, row, now);
}

export async function findAccepted(db: Db | Tx, attackId: number): Promise<AcceptedTraffic | null> {
  const { rows } = await sql<AcceptedTraffic>`
    select (detection ->> 'pps')::bigint as pps, (detection ->> 'mbps')::bigint as mbps,
           accepted_by as by, accepted_at as at
      from accepted_traffic where attack_id = ${attackId}`.execute(db);
  return rows[0] ?? null;
}

/** Keeps the thresholds for the attacked target, on request only. Returns null if it does not look like usual traffic. */
export async function acceptUsual(
  tx: Tx,
  attackId: number,
  actor: Actor,
): Promise<(UsualTraffic & { readonly target: string }) | null> {
  const usual = await findUsual(tx, attackId, new Date());
  if (usual === null) return null;
  const { rows } = await sql<{ target: string; organisationId: number }>`
    insert into accepted_traffic (holding_id, target, detection, attack_id, accepted_by)
    select holding_id, subject, ${JSON.stringify(usual)}::jsonb, id, ${actor.name}
      from attacks where id = ${attackId} and holding_id is not null order by revision desc limit 1
    on conflict (holding_id, target) do update set detection = excluded.detection,
      attack_id = excluded.attack_id, accepted_by = excluded.accepted_by, accepted_at = now()
    returning abbrev(target::inet) as target,
              (select organisation_id from holdings where id = holding_id) as "organisationId"`.execute(
    tx,
  );
  const [row] = rows;
  if (row === undefined) return null;
  await audit(tx, actor, row, { action: 'traffic.accept', detail: { attack: attackId, ...usual } });
  return { ...usual, target: row.target };
}

/** Returns null if nothing of this attack was accepted. */
export async function forgetUsual(tx: Tx, attackId: number, actor: Actor): Promise<string | null> {
  const { rows } = await sql<{ target: string; organisationId: number }>`
    delete from accepted_traffic where attack_id = ${attackId}
    returning abbrev(target::inet) as target,
              (select organisation_id from holdings where id = holding_id) as "organisationId"`.execute(
    tx,
  );
  const [row] = rows;
  if (row === undefined) return null;
  await audit(tx, actor, row, { action: 'traffic.forget', detail: { attack: attackId } });
  return row.target;
}

async function audit(
  tx: Tx,
  actor: Actor,
  { target, organisationId }: { readonly target: string; readonly organisationId: number },
  done: { readonly action: string; readonly detail: Readonly<Record<string, unknown>> },
): Promise<void> {
  await recordAudit(tx, { actor, organisationId, target, generation: null, ...done });
}

/** Adds one event for each attack that looks like usual traffic by now, which webhooks deliver. */
export async function askAboutUsual(db: Db, now = new Date()): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { rows } = await lasting(
      sql`o.asked_at is null and a.organisation_id is not null and o.attack_id > ${after}`,
    ).execute(db);
    for (const row of rows) await ask(db, row, now);
    after = rows[BATCH - 1]?.id;
  }
}

async function ask(db: Db, row: LastingRow, now: Date): Promise<void> {
  const usual = await usualOf(db, row, now);
  if (usual === null) return;
  await sql`
    with asked as (
      update ongoing_attacks set asked_at = now() where attack_id = ${row.id} and asked_at is null
      returning attack_id, revision, started_at)
    select add_event(a.organisation_id, 'attack.looks_usual', abbrev(a.subject::inet),
             jsonb_build_object('attack', a.id, 'attack_type', a.attack_type, 'peak_bps', a.peak_bps,
               'peak_pps', a.peak_pps, 'pps', ${usual.pps}::bigint, 'mbps', ${usual.mbps}::bigint))
      from asked join attacks a on a.id = asked.attack_id and a.revision = asked.revision
                               and a.started_at = asked.started_at`.execute(db);
}
