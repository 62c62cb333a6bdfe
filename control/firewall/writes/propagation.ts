import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';

/** How long the last changes took from their acceptance until every edge in service had them. */
export interface Propagation {
  /** Changes that were measured, at most 100. */
  readonly samples: number;
  readonly medianMs: number;
  /** The 95th percentile of changes. */
  readonly p95Ms: number;
}

const MEASURED = 100;

/** The condition is that of the index `generations_measured`, so that changes that nothing enforced are not read. */
export const PROPAGATION = sql<Propagation>`
    select count(*)::int as samples,
           coalesce(round(percentile_disc(0.5) within group (order by took)), 0)::float8 as "medianMs",
           coalesce(round(percentile_disc(0.95) within group (order by took)), 0)::float8 as "p95Ms"
      from (select (extract(epoch from live_at - created_at) * 1000)::float8 as took from generations
             where live_at > created_at order by generation desc limit ${sql.lit(MEASURED)}) last`;

/** Measured on the last changes; null before the first one is live. */
export async function readPropagation(db: Db | Tx): Promise<Propagation | null> {
  const { rows } = await PROPAGATION.execute(db);
  const measured = rows[0];
  return measured === undefined || measured.samples === 0 ? null : measured;
}

/** The sentence of a message beyond `/api/v1`, whose own wording is that of the interface. */
export async function measuredPropagation(db: Db | Tx): Promise<string> {
  return describePropagation(await readPropagation(db));
}

export function describePropagation(measured: Propagation | null): string {
  if (measured === null)
    return 'It is live when every edge in service has it; how long that takes here is not measured yet.';
  const { samples, medianMs, p95Ms } = measured;
  const of = samples === 1 ? 'the last change' : `the last ${samples} changes`;
  return `Until a change is live takes ${durationOf(medianMs)} here, at most ${durationOf(p95Ms)} for 95 of 100 (measured on ${of}).`;
}

function durationOf(ms: number): string {
  if (ms < 1_000) return `${Math.max(1, Math.round(ms))} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.round(ms / 60_000)} min`;
}
