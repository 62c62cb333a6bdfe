import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from './db/database.ts';
import { describeUnavailable } from './db/failure.ts';
import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { EdgeStatus, EnforcementReader } from './fleet/index.ts';
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
    const failure = await tryWrite(deps.db);
    const embeddedPostgres = checkPostgres(deps.postgresPid);
    const fleet = checkFleet(deps.isFleetApplied());
    if (failure !== null) {
      const unknown = 'Not known while the database does not answer.';
      return {
        database: { ok: false, detail: failure },
        migrations: { ok: false, detail: unknown },
        embeddedPostgres,
        fleet,
        enforcement: { state: 'none', detail: unknown, edges: [] },
      };
    }
    const { state, detail, edges } = await deps.enforcement.read();
    return {
      database: { ok: true, detail: 'The database takes writes.' },
      // Migrations run before the API listens.
      migrations: { ok: true, detail: 'The database has every migration of this version.' },
      embeddedPostgres,
      fleet,
      enforcement: { state, detail, edges: edges.map(edgeReadiness) },
    };
  };
}

function edgeReadiness(edge: EdgeStatus): EdgeReadiness {
  const { name, mode, modeReason, inService, generation, report } = edge;
  return {
    name,
    mode,
    mode_reason: modeReason,
    in_service: inService,
    generation,
    devices: (report?.devices ?? []).map(
      ({ name: device, kind, present, receives, xdp, reason }) => ({
        name: device,
        kind,
        present,
        receives,
        xdp,
        reason,
      }),
    ),
    fast_path:
      report === null || report.fastPath === null
        ? null
        : { on: report.fastPath.isOn, reason: report.fastPath.reason },
    problems: report === null ? [] : problemsOf(report),
  };
}

/** A full page, so that each try needs room that the database may not have. */
const PROBE_BYTES = 8_000;

/** Why the database takes no writes; null if it does. What is written is rolled back. */
async function tryWrite(db: Db): Promise<string | null> {
  try {
    await db.transaction().execute(async (tx) => {
      // Random, or it would be compressed to nothing.
      await sql`insert into write_probe (filler) values (${randomBytes(PROBE_BYTES)})`.execute(tx);
      throw new ProbeDone();
    });
  } catch (error) {
    if (error instanceof ProbeDone) return null;
    return describeUnavailable(error);
  }
  return null;
}

/** Rolls a probe back. */
class ProbeDone extends Error {}

function checkFleet(isApplied: boolean): Check {
  return isApplied
    ? { ok: true, detail: 'No fleet file is waiting to be applied.' }
    : { ok: false, detail: 'The fleet file of this start is being applied.' };
}

function checkPostgres(pid: ReadinessDeps['postgresPid']): Check | null {
  if (pid === undefined) return null;
  const now = pid();
  return now === null
    ? { ok: false, detail: 'PostgreSQL is down and being started again.' }
    : { ok: true, detail: `PostgreSQL runs as process ${now}.` };
}

/** The problems of a report, and its last error. */
function problemsOf({ lastError, problems }: EdgeReport): readonly string[] {
  return lastError === null ? problems : [lastError, ...problems];
}
