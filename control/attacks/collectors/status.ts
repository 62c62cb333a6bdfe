import { sql } from 'kysely';
import { collectorStatus, type CollectorStatus } from '@portcullis/link/messages/collector.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Db, Tx } from '../../db/database.ts';
import { prefixesOf } from '../../agents/scope.ts';
import type { CollectorExporter, Owner } from '../../db/schema.ts';

/** A collector: its configuration and its last report. */
export interface KnownCollector {
  readonly id: number;
  readonly name: string;
  readonly owner: Owner;
  readonly listen: string;
  /** The number of listed exporters. */
  readonly listed: number;
  /** The destinations of which its exporters are believed, together. */
  readonly prefixes: readonly string[] | 'all';
  /** Null if it has no credential and cannot connect. */
  readonly enrolledAt: Date | null;
  readonly lastSeenAt: Date | null;
  readonly connected: boolean;
  /** Null before its first report. */
  readonly report: CollectorStatus | null;
}

type CollectorRow = Omit<KnownCollector, 'report' | 'prefixes'> & {
  readonly report: unknown;
  readonly exporters: readonly CollectorExporter[];
};

/** The time of three missed reports. */
const AWAY_AFTER_SECONDS = 30;

/** Every collector of the fleet by name. */
export async function loadCollectorStatuses(db: Db | Tx): Promise<KnownCollector[]> {
  const { rows } = await sql<CollectorRow>`
    select id, name, owner, listen, jsonb_array_length(exporters) as listed, exporters, enrolled_at as "enrolledAt",
           last_seen_at as "lastSeenAt", report,
           coalesce(last_seen_at > now() - make_interval(secs => ${AWAY_AFTER_SECONDS}), false) as connected
      from collectors order by name`.execute(db);
  return rows.map(({ exporters, ...row }) => {
    const report = check(collectorStatus, row.report);
    const isAll = exporters.some(({ prefixes }) => prefixes === 'all');
    const prefixes = isAll ? 'all' : prefixesOf(exporters);
    return { ...row, prefixes, report: report.ok ? report.value : null };
  });
}
