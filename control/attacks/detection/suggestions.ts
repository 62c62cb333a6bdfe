import { sql } from 'kysely';
import {
  type Peak,
  type SubjectPast,
  type Suggestion,
  suggestThresholds,
} from '@portcullis/core/attacks/suggest-thresholds.ts';
import type { Db } from '../../db/database.ts';
import { shownSubject } from './subject.ts';
import { scopesOf } from './scopes/watch-scopes.ts';

/** The days that suggestions look at; hours are kept for one more. */
export const SUGGEST_DAYS = 7;
/** The most addresses and prefixes: those with the most traffic and attacks. */
const MAX_SUBJECTS = 1_000;

/** Writes the highest rates since the last time, of the present hour. */
export async function savePeaks(db: Db, peaks: ReadonlyMap<string, Peak>): Promise<void> {
  if (peaks.size === 0) return;
  const rows = [...peaks].map(([subject, { pps, bps }]) => {
    return { subject, pps: Math.round(pps), bps: Math.round(bps) };
  });
  await sql`
    insert into traffic_peaks as p (subject, hour, pps, bps)
    select subject, date_trunc('hour', now()), pps, bps
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as i (subject cidr, pps bigint, bps bigint)
    on conflict (subject, hour) do update set pps = greatest(p.pps, excluded.pps), bps = greatest(p.bps, excluded.bps)`.execute(
    db,
  );
}

export async function forgetPeaks(db: Db): Promise<void> {
  await sql`
    delete from traffic_peaks where hour < now() - ${SUGGEST_DAYS + 1} * interval '1 day'`.execute(
    db,
  );
}

/**
 * For each address and prefix with traffic or attacks in the last days, most traffic first: of one organisation, or of all.
 * `chosen` is evaluated in place of what would be suggested.
 */
export async function loadSuggestions(
  db: Db,
  organisation: string | null = null,
  chosen: Peak | null = null,
): Promise<(Suggestion & { readonly organisation: string })[]> {
  const { rows } = await sql<{
    subject: string;
    organisation: string;
    hours: Peak[];
    attacks: Peak[];
  }>`
    with seen as (
      select subject, json_agg(json_build_object('pps', pps, 'bps', bps)) as hours, max(pps) as most, null::json as attacks
        from traffic_peaks where hour > now() - ${SUGGEST_DAYS} * interval '1 day' group by subject
    ), attacked as (
      select subject, null::json as hours, 0::bigint as most,
             json_agg(json_build_object('pps', peak_pps, 'bps', peak_bps)) as attacks
        from attacks where until_revision = 9223372036854775807
         and started_at > now() - ${SUGGEST_DAYS} * interval '1 day' group by subject
    )
    select a.subject::text as subject, o.slug as organisation,
           coalesce((array_agg(a.hours) filter (where a.hours is not null))[1], '[]') as hours,
           coalesce((array_agg(a.attacks) filter (where a.attacks is not null))[1], '[]') as attacks
      from (select * from seen union all select subject, hours, most, attacks from attacked) a
      join lateral (select organisation_id from holdings
                     where cidr >>= a.subject and during @> now() order by masklen(cidr) desc limit 1) h on true
      join organisations o on o.id = h.organisation_id
     where ${organisation}::text is null or o.slug = ${organisation}
     group by a.subject, o.slug order by max(a.most) desc, a.subject limit ${MAX_SUBJECTS}`.execute(
    db,
  );
  const scopes = await scopesOf(
    db,
    rows.map(({ subject }) => subject),
  );
  return rows.flatMap(({ subject, hours, attacks, organisation: slug }) => {
    const shown = shownSubject(subject);
    const thresholds = scopes.of(shown);
    if (thresholds === null) return [];
    const { pps, bps } = thresholds;
    const past: SubjectPast = { subject: shown, thresholds: { pps, bps }, hours, attacks };
    return [{ organisation: slug, ...suggestThresholds(past, chosen) }];
  });
}

export function suggestionView({ subject, usual, present, suggested, attacks }: Suggestion): {
  readonly subject: string;
  readonly usual: { readonly pps: number; readonly mbps: number } | null;
  readonly present: ThresholdEffect;
  readonly suggested: ThresholdEffect | null;
  readonly attacks: number;
} {
  return {
    subject,
    usual: usual && inMegabits(usual),
    present: { ...inMegabits(present), missed: present.missed, reported: present.reported },
    suggested: suggested && {
      ...inMegabits(suggested),
      missed: suggested.missed,
      reported: suggested.reported,
    },
    attacks,
  };
}

interface ThresholdEffect {
  readonly pps: number;
  readonly mbps: number;
  readonly missed: number;
  readonly reported: number;
}

function inMegabits({ pps, bps }: Peak) {
  return { pps, mbps: Math.ceil(bps / 1_000_000) };
}
