import { sql } from 'kysely';
import type { Db } from './db/database.ts';
import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { EdgeEnforcement, EnforcementReader } from './fleet/index.ts';
import type { Check, EdgeReadiness, ReadinessReport } from './http/server/health.ts';

export interface ReadinessDeps {
  readonly db: Db;
  readonly enforcement: EnforcementReader;
  /** Process id of the embedded PostgreSQL, null while it is down; absent for a database of the operator. */
  readonly postgresPid?: (() => number | null) | undefined;
  /** Whether the fleet file of this start is applied. */
  readonly isFleetApplied: () => boolean;
}

/** Reports the readiness of this process. Enforcement is reported and does not affect readiness. */
export function createReadiness(deps: ReadinessDeps): () => Promise<ReadinessReport> {
  return async () => {
    const reached = await reach(deps.db);
    const embeddedPostgres = checkPostgres(deps.postgresPid);
    const fleet = checkFleet(deps.isFleetApplied());
    if (!reached) {
      const unknown = 'Not known while the database does not answer.';
      return {
        database: { ok: false, detail: 'The database does not answer.' },
        migrations: { ok: false, detail: unknown },
        embeddedPostgres,
        fleet,
        enforcement: { state: 'none', detail: unknown, edges: [] },
      };
    }
    const { state, detail, edges } = await deps.enforcement.read();
    return {
      database: { ok: true, detail: 'The database answers.' },
      // Migrations run before the API listens.
      migrations: { ok: true, detail: 'The database has every migration of this version.' },
      embeddedPostgres,
      fleet,
      enforcement: { state, detail, edges: edges.map(edgeReadiness) },
    };
  };
}

function edgeReadiness(edge: EdgeEnforcement): EdgeReadiness {
  const { name, mode, modeReason, inService, confirmedGeneration, report } = edge;
  return {
    name,
    mode,
    mode_reason: modeReason,
    in_service: inService,
    generation: confirmedGeneration,
    devices: (report?.devices ?? []).map(({ name: device, kind, present, xdp, reason }) => ({
      name: device,
      kind,
      present,
      xdp,
      reason,
    })),
    problems: report === null ? [] : problemsOf(report),
  };
}

async function reach(db: Db): Promise<boolean> {
  try {
    await sql`select generation from fleet`.execute(db);
    return true;
  } catch {
    return false;
  }
}

function checkFleet(isApplied: boolean): Check {
  return isApplied
    ? { ok: true, detail: 'No fleet file is waiting to be applied.' }
    : { ok: false, detail: 'The fleet file of this start is being applied.' };
}

function checkPostgres(pid: ReadinessDeps['postgresPid']): Check {
  if (pid === undefined) {
    return { ok: true, detail: "None: DATABASE_URL names the operator's PostgreSQL." };
  }
  const now = pid();
  return now === null
    ? { ok: false, detail: 'PostgreSQL is down and being started again.' }
    : { ok: true, detail: `PostgreSQL runs as process ${now}.` };
}

/** The problems of a report, and its last error. */
function problemsOf({ lastError, problems }: EdgeReport): readonly string[] {
  return lastError === null ? problems : [lastError, ...problems];
}
