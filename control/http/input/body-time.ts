import type { IncomingMessage } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { LINGER_MS } from '@portcullis/link/linger.ts';

const unlimited = new WeakSet<IncomingMessage>();

/**
 * Ends a request whose body has not arrived within this time. The timeout of Node's own server is none for a single
 * request, and files take longer than anything else. `refuse` answers on an HTTP/1.1 connection.
 */
export function limitBodyTime(
  request: IncomingMessage,
  withinMs: number,
  refuse: (request: IncomingMessage) => void,
): void {
  if (!hasBody(request)) return;
  const timer = setTimeout(() => {
    if (request.complete || unlimited.has(request)) return;
    const stream = streamOf(request);
    if (stream !== null) stream.close(constants.NGHTTP2_CANCEL);
    else refuse(request);
  }, withinMs);
  timer.unref();
  request.once('end', () => clearTimeout(timer));
}

/** Lets the body of this request take as long as it comes. */
export function receiveWithoutLimit(request: IncomingMessage): void {
  unlimited.add(request);
}

/** Reads the rest of a body for a while and drops it: a sender that is cut off would not get the answer. */
export function refuseUnread(request: IncomingMessage): void {
  request.resume();
  setTimeout(() => {
    if (!request.complete) (streamOf(request) ?? request).destroy();
  }, LINGER_MS).unref();
}

function hasBody({ headers, method }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  const { 'content-length': length } = headers;
  return length === undefined ? method !== 'GET' && method !== 'HEAD' : Number(length) > 0;
}

/** The stream of HTTP/2; null for HTTP/1.1. */
function streamOf(request: IncomingMessage): ServerHttp2Stream | null {
  return 'stream' in request ? (request.stream as ServerHttp2Stream) : null;
}
