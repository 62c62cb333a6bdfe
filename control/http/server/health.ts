import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

export interface Check {
  readonly ok: boolean;
  /** A sentence for the operator. */
  readonly detail: string;
}

/** The readiness of this process. `enforcement` is reported and does not affect it. */
export interface ReadinessReport {
  readonly database: Check;
  readonly migrations: Check;
  /** The embedded PostgreSQL; null with DATABASE_URL, and not shown then. */
  readonly embeddedPostgres: Check | null;
  /** The fleet file with which the platform was started. */
  readonly fleet: Check;
  readonly enforcement: {
    readonly state: 'none' | 'partial' | 'full';
    readonly detail: string;
    readonly edges: readonly EdgeReadiness[];
  };
}

/** An edge as it is shown. */
export interface EdgeReadiness {
  readonly name: string;
  readonly mode: 'enforce' | 'observe' | 'no_device' | null;
  /** Why it only observes or has no device, or until when it is on trial. */
  readonly mode_reason: string | null;
  readonly in_service: boolean;
  readonly generation: number;
  readonly devices: readonly {
    readonly name: string;
    readonly kind: string;
    readonly present: boolean;
    /** Packets can come in by it. */
    readonly receives: boolean;
    /** The early drop: `native`, `generic` or `none`, with the reason. */
    readonly xdp: string;
    readonly reason: string | null;
  }[];
  /** Whether answered flows are forwarded without the network stack, and why not. Null without an early drop. */
  readonly fast_path: { readonly on: boolean; readonly reason: string | null } | null;
  readonly problems: readonly string[];
}

/** Below the timeout of load balancers. */
const READINESS_TIMEOUT_MS = 3_000;

const UNKNOWN: Check = { ok: false, detail: 'Not known while the database does not answer.' };

/** How long a report is reused: anyone may request it without a key, and reading it costs queries. */
const READINESS_MS = 1_000;

/** The readiness of this process: its status, and the document for everybody or for the operator. */
export interface Readiness {
  readonly status: 200 | 503;
  readonly document: object;
}
/** `full`: with edges, devices and processes, for the listener of /metrics only. */
export type ReadReadiness = (detail: 'public' | 'full') => Promise<Readiness>;

/** Reads readiness at most once a second. */
export function createReadReadiness(deps: {
  readonly readiness: () => Promise<ReadinessReport>;
  readonly log: Logger;
  /** A hint on what the operator should change, though everything works; null: nothing. */
  readonly hint: () => string | null;
}): ReadReadiness {
  let last: { readonly atMs: number; readonly report: Promise<ReadinessReport> } | null = null;
  const read = (): Promise<ReadinessReport> => {
    const now = performance.now();
    if (last !== null && now - last.atMs < READINESS_MS) return last.report;
    const report = readWithin(deps.readiness).catch((error: unknown): ReadinessReport => {
      deps.log.warn({ error }, 'readiness could not be read');
      return unknownReport();
    });
    last = { atMs: now, report };
    return report;
  };
  return async (detail) => {
    const report = await read();
    const { database, migrations, embeddedPostgres, fleet, enforcement } = report;
    const checks = {
      database,
      migrations,
      ...(embeddedPostgres !== null && { embedded_postgres: embeddedPostgres }),
      fleet,
    };
    const ready = Object.values(checks).every(({ ok }) => ok);
    const status = ready ? 'ready' : 'not ready';
    const full = { status, checks, enforcement };
    const document = detail === 'full' ? { ...full, hint: deps.hint() } : withoutDetails(full);
    return { status: ready ? 200 : 503, document };
  };
}

/** Whether each check passes and why it does not; nothing of edges, devices and processes. */
function withoutDetails(full: {
  readonly status: string;
  readonly checks: Readonly<Record<string, Check>>;
  readonly enforcement: ReadinessReport['enforcement'];
}): object {
  const checks = Object.entries(full.checks).map(([name, { ok, detail }]) => [
    name,
    ok ? { ok } : { ok, detail },
  ]);
  return {
    status: full.status,
    checks: Object.fromEntries(checks),
    enforcement: { state: full.enforcement.state },
  };
}

/** `/healthz`: the process runs. `/readyz`: it can serve (503 otherwise), with the state of enforcement. */
export function registerHealth(app: FastifyInstance, readiness: ReadReadiness): void {
  app.get('/healthz', { config: { operationId: 'healthz' } }, (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  );
  app.get('/readyz', { config: { operationId: 'readyz' } }, async (_request, reply) => {
    const { status, document } = await readiness('public');
    return reply.code(status).header('cache-control', 'no-store').send(document);
  });
}

function unknownReport(): ReadinessReport {
  return {
    database: { ok: false, detail: 'The database does not answer.' },
    migrations: UNKNOWN,
    embeddedPostgres: null,
    fleet: UNKNOWN,
    enforcement: { state: 'none', detail: UNKNOWN.detail, edges: [] },
  };
}

async function readWithin(readiness: () => Promise<ReadinessReport>): Promise<ReadinessReport> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error('readiness took too long')),
    READINESS_TIMEOUT_MS,
  );
  try {
    return await Promise.race([readiness(), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
