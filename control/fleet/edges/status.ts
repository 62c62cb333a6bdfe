import { sql } from 'kysely';
import { edgeReport, type EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Db } from '../../db/database.ts';

/** One edge as control knows it: what the operator named, how far it is, and what it said last. */
export interface EdgeStatus {
  readonly name: string;
  readonly site: string;
  readonly serves: readonly string[];
  readonly sees: 'both' | 'inbound';
  readonly fragments: 'reassemble' | 'limit';
  /** Null: never heard of. */
  readonly mode: EdgeMode | null;
  /** Why it only observes although it was asked to enforce; null: it does what was asked. */
  readonly modeReason: string | null;
  /** It enforced once, so readers wait for it while it is in service. */
  readonly enrolled: boolean;
  readonly inService: boolean;
  readonly leftServiceAt: Date | null;
  readonly lastSeenAt: Date | null;
  /** The newest generation that its kernel has, but for what it refused. */
  readonly generation: number;
  readonly acceptedGeneration: number;
  /** How long the oldest generation that it lacks has been accepted; 0: it lacks none. */
  readonly lagMs: number;
  readonly refused: readonly Refusal[];
  /** Null: it has not said anything. */
  readonly report: EdgeReport | null;
}
export interface Refusal {
  readonly target: string;
  readonly reason: string;
  /** What its kernel still has of the target; 0: nothing. */
  readonly goodGeneration: number;
}

interface Row extends Omit<EdgeStatus, 'report'> {
  readonly report: unknown;
}

/** Every edge of the fleet by name, or the one of this name. */
export async function loadEdgeStatuses(db: Db, name: string | null = null): Promise<EdgeStatus[]> {
  const { rows } = await sql<Row>`
    select e.name, e.site, e.serves::text[] as serves, e.sees, e.fragments, e.mode,
           e.mode_reason as "modeReason", e.enforcing_since is not null as enrolled,
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

/** Null: none is stored, or none that this version understands. */
export function readReport(stored: unknown): EdgeReport | null {
  if (stored === null) return null;
  const parsed = check(edgeReport, stored);
  return parsed.ok ? parsed.value : null;
}
