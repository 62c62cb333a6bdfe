import { sql } from 'kysely';
import { collectorStatus, type CollectorStatus } from '@portcullis/link/messages/collector.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';

/** A collector: its configuration and its last report. */
export interface KnownCollector {
  readonly id: number;
  readonly name: string;
  readonly owner: Owner;
  readonly listen: string;
  /** The number of listed exporters. */
  readonly listed: number;
  /** Null if it has no credential and cannot connect. */
  readonly enrolledAt: Date | null;
  readonly lastSeenAt: Date | null;
  readonly connected: boolean;
  /** Null before its first report. */
  readonly report: CollectorStatus | null;
}

/** The time of three missed reports. */
const AWAY_AFTER_SECONDS = 30;

/** Every collector of the fleet by name. */
export async function loadCollectorStatuses(db: Db | Tx): Promise<KnownCollector[]> {
  const { rows } = await sql<Omit<KnownCollector, 'report'> & { readonly report: unknown }>`
    select id, name, owner, listen, jsonb_array_length(exporters) as listed, enrolled_at as "enrolledAt",
           last_seen_at as "lastSeenAt", report,
           coalesce(last_seen_at > now() - make_interval(secs => ${AWAY_AFTER_SECONDS}), false) as connected
      from collectors order by name`.execute(db);
  return rows.map((row) => {
    const report = check(collectorStatus, row.report);
    return { ...row, report: report.ok ? report.value : null };
  });
}

export async function deleteCollector(tx: Tx, id: number): Promise<void> {
  await sql`delete from collectors where id = ${id}`.execute(tx);
}
