import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Socket } from 'node:net';
import * as limits from './config.ts';
import type { HttpConfig } from './config.ts';
import { headProblem, refuseRequest, refuseSocket } from './socket-errors.ts';

/** The socket side of the API: refuses requests that two readers could understand differently. */
export function createListener(config: HttpConfig, handler: RequestListener): Server {
  const timeouts = config.timeouts ?? limits.DEFAULT_TIMEOUTS;
  const options = {
    maxHeaderSize: limits.HEADER_LIMIT_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    // Refused here, because Node answers without a body and an id.
    requireHostHeader: false,
  };
  const serve: RequestListener = (request, response) => {
    const objection = headProblem(request);
    if (objection !== null) return refuseRequest(objection, response);
    request.url = originForm(request.url ?? '/');
    handler(request, response);
  };
  const server =
    config.tls === null
      ? createServer(options, serve)
      : createTlsServer({ ...options, ...config.tls, minVersion: 'TLSv1.2' }, serve);
  // body.ts requests the body, so that no caller sends one before a 401.
  server.on('checkContinue', serve);
  // Other expectations may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', serve);
  server.on('connect', (_request, socket) =>
    refuseSocket(Object.assign(new Error('CONNECT'), { code: 'CONNECT' }), socket),
  );
  server.on('tlsClientError', explainToPlainClient);
  return server;
}

/** Maps `http://any.host/path`, as a proxy may send it, to `/path`; the host is ignored. */
function originForm(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*(?=\/)/i, '');
}

/** Answers plain HTTP on the TLS port with an explanation, as other servers do. */
function explainToPlainClient(error: Error & { readonly code?: string }, secured: object): void {
  if (error.code !== 'ERR_SSL_HTTP_REQUEST') return;
  // Node has no public access to the underlying socket; without it the connection is just closed.
  const below: unknown = Reflect.get(secured, '_parent');
  if (below instanceof Socket) refuseSocket(error, below);
}
