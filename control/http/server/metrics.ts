import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ReadReadiness } from './health.ts';
import manifest from '../../package.json' with { type: 'json' };

/** The metrics of /metrics. Areas register their own counters on the same registry. */
export interface HttpMetrics {
  /** Counts an answered request and its time; `operation` is an operationId or `unmatched`. */
  answered(operation: string, status: number, seconds: number): void;
}

/** A registry with Node's process metrics. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges with the name of counters; the same is in nodejs_active_handles, _requests and _resources by type.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  new Gauge({
    name: 'portcullis_build_info',
    help: '1, with the version of control and of Node.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: manifest.version, node: process.version }, 1);
  return registry;
}

export function createHttpMetrics(registry: Registry): HttpMetrics {
  const requests = new Counter({
    name: 'portcullis_http_requests_total',
    help: 'Requests answered, by operation and status.',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'portcullis_http_request_duration_seconds',
    help: 'From the end of the request header to the end of the answer.',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry],
  });
  return {
    answered(operation, status, seconds) {
      requests.inc({ operation, status });
      durations.observe({ operation }, seconds);
    },
  };
}

export interface MetricsListener {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves only `GET /metrics` and `/readyz` with its details, separately from the API: both are for the operator. */
export async function listenForMetrics(
  registry: Registry,
  readiness: ReadReadiness,
  at: { readonly host: string; readonly port: number },
): Promise<MetricsListener> {
  const server = createServer(
    { maxHeaderSize: 8192, requestTimeout: 10_000 },
    (request, response) => {
      answer(registry, readiness, request, response).catch(() => response.destroy());
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  return {
    url: `${urlOf(server.address())}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** `http://HOST:PORT` of a listener, with brackets where IPv6 needs them. */
export function urlOf(address: string | AddressInfo | null, scheme = 'http'): string {
  if (address === null || typeof address === 'string')
    throw new Error('the listener has no address');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${scheme}://${host}:${address.port}`;
}

async function answer(
  registry: Registry,
  readiness: ReadReadiness,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const path = request.url?.split('?', 1)[0];
  if (path !== '/metrics' && path !== '/readyz') {
    const text = 'Only /metrics and /readyz are here.\n';
    response.writeHead(404, { 'content-type': 'text/plain' }).end(text);
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain' }).end();
  } else if (path === '/readyz') {
    const { status, document } = await readiness('full');
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(document));
  } else {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  }
}
