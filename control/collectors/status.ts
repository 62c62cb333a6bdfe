import { sql } from 'kysely';
import { collectorStatus, type CollectorStatus } from '@portcullis/link/messages/collector.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Db } from '../db/database.ts';

/** One collector as control knows it: what the operator named, and what was heard of it. */
export interface KnownCollector {
  readonly name: string;
  readonly listen: string;
  /** How many may send. */
  readonly listed: number;
  /** Null: it was never given a credential, so it is not let in. */
  readonly enrolledAt: Date | null;
  readonly lastSeenAt: Date | null;
  readonly connected: boolean;
  /** Null: it has not said anything. */
  readonly report: CollectorStatus | null;
}

/** Three reports missed. */
const AWAY_AFTER_SECONDS = 30;

/** Every collector of the fleet by name. */
export async function loadCollectorStatuses(db: Db): Promise<KnownCollector[]> {
  const { rows } = await sql<Omit<KnownCollector, 'report'> & { readonly report: unknown }>`
    select name, listen, jsonb_array_length(exporters) as listed, enrolled_at as "enrolledAt",
           last_seen_at as "lastSeenAt", report,
           coalesce(last_seen_at > now() - make_interval(secs => ${AWAY_AFTER_SECONDS}), false) as connected
      from collectors order by name`.execute(db);
  return rows.map((row) => {
    const report = check(collectorStatus, row.report);
    return { ...row, report: report.ok ? report.value : null };
  });
}
