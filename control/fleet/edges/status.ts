import { sql } from 'kysely';
import { edgeReport, type EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';

/** One edge: its settings, its progress and its last report. */
export interface EdgeStatus {
  readonly id: number;
  readonly name: string;
  readonly site: string;
  readonly owner: Owner;
  /** The devices by which packets come in. */
  readonly devices: readonly string[];
  readonly serves: readonly string[];
  readonly sees: 'both' | 'inbound';
  readonly fragments: 'reassemble' | 'limit';
  /** Null when the edge never connected. */
  readonly mode: EdgeMode | null;
  /** Why it only observes although it should enforce; null otherwise. */
  readonly modeReason: string | null;
  /** It has enforced before, so live waits for it while it is in service. */
  readonly enrolled: boolean;
  /** It has enforced before and its mode is to enforce, by a device that packets can come in by. */
  readonly enforcing: boolean;
  /** No packet can come in by some of its devices. */
  readonly lacksDevice: boolean;
  readonly inService: boolean;
  readonly leftServiceAt: Date | null;
  readonly lastSeenAt: Date | null;
  /** The newest generation in its kernel, apart from refused targets. */
  readonly generation: number;
  readonly acceptedGeneration: number;
  /** Age of the oldest accepted generation that it lacks; 0 when it lacks none. */
  readonly lagMs: number;
  readonly refused: readonly Refusal[];
  /** Null when it has not reported. */
  readonly report: EdgeReport | null;
}
export interface Refusal {
  readonly target: string;
  readonly reason: string;
  /** The generation of the target in its kernel; 0 when it has none. */
  readonly goodGeneration: number;
}

interface Row extends Omit<EdgeStatus, 'report'> {
  readonly report: unknown;
}

/** Every edge of the fleet, or the one of this name. */
export async function loadEdgeStatuses(
  db: Db | Tx,
  name: string | null = null,
): Promise<EdgeStatus[]> {
  const { rows } = await sql<Row>`
    select e.id, e.name, e.site, e.owner, e.devices, e.serves::text[] as serves, e.sees, e.fragments, e.mode,
           e.mode_reason as "modeReason", e.enforcing_since is not null as enrolled,
           e.enforcing_since is not null and e.mode = 'enforce' as enforcing, e.lacks_device as "lacksDevice",
           e.in_service as "inService", e.left_service_at as "leftServiceAt",
           e.last_seen_at as "lastSeenAt", e.confirmed_generation as generation,
           fleet.generation as "acceptedGeneration",
           coalesce((extract(epoch from clock_timestamp() - (
             select g.created_at from generations g where g.generation > e.confirmed_generation
              order by g.generation limit 1)) * 1000)::float8, 0) as "lagMs",
           coalesce((select json_agg(json_build_object(
               'target', case when masklen(r.target) = masklen(network(host(r.target)::inet))
                              then host(r.target) else r.target::text end,
               'reason', r.reason, 'goodGeneration', r.good_generation) order by r.target)
             from edge_refusals r where r.edge_id = e.id), '[]') as refused,
           e.report
      from fleet, edges e
     where ${name}::text is null or e.name = ${name}
     order by e.name`.execute(db);
  return rows.map(({ report, ...row }) => ({ ...row, report: readReport(report) }));
}

/** Returns null when no report is stored that this version understands. */
function readReport(stored: unknown): EdgeReport | null {
  if (stored === null) return null;
  const parsed = check(edgeReport, stored);
  return parsed.ok ? parsed.value : null;
}
