import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Server as TlsServer } from 'node:tls';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { type Access, holderIdOf, isCaller, personOf } from '../../access/index.ts';
import type { Db } from '../../db/database.ts';
import { QueueFull } from '../operations/bounded-queue.ts';
import { useStrictBodies } from '../input/body.ts';
import { clientAddress } from '../input/client-address.ts';
import { createListener, refuseSocket } from './listener.ts';
import * as limits from './config.ts';
import { ForwardedWatch } from './forwarded.ts';
import type { HttpConfig } from './config.ts';
import type { Handlers } from '../operations/handlers.ts';
import { createReadReadiness, type ReadinessReport, registerHealth } from './health.ts';
import {
  createHttpMetrics,
  type HttpMetrics,
  listenForMetrics,
  type MetricsListener,
  urlOf,
} from './metrics.ts';
import { collectPaths, routeProblem } from '../operations/not-found.ts';
import { isServerError, problemReply, sendReply, toProblem } from '../operations/problem-reply.ts';
import { createRateLimiter, type RateLimiter } from '../operations/rate-limit.ts';
import { createShares, type Shares } from '../operations/shares.ts';
import { isNavigation, registerPage, type SendPage } from '../page/index.ts';
import { registerReference } from '../reference/index.ts';
import { addResponseHooks } from './response.ts';
import { registerOperations } from '../operations/routes.ts';
import { registerNodeStreams } from './node-streams.ts';
import type { Tracing } from '../../tracing.ts';

export interface HttpDeps {
  /** Default: one of its own, whose counts no other replica gets. */
  readonly rateLimiter?: RateLimiter;
  readonly config: HttpConfig;
  readonly db: Db;
  /** Default: those of every control process. */
  readonly shares?: Shares;
  /** The database of rows for operators; default: `db`. */
  readonly operatorDb?: Db;
  readonly access: Omit<Access, 'forget' | 'stop'>;
  readonly handlers: Handlers;
  readonly registry: Registry;
  /** Takes requests by which nodes open streams of files. */
  readonly serveStream: (request: IncomingMessage, response: ServerResponse) => unknown;
  readonly readiness: () => Promise<ReadinessReport>;
  readonly log: Logger;
  /** Absent: requests are not traced. */
  readonly tracing?: Tracing | null;
  /** Default: 10 s. */
  readonly deadlineMs?: number;
}

export interface HttpServer {
  /** Binds both listeners: the API, and /metrics if configured. */
  listen(): Promise<{ readonly url: string; readonly metricsUrl: string | null }>;
  /** Serves this certificate from now on; only with TLS. */
  renew(tls: { readonly cert: string; readonly key: string }): void;
  /** Stops accepting, waits for running requests for a while, then closes. */
  close(): Promise<void>;
}

const IDLE_CHECK_MS = 50;

/** The public listener: both versions of the API, the reference and health; /metrics is separate. */
export function createHttpServer(deps: HttpDeps): HttpServer {
  const { config, log } = deps;
  const app = createApp(config);
  const metrics = createHttpMetrics(deps.registry);
  // Before any route: a hook holds for the routes after it.
  const page: { send: SendPage | null } = { send: null };
  const { tracing = null } = deps;
  app.decorateRequest('trace', null);
  const forwarded = new ForwardedWatch(config, log);
  app.addHook('onRequest', async (request) => forwarded.seen(request));
  addLifecycle(app, { metrics, log, page, tracing });
  addResponseHooks(app);
  useStrictBodies(app);
  const readiness = createReadReadiness({ ...deps, hint: () => forwarded.problem() });
  registerHealth(app, readiness);
  page.send = registerPage(app);
  registerReference(app, { publicUrl: config.publicUrl });
  registerNodeStreams(app, deps.serveStream);
  const { deadlineMs = limits.DEADLINE_MS } = deps;
  registerOperations(app, {
    ...deps,
    deadlineMs,
    rateLimiter: deps.rateLimiter ?? createRateLimiter(),
    shares: deps.shares ?? createShares(),
  });
  let metricsListener: MetricsListener | null = null;
  return {
    async listen() {
      await app.listen({ host: config.listen.host, port: config.listen.port });
      if (config.metrics !== null)
        metricsListener = await listenForMetrics(deps.registry, readiness, config.metrics);
      const scheme = config.tls === null ? 'http' : 'https';
      return { url: urlOf(app.server.address(), scheme), metricsUrl: metricsListener?.url ?? null };
    },
    renew({ cert, key }) {
      if (app.server instanceof TlsServer) app.server.setSecureContext({ cert, key });
    },
    async close() {
      const drained = setTimeout(() => app.server.closeAllConnections(), limits.DRAIN_TIMEOUT_MS);
      // Connections become idle only after their last request.
      const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS);
      await app.close();
      clearInterval(idle);
      clearTimeout(drained);
      await metricsListener?.close();
    },
  };
}

function createApp(config: HttpConfig): FastifyInstance {
  return fastify({
    serverFactory: (handler) => createListener(config, handler),
    bodyLimit: limits.BODY_LIMIT_BYTES,
    genReqId: requestIdOf,
    trustProxy: config.trustedProxies.length === 0 ? false : [...config.trustedProxies],
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: true,
    clientErrorHandler: refuseSocket,
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      sendReply(reply, problemReply(toProblem(error), request.id));
    },
  });
}

interface Lifecycle {
  readonly metrics: HttpMetrics;
  readonly log: Logger;
  readonly page: { readonly send: SendPage | null };
  readonly tracing: Tracing | null;
}

/** The hooks of every request. */
function addLifecycle(app: FastifyInstance, { metrics, log, page, tracing }: Lifecycle): void {
  const paths = collectPaths(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    const { traceparent } = request.headers;
    request.trace = tracing?.begin(request.method, String(traceparent ?? '')) ?? null;
    const isHome = request.routeOptions.url === '/';
    if ((request.is404 || isHome) && page.send !== null && isNavigation(request)) {
      void page.send(request, reply);
      return;
    }
    const path = request.url.split('?', 1)[0] ?? '';
    const { url } = request.routeOptions;
    if (!request.is404 && (url === undefined || !paths.isOfAnother(url, path))) return done();
    const allow = paths.methodsOf(path);
    if (request.method === 'OPTIONS' && allow !== null) {
      reply.code(204).header('allow', allow.join(', ')).send();
      return;
    }
    done(routeProblem(paths, request.method, path));
  });
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, request.routeOptions.bodyLimit);
    // A full queue is no fault, and strangers would fill the log.
    const isFault = isServerError(problem.code) && !(problem.cause instanceof QueueFull);
    if (isFault) log.error({ requestId: request.id, error }, 'request failed');
    sendReply(reply, problemReply(problem, request.id));
  });
  app.addHook('onResponse', (request, reply, done) => {
    answered(metrics, log, request, reply);
    done();
  });
}

/** Counts and logs a response in one place, so that both agree. */
function answered(
  metrics: HttpMetrics,
  log: Logger,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const operation = request.routeOptions.config.operationId ?? 'unmatched';
  metrics.answered(operation, reply.statusCode, reply.elapsedTime / 1000);
  request.trace?.end(operation, reply.statusCode);
  if (!log.isLevelEnabled('info')) return;
  const person = personOf(request.by);
  log.info(
    {
      requestId: request.id,
      operation,
      method: request.method,
      path: request.url.split('?', 1)[0]?.slice(0, 200),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      source: clientAddress(request.ip),
      ...(isCaller(request.by) && { keyId: holderIdOf(request.by) }),
      ...(person !== null && { person: person.id }),
    },
    'answered',
  );
}

const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/**
 * The request id of the response, the log and the audit trail. A caller's own id is kept if it is 8 to 64 letters,
 * digits, dots, underscores or dashes, so that both logs can be correlated; any other is replaced.
 */
function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
}
