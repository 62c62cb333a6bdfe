import { sql } from 'kysely';
import { resumableOf } from '@portcullis/core/attacks/detector/resume.ts';
import type { Thresholds } from '@portcullis/core/attacks/attack.ts';
import type { WireAttack } from '@portcullis/link/messages/attacks.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { ReportedAttack } from '../mitigations/facts.ts';
import { ensurePartitions } from '../partitions.ts';
import { type Held, splitByHolder } from './holder-parts.ts';
import { MERGE_MS, type Seen } from './plan.ts';
import { changeRecords, HOLDS, lockClock, openRecords, setClock, wholeRate } from './store.ts';

/** An attack that an edge detected during an outage of control, in control's time. */
export interface DelayedAttack {
  readonly edge: string;
  readonly attack: WireAttack;
  readonly thresholds: Thresholds;
}

/** A record that overlaps the attack. */
interface Overlap {
  readonly id: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/**
 * Records a delayed report of an edge: once, for any number of repetitions and edges, and also if control saw a part of
 * the attack itself. If several records belong to one attack, the ongoing one stays, otherwise the first. Each holder
 * of the subject gets its part. Returns the report for mitigation, or null if the attack is over.
 */
export async function recordDelayed(db: Db, late: DelayedAttack): Promise<ReportedAttack | null> {
  const slices = splitByHolder(late.attack, await loadHeld(db, late.attack), Date.now());
  if (slices.length === 0) return null;
  for (const { attack } of slices) {
    await ensurePartitions(db, new Date(attack.startedAtMs), 0);
    await ensurePartitions(db, new Date(attack.openedAtMs), 0);
  }
  return db.transaction().execute(async (tx) => {
    const revision = (await lockClock(tx)) + 1;
    await setClock(tx, revision);
    let heard: ReportedAttack | null = null;
    const ids: number[] = [];
    // The newest first, because only it may be ongoing.
    for (const { holdingId, attack } of slices.toReversed()) {
      const id = await recordSlice(tx, revision, holdingId, { ...late, attack });
      ids.push(id);
      if (attack.endedAtMs === null) {
        heard = { attackId: id, kind: 'changed', attack, tops: attack.tops };
      }
    }
    await redateResponses(tx, ids);
    return heard;
  });
}

/** Locked in the order of ids, as by all writers. */
async function redateResponses(tx: Tx, attackIds: readonly number[]): Promise<void> {
  await sql`
    with moved as materialized (
      select r.attack_id, a.started_at from attack_responses r
        join attacks a on a.id = r.attack_id and a.until_revision = ${HOLDS}
       where r.attack_id = any(${attackIds}::bigint[]) and r.started_at <> a.started_at
       order by r.attack_id for update of r
    )
    update attack_responses r set started_at = moved.started_at
      from moved where r.attack_id = moved.attack_id`.execute(tx);
}

/** The most holdings that an attack is cut by; the newest. */
const MAX_HELD = 64;

/** Rounded up to milliseconds, so that none is before the start of a holding. */
async function loadHeld(db: Db, { subject, startedAtMs, endedAtMs }: WireAttack): Promise<Held[]> {
  const from = new Date(startedAtMs);
  const to = new Date(endedAtMs ?? Date.now());
  const { rows } = await sql<Held>`
    select id as "holdingId", masklen(cidr) as length,
           ceil(extract(epoch from lower(during)) * 1000)::float8 as "fromMs",
           ceil(extract(epoch from upper(during)) * 1000)::float8 as "untilMs"
      from holdings
     where cidr >>= ${subject}::cidr and during && tstzrange(${from}, ${to}, '[]')
     order by lower(during) desc limit ${MAX_HELD}`.execute(db);
  return rows;
}

async function recordSlice(
  tx: Tx,
  revision: number,
  holdingId: number,
  late: DelayedAttack,
): Promise<number> {
  const { attack } = late;
  // The recorder that sees it hands it over; until then the old record must not cover the new holder's time.
  const before = attack.endedAtMs === null ? await goingOnFromBefore(tx, holdingId, attack) : null;
  if (before !== null) return before;
  const id = await recordHeld(tx, revision, holdingId, late);
  await raise(tx, id, attack);
  await keepEvidence(tx, id, late);
  return id;
}

/** A record of the previous holder that was not handed over yet. */
async function goingOnFromBefore(
  tx: Tx,
  holdingId: number,
  { subject }: WireAttack,
): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    select o.attack_id as id from ongoing_attacks o
      join attacks a on a.id = o.attack_id and a.revision = o.revision and a.started_at = o.started_at
     where o.subject = ${subject}::cidr and o.ended_at is null
       and a.holding_id is distinct from ${holdingId}`.execute(tx);
  return rows[0]?.id ?? null;
}

async function recordHeld(
  tx: Tx,
  revision: number,
  holdingId: number,
  late: DelayedAttack,
): Promise<number> {
  const overlaps = await loadOverlaps(tx, holdingId, late.attack);
  const kept = overlaps.find(({ endedAt }) => endedAt === null) ?? overlaps[0];
  return kept === undefined ? open(tx, revision, late) : join(tx, revision, late, kept, overlaps);
}

/** Only records of the same holder are merged. */
async function loadOverlaps(
  tx: Tx,
  holdingId: number,
  { subject, startedAtMs, endedAtMs }: WireAttack,
) {
  const from = new Date(startedAtMs - MERGE_MS);
  const to = new Date((endedAtMs ?? Date.now()) + MERGE_MS);
  const { rows } = await sql<Overlap>`
    select id, started_at as "startedAt", ended_at as "endedAt" from attacks
     where subject = ${subject}::cidr and until_revision = ${HOLDS} and holding_id = ${holdingId}
       and started_at <= ${to} and (ended_at is null or ended_at >= ${from})
     order by started_at, id`.execute(tx);
  return rows;
}

async function open(tx: Tx, revision: number, late: DelayedAttack): Promise<number> {
  const { attack, thresholds } = late;
  const resumable = resumableOf(attack, null, thresholds);
  const { openedAtMs } = attack;
  const seen: Seen = { attack, openedAtMs, busyAtMs: openedAtMs, resumable, isNews: true };
  // An ended attack never replaces one that may be ongoing.
  const standing = attack.endedAtMs === null ? 'replaced' : 'kept';
  const ids = await openRecords(tx, revision, [seen], standing);
  const id = ids.get(attack.subject);
  if (id === undefined) throw new Error('nothing was recorded');
  return id;
}

/** Merges overlapping records. */
async function join(
  tx: Tx,
  revision: number,
  { attack }: DelayedAttack,
  kept: Overlap,
  overlaps: readonly Overlap[],
): Promise<number> {
  const startedMs = Math.min(
    attack.startedAtMs,
    ...overlaps.map(({ startedAt }) => startedAt.getTime()),
  );
  const ends = [attack.endedAtMs, ...overlaps.map(({ endedAt }) => endedAt?.getTime() ?? null)];
  const goesOn = kept.endedAt === null || (attack.endedAtMs === null && (await mayGoOn(tx, kept)));
  const known = ends.filter((end) => end !== null);
  const endedMs = goesOn ? null : Math.max(...known);
  const others = overlaps.filter(({ id }) => id !== kept.id).map(({ id }) => id);
  if (others.length > 0) await giveUp(tx, revision, kept.id, others);
  const isSame =
    startedMs === kept.startedAt.getTime() && endedMs === (kept.endedAt?.getTime() ?? null);
  if (!isSame) {
    const startedAt = new Date(startedMs);
    const endedAt = endedMs === null ? null : new Date(endedMs);
    await changeRecords(tx, revision, [{ id: kept.id, from: kept.startedAt, startedAt, endedAt }]);
  }
  return kept.id;
}

/** Only an attack that a detector can continue: an old one that an edge reports as ongoing has ended meanwhile. */
async function mayGoOn(tx: Tx, { id }: Overlap): Promise<boolean> {
  const { rows } = await sql`select from ongoing_attacks where attack_id = ${id}`.execute(tx);
  return rows.length > 0;
}

/** Merged records; pages of older snapshots keep them. */
async function giveUp(
  tx: Tx,
  revision: number,
  kept: number,
  others: readonly number[],
): Promise<void> {
  await sql`
    with gone as (
      update attacks set until_revision = ${revision}, superseded_at = now()
       where id = any(${others}::bigint[]) and until_revision = ${HOLDS}
      returning peak_pps, peak_bps, mitigated_at
    ), most as (
      select max(peak_pps) as pps, max(peak_bps) as bps, min(mitigated_at) as mitigated from gone
    )
    update attacks a set peak_pps = greatest(a.peak_pps, most.pps),
           peak_bps = greatest(a.peak_bps, most.bps), mitigated_at = least(a.mitigated_at, most.mitigated)
      from most where a.id = ${kept} and a.until_revision = ${HOLDS}`.execute(tx);
  await sql`delete from ongoing_attacks where attack_id = any(${others}::bigint[])`.execute(tx);
  await sql`
    with gone as (delete from attack_drops where attack_id = any(${others}::bigint[]) returning *)
    insert into attack_drops as known
    select ${kept}::bigint, what, sum(packets)::bigint, sum(bytes)::bigint from gone group by what order by what
    on conflict (attack_id, what)
    do update set packets = known.packets + excluded.packets, bytes = known.bytes + excluded.bytes`.execute(
    tx,
  );
}

/** Raises the record to the edge's measurements and times, including its autonomous mitigations. */
async function raise(tx: Tx, id: number, attack: WireAttack): Promise<void> {
  const { peakPps, peakBps, mitigatedAtMs, type } = attack;
  const pps = wholeRate(peakPps.value);
  const bps = wholeRate(peakBps.value);
  const mitigatedAt = mitigatedAtMs === null ? null : new Date(mitigatedAtMs);
  await sql`
    update attacks set attack_type = case when ${pps}::bigint > peak_pps then ${type} else attack_type end,
           peak_pps = greatest(peak_pps, ${pps}::bigint), peak_bps = greatest(peak_bps, ${bps}::bigint),
           mitigated_at = least(mitigated_at, ${mitigatedAt}::timestamptz)
     where id = ${id} and until_revision = ${HOLDS}`.execute(tx);
}

/** The edge's report is stored beside control's evidence under the edge's name; of each edge, the latest. */
async function keepEvidence(tx: Tx, id: number, { edge, attack }: DelayedAttack): Promise<void> {
  const { shares, tops, series, peakPps, peakBps, actions, endedAtMs } = attack;
  const told = JSON.stringify({ [edge]: { series, tops, peakPps, peakBps, actions, endedAtMs } });
  const first = JSON.stringify({ shares, tops, series, peakPps, peakBps });
  const openedAt = new Date(attack.openedAtMs);
  const { numAffectedRows } = await sql`
    update attack_evidence set evidence = jsonb_set(evidence, '{edges}',
             coalesce(evidence -> 'edges', '{}') || ${told}::jsonb)
     where attack_id = ${id}`.execute(tx);
  if (Number(numAffectedRows ?? 0) > 0) return;
  await sql`
    insert into attack_evidence (attack_id, opened_at, evidence)
    values (${id}, coalesce((select opened_at from ongoing_attacks where attack_id = ${id}), ${openedAt}),
            ${first}::jsonb || jsonb_build_object('edges', ${told}::jsonb))
        on conflict do nothing`.execute(tx);
}
