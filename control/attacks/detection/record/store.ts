import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../../db/database.ts';
import type { StoredAttack, Known, Seen } from './plan.ts';
import { resumableIn } from './snapshot.ts';

/** An attack is unseen when no detector has reported it for this time. */
const FRESH_SECONDS = 10;
/** The condition for the present version of a row. */
export const HOLDS = sql.raw('9223372036854775807');

/**
 * Whether this replica may record what its detector sees: no other one has taken the lease. Until the end of the
 * transaction none can, so nothing of a former detector is written after what the present one wrote.
 */
export async function mayRecord(tx: Tx, recorder: string): Promise<boolean> {
  const { rows } = await sql<{ holder: string | null }>`
    select holder from detector_lease for share`.execute(tx);
  const holder = rows[0]?.holder ?? null;
  return holder === null || holder === recorder;
}

/** Serialises recorders until the end of the transaction and returns the newest revision. */
export async function lockClock(tx: Tx): Promise<number> {
  const { rows } = await sql<{ revision: number }>`
    select revision from attack_revision for update`.execute(tx);
  const [clock] = rows;
  if (clock === undefined) throw new Error('attack_revision has no row');
  return clock.revision;
}

export async function setClock(tx: Tx, revision: number): Promise<void> {
  await sql`update attack_revision set revision = ${revision}`.execute(tx);
}

/**
 * The present record of each subject. Another holder has it since its holding began, or since the last more specific
 * holding ended; rounded up to milliseconds.
 */
export async function loadKnown(tx: Tx, subjects: readonly string[]): Promise<Map<string, Known>> {
  const { rows } = await sql<Known & { asked: string }>`
    select s.asked, o.subject::text as subject, o.attack_id as "attackId",
           o.started_at as "startedAt", o.ended_at as "endedAt",
           case when h.id is distinct from a.holding_id then h.since end as "otherSince"
      from unnest(${subjects}::text[]) s (asked)
      join ongoing_attacks o on o.subject = s.asked::cidr
      join attacks a on a.id = o.attack_id and a.revision = o.revision and a.started_at = o.started_at
      left join lateral (
        select id, to_timestamp(ceil(extract(epoch from greatest(lower(during), (
                 select max(upper(inner_one.during)) from holdings inner_one
                  where inner_one.cidr >>= o.subject and masklen(inner_one.cidr) > masklen(holdings.cidr)
                    and upper(inner_one.during) <= now()))) * 1000) / 1000) as since
          from holdings
         where cidr >>= o.subject and during @> now()
         order by masklen(cidr) desc limit 1) h on true`.execute(tx);
  return new Map(rows.map((row) => [row.asked, row]));
}

/** The column value of a rate. */
export function wholeRate(value: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(value)));
}

function items(seen: readonly Seen[]): string {
  return JSON.stringify(seen.map(itemOf));
}

function itemOf(seen: Seen) {
  const { attack, openedAtMs } = seen;
  return {
    subject: attack.subject,
    asked: attack.subject,
    type: attack.type,
    pps: wholeRate(attack.peakPps.value),
    bps: wholeRate(attack.peakBps.value),
    started: new Date(attack.startedAtMs),
    ended: attack.endedAtMs === null ? null : new Date(attack.endedAtMs),
    opened: new Date(openedAtMs),
    detector: resumableIn(seen) ?? {},
  };
}

const ITEM = sql.raw(
  `i (subject cidr, asked text, type text, pps bigint, bps bigint, started timestamptz,
      ended timestamptz, opened timestamptz, detector jsonb)`,
);

/**
 * Inserts records for the holders at their start, by subject. The previous record of the subject ended long ago and is
 * replaced.
 */
export async function openRecords(
  tx: Tx,
  revision: number,
  seen: readonly Seen[],
): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: number; asked: string }>`
    with made as materialized (
      select nextval('attack_ids') as id, i.*, case when i.ended is not null then greatest(i.ended, i.started) end as over, h.id as holding, h.organisation_id, h.cidr as held
        from jsonb_to_recordset(${items(seen)}::jsonb) as ${ITEM}
        left join lateral (
          select id, organisation_id, cidr from holdings
           where cidr >>= i.subject and during @> i.started
           order by masklen(cidr) desc limit 1) h on true
    ), history as (
      insert into attacks (id, revision, organisation_id, holding_id, subject, prefix, attack_type,
                           peak_pps, peak_bps, started_at, ended_at)
      select id, ${revision}, organisation_id, holding, subject, coalesce(held, subject), type,
             pps, bps, started, over from made
    ), ongoing as (
      insert into ongoing_attacks as o
      select subject, id, ${revision}, started, opened, over, now(), detector from made
      on conflict (subject) do update set attack_id = excluded.attack_id, revision = excluded.revision,
        started_at = excluded.started_at, opened_at = excluded.opened_at, ended_at = excluded.ended_at,
        seen_at = now(), detector = excluded.detector
    )
    select id, asked from made`.execute(tx);
  return new Map(rows.map(({ id, asked }) => [asked, id]));
}

/** The subjects of ended attacks that have a record, by any recorder. */
export async function loadRecorded(tx: Tx, seen: readonly Seen[]): Promise<ReadonlySet<string>> {
  if (seen.length === 0) return new Set();
  const { rows } = await sql<{ asked: string }>`
    select i.asked from jsonb_to_recordset(${items(seen)}::jsonb) as ${ITEM}
     where exists (select from attacks a
                    where a.subject = i.subject and a.until_revision = ${HOLDS}
                      and a.started_at <= i.ended and (a.ended_at is null or a.ended_at >= i.started))`.execute(
    tx,
  );
  return new Set(rows.map(({ asked }) => asked));
}

/** Peaks only rise; the latest type wins. */
export async function touchRecords(tx: Tx, seen: readonly Seen[]): Promise<void> {
  const all = items(seen);
  await sql`
    update attacks a set peak_pps = greatest(a.peak_pps, i.pps), peak_bps = greatest(a.peak_bps, i.bps),
           attack_type = i.type
      from jsonb_to_recordset(${all}::jsonb) as ${ITEM} join ongoing_attacks o on o.subject = i.subject
     where a.id = o.attack_id and a.revision = o.revision and a.started_at = o.started_at
       and (a.peak_pps < i.pps or a.peak_bps < i.bps or a.attack_type <> i.type)`.execute(tx);
  await sql`
    update ongoing_attacks o set seen_at = now(),
           detector = case when i.detector = '{}' then o.detector else i.detector end
      from jsonb_to_recordset(${all}::jsonb) as ${ITEM} where o.subject = i.subject`.execute(tx);
}

/** Writes the next version of a record. */
export interface Change {
  readonly id: number;
  readonly from: Date;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/** Old versions stay for pages of their snapshot. */
export async function changeRecords(
  tx: Tx,
  revision: number,
  changes: readonly Change[],
): Promise<void> {
  await sql`
    with old as (
      update attacks a set until_revision = ${revision}, superseded_at = now()
        from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
          as c (id bigint, "from" timestamptz, "startedAt" timestamptz, "endedAt" timestamptz)
       where a.id = c.id and a.started_at = c."from" and a.until_revision = ${HOLDS}
      returning a.*, c."startedAt" as new_start,
                case when c."endedAt" is not null then greatest(c."endedAt", c."startedAt") end as new_end
    ), history as (
      insert into attacks (id, revision, organisation_id, holding_id, subject, prefix, attack_type,
                           peak_pps, peak_bps, started_at, mitigated_at, ended_at)
      select id, ${revision}, organisation_id, holding_id, subject, prefix, attack_type, peak_pps,
             peak_bps, new_start, mitigated_at, new_end from old
    )
    update ongoing_attacks o set revision = ${revision}, started_at = old.new_start,
           ended_at = old.new_end
      from old where o.attack_id = old.id`.execute(tx);
}

/** Records that are part of another one: pages of older snapshots still show them. */
export async function absorbRecords(
  tx: Tx,
  revision: number,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    update attacks set until_revision = ${revision}, superseded_at = now()
     where id = any(${ids}::bigint[]) and until_revision = ${HOLDS}`.execute(tx);
  await sql`delete from ongoing_attacks where attack_id = any(${ids}::bigint[])`.execute(tx);
}

/** No recorder sees it. */
export interface Orphan extends StoredAttack {
  readonly seenAt: Date;
}

const KEPT = sql.raw(`
  o.subject::text as subject, a.attack_type as type, o.started_at as "startedAt",
  o.opened_at as "openedAt", a.peak_pps as "peakPps", a.peak_bps as "peakBps", o.detector,
  (select e.evidence -> 'series' from attack_evidence e
    where e.attack_id = o.attack_id and e.opened_at = o.opened_at) as series`);

/** The subjects with a record that may continue. */
export async function loadKept(
  tx: Tx,
  subjects: readonly string[],
): Promise<Map<string, StoredAttack>> {
  if (subjects.length === 0) return new Map();
  const { rows } = await sql<StoredAttack & { asked: string }>`
    select s.asked, ${KEPT}
      from unnest(${subjects}::text[]) s (asked)
      join ongoing_attacks o on o.subject = s.asked::cidr
      join attacks a on a.id = o.attack_id and a.revision = o.revision and a.started_at = o.started_at`.execute(
    tx,
  );
  return new Map(rows.map((row) => [row.asked, row]));
}

export async function loadOrphans(db: Db, limit: number): Promise<Orphan[]> {
  const { rows } = await sql<Orphan>`
    ${orphansOf(sql`${KEPT}, o.seen_at as "seenAt"`)} order by o.seen_at limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** The query of attacks that no detector sees. */
export function orphansOf(columns: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select ${columns}
      from ongoing_attacks o
      join attacks a on a.id = o.attack_id and a.revision = o.revision and a.started_at = o.started_at
     where o.ended_at is null and o.seen_at < now() - ${FRESH_SECONDS} * interval '1 second'`;
}

/** Deletes the state of attacks that can no longer continue. */
export async function forgetEnded(db: Db): Promise<void> {
  await sql`delete from ongoing_attacks where ended_at < now() - interval '10 minutes'`.execute(db);
}

/** Combines two measurements: the higher peak with its bounds. */
export async function saveEvidence(
  tx: Tx | Db,
  all: readonly { readonly subject: string; readonly evidence: object }[],
): Promise<void> {
  if (all.length === 0) return;
  await sql`
    insert into attack_evidence as e (attack_id, opened_at, evidence)
    select o.attack_id, o.opened_at, i.evidence
      from jsonb_to_recordset(${JSON.stringify(all)}::jsonb) as i (subject cidr, evidence jsonb)
      join ongoing_attacks o on o.subject = i.subject
        on conflict (attack_id, opened_at) do update set evidence = e.evidence || excluded.evidence
           || ${keptPeak('peakPps')} || ${keptPeak('peakBps')}`.execute(tx);
}

/** The present one unless the new one is higher. */
function keptPeak(name: 'peakPps' | 'peakBps'): RawBuilder<unknown> {
  return sql.raw(`
    case when (e.evidence #>> '{${name},value}')::float8 > (excluded.evidence #>> '{${name},value}')::float8
         then jsonb_build_object('${name}', e.evidence -> '${name}') else '{}' end`);
}
