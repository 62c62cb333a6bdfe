import { sql } from 'kysely';
import { resumableOf } from '@portcullis/core/attacks/resume.ts';
import type { Thresholds } from '@portcullis/core/attacks/attack.ts';
import type { WireAttack } from '@portcullis/link/watch-messages.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { HeardAttack } from '../mitigations/facts.ts';
import { ensurePartitions } from '../partitions.ts';
import { MERGE_MS, type Seen } from './plan.ts';
import { changeRecords, HOLDS, lockClock, openRecords, setClock, wholeRate } from './store.ts';

/** What an edge saw while control was away, dated by control's clock. */
export interface LateAttack {
  readonly edge: string;
  readonly attack: WireAttack;
  readonly thresholds: Thresholds;
}

/** A record that it is a part of, or that is a part of it. */
interface Overlap {
  readonly id: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/**
 * Records an attack that an edge tells of late: once, however often, by however many, and whether control saw a part of
 * it itself. Where records turn out to be of one attack, the one that goes on stays, else the first. What there is to
 * tell whoever acts on attacks; null: it is over.
 */
export async function recordLate(db: Db, late: LateAttack): Promise<HeardAttack | null> {
  const { attack } = late;
  await ensurePartitions(db, new Date(attack.startedAtMs), 0);
  await ensurePartitions(db, new Date(attack.openedAtMs), 0);
  return db.transaction().execute(async (tx) => {
    const revision = (await lockClock(tx)) + 1;
    const overlaps = await loadOverlaps(tx, attack);
    const kept = overlaps.find(({ endedAt }) => endedAt === null) ?? overlaps[0];
    const id =
      kept === undefined
        ? await open(tx, revision, late)
        : await join(tx, revision, late, kept, overlaps);
    await setClock(tx, revision);
    await raise(tx, id, attack);
    await keepEvidence(tx, id, late);
    if (attack.endedAtMs !== null) return null;
    return { attackId: id, kind: 'changed' as const, attack, tops: attack.tops };
  });
}

async function loadOverlaps(tx: Tx, { subject, startedAtMs, endedAtMs }: WireAttack) {
  const from = new Date(startedAtMs - MERGE_MS);
  const to = new Date((endedAtMs ?? Date.now()) + MERGE_MS);
  const { rows } = await sql<Overlap>`
    select id, started_at as "startedAt", ended_at as "endedAt" from attacks
     where subject = ${subject}::cidr and until_revision = ${HOLDS}
       and started_at <= ${to} and (ended_at is null or ended_at >= ${from})
     order by started_at, id`.execute(tx);
  return rows;
}

async function open(tx: Tx, revision: number, late: LateAttack): Promise<number> {
  const { attack, thresholds } = late;
  const resumable = resumableOf(attack, null, thresholds);
  const seen: Seen = { attack, openedAtMs: attack.openedAtMs, resumable, isNews: true };
  // What is over takes the place of nothing that may go on.
  const standing = attack.endedAtMs === null ? 'replaced' : 'kept';
  const ids = await openRecords(tx, revision, [seen], standing);
  const id = ids.get(attack.subject);
  if (id === undefined) throw new Error('nothing was recorded');
  const startedAt = new Date(attack.startedAtMs);
  if (attack.endedAtMs !== null) {
    const endedAt = new Date(attack.endedAtMs);
    await sql`
      update attacks set ended_at = greatest(${endedAt}, started_at)
       where id = ${id} and revision = ${revision} and started_at = ${startedAt}`.execute(tx);
    await sql`
      update ongoing_attacks set ended_at = greatest(${endedAt}, started_at)
       where attack_id = ${id}`.execute(tx);
  }
  return id;
}

/** Makes one of what overlaps. */
async function join(
  tx: Tx,
  revision: number,
  { attack }: LateAttack,
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
    await sql`
      update attack_responses set started_at = ${startedAt} where attack_id = ${kept.id}`.execute(
      tx,
    );
  }
  return kept.id;
}

/** Only what a detector can take up again: an edge that says of an old attack that it goes on has not heard its end. */
async function mayGoOn(tx: Tx, { id }: Overlap): Promise<boolean> {
  const { rows } = await sql`select from ongoing_attacks where attack_id = ${id}`.execute(tx);
  return rows.length > 0;
}

/** Records that were parts of another: pages that show them keep them. */
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
}

/** To what the edge measured, and dated: what it did alone was in its kernel then. */
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

/** What an edge tells stands beside what control saw, under the edge's name; of an edge, the last. */
async function keepEvidence(tx: Tx, id: number, { edge, attack }: LateAttack): Promise<void> {
  const { shares, tops, series, peakPps, peakBps, actions } = attack;
  const told = JSON.stringify({ [edge]: { series, tops, peakPps, peakBps, actions } });
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
