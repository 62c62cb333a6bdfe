import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ServeStream } from '../game-servers/index.ts';

const HEADERS_MS = 5_000;

/** Reads requests of nodes from connections of the socket of the link. */
export function createSocketStreams(
  serve: ServeStream,
): (stream: Duplex, admitted: () => void) => void {
  const admissions = new WeakMap<object, () => void>();
  // Never listens. What a request may take, `serve` decides.
  const options = { headersTimeout: HEADERS_MS, requestTimeout: 0, keepAliveTimeout: 1 };
  const server = createServer(options, (request, response) => {
    response.shouldKeepAlive = false;
    if (serve(request, response)) admissions.get(request.socket)?.();
  });
  return (stream, admitted) => {
    admissions.set(stream, admitted);
    // Its first bytes are put back by then.
    setImmediate(() => {
      if (stream.destroyed) return;
      server.emit('connection', stream);
      stream.resume();
    });
  };
}
