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
  /** The embedded PostgreSQL; none with DATABASE_URL. */
  readonly embeddedPostgres: Check;
  /** The fleet file with which the platform was started. */
  readonly fleet: Check;
  readonly enforcement: {
    readonly state: 'none' | 'partial' | 'full';
    readonly detail: string;
    readonly edges: readonly EdgeReadiness[];
  };
}

/** As it is shown. */
export interface EdgeReadiness {
  readonly name: string;
  readonly mode: 'enforce' | 'observe' | null;
  /** Why it only observes, or until when it is on trial. */
  readonly mode_reason: string | null;
  readonly in_service: boolean;
  readonly generation: number;
  readonly devices: readonly {
    readonly name: string;
    readonly kind: string;
    readonly present: boolean;
    /** The early drop: `native`, `generic` or `none`, with the reason. */
    readonly xdp: string;
    readonly reason: string | null;
  }[];
  readonly problems: readonly string[];
}

/** Below the timeout of load balancers. */
const READINESS_TIMEOUT_MS = 3_000;

const UNKNOWN: Check = { ok: false, detail: 'Not known while the database does not answer.' };

/** `/healthz`: the process runs. `/readyz`: it can serve (503 otherwise), with the state of enforcement. */
export function registerHealth(
  app: FastifyInstance,
  deps: { readonly readiness: () => Promise<ReadinessReport>; readonly log: Logger },
): void {
  app.get('/healthz', { config: { operationId: 'healthz' } }, (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  );
  app.get('/readyz', { config: { operationId: 'readyz' } }, async (_request, reply) => {
    const report = await readWithin(deps.readiness).catch((error: unknown): ReadinessReport => {
      deps.log.warn({ error }, 'readiness could not be read');
      return unknownReport();
    });
    const { database, migrations, embeddedPostgres, fleet } = report;
    const ready = [database, migrations, embeddedPostgres, fleet].every(({ ok }) => ok);
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({
        status: ready ? 'ready' : 'not ready',
        checks: {
          database,
          migrations,
          embedded_postgres: embeddedPostgres,
          fleet,
        },
        enforcement: report.enforcement,
      });
  });
}

function unknownReport(): ReadinessReport {
  return {
    database: { ok: false, detail: 'The database does not answer.' },
    migrations: UNKNOWN,
    embeddedPostgres: UNKNOWN,
    fleet: UNKNOWN,
    enforcement: { state: 'none', detail: UNKNOWN.detail, edges: [] },
  };
}

async function readWithin(readiness: () => Promise<ReadinessReport>): Promise<ReadinessReport> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error('readiness took too long')),
    READINESS_TIMEOUT_MS,
  );
  try {
    return await Promise.race([readiness(), late]);
  } finally {
    clearTimeout(timer);
  }
}
