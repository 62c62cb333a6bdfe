import type { RequestListener, Server, ServerOptions } from 'node:http';
import { createSecureServer, type Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { HEADER_LIMIT_BYTES, type HttpTimeouts, type TlsConfig } from './config.ts';

/** The requests at a time of one connection: a page with its files and its stream of events. */
const MAX_REQUESTS_AT_A_TIME = 100;
/** Node's own limit is two minutes. */
const HANDSHAKE_MS = 10_000;
/** Memory of one connection, in MB: headers and what waits to be sent. */
const MAX_SESSION_MB = 4;

/**
 * The listener with TLS: HTTP/2 for who offers it, since a browser opens at most six connections to a host by HTTP/1.1, of which
 * each stream of events takes one; HTTP/1.1 for all others. The timeouts hold for both.
 */
export function createSecureListener(
  options: ServerOptions,
  tls: TlsConfig,
  timeouts: HttpTimeouts,
  serve: RequestListener,
): Server {
  const secure = createSecureServer(
    {
      ...options,
      ...tls,
      minVersion: 'TLSv1.2',
      handshakeTimeout: HANDSHAKE_MS,
      allowHTTP1: true,
      maxSessionMemory: MAX_SESSION_MB,
      settings: {
        maxConcurrentStreams: MAX_REQUESTS_AT_A_TIME,
        maxHeaderListSize: HEADER_LIMIT_BYTES,
        enablePush: false,
      },
    },
    // The compatible requests and answers of HTTP/2, which Fastify takes for those of HTTP/1.1.
    serve as never,
  );
  // It has all that is called of an HTTP/1.1 server, but what is added here.
  const server = secure as unknown as Server;
  const sessions = new Set<Http2Session>();
  const sockets = new Set<Socket>();
  // What TLS runs on: a handshake that goes on holds up an end, too.
  secure.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  secure.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.setTimeout(timeouts.keepAliveMs, () => session.close());
  });
  // A broken connection, or one that breaks the protocol, ends by itself.
  secure.on('sessionError', () => undefined);
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    closeIdle();
    // Takes no more requests, and ends with its last one.
    for (const session of sessions) session.close();
  };
  server.closeAllConnections = () => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  };
  return server;
}
