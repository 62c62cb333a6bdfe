import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { Socket } from 'node:net';
import { endLast, isLingering, lingerAfter } from '@portcullis/link/linger.ts';
import * as limits from './config.ts';
import { limitBodyTime } from '../input/body-time.ts';
import type { HttpConfig } from './config.ts';
import { createSecureListener } from './secure-listener.ts';

/** The answers to bytes that are no valid request: [status, reason phrase, detail]. */
type Refusal = readonly [number, string, string];

const BAD_REQUEST: Refusal = [
  400,
  'Bad Request',
  'What was sent is not HTTP/1.1 that this server reads.',
];

const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'Request Header Fields Too Large',
    'The request line and headers together are longer than 16 KiB.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Content Too Large', 'The chunk extensions are too long.'],
  CONNECT: [400, 'Bad Request', 'This server is no proxy.'],
  ERR_SSL_HTTP_REQUEST: [
    400,
    'Bad Request',
    'This port speaks HTTPS, and a plain HTTP request was sent to it.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request did not arrive in time.'],
};

/**
 * Answers on a socket without a request, in the problem format. The type is `about:blank` (RFC 9457, 4.2.1), because no
 * operation was involved.
 */
export function refuseSocket(error: Error & { code?: string }, socket: Duplex): void {
  // Data after a refused head.
  if (isLingering(socket)) return;
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = REFUSALS[error.code ?? ''] ?? BAD_REQUEST;
  const { headers, body } = messageOf(refusal);
  const head = [
    `HTTP/1.1 ${refusal[0]} ${refusal[1]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  endLast(socket, `${head.join('\r\n')}\r\n\r\n${body}`);
}

/** The same for a request whose head was read, after the previous requests of the connection. */
function refuseRequest(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { headers, body } = messageOf(refusal);
  lingerAfter(request);
  response.writeHead(refusal[0], refusal[1], headers).end(body);
}

/** Headers that may appear once: with two, servers on the way could use different ones. */
const SINGLE = ['Host', 'Authorization', 'Content-Type'] as const;

/** Why a well-formed head is ambiguous. Null if it is not. */
function headProblem(request: IncomingMessage): Refusal | null {
  const { httpVersion, headers, headersDistinct } = request;
  // Of HTTP/2, whose layer below has refused what is ambiguous.
  if ('stream' in request) return null;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return [505, 'HTTP Version Not Supported', 'This server speaks HTTP/1.1.'];
  }
  const twice = SINGLE.find((name) => (headersDistinct[name.toLowerCase()]?.length ?? 0) > 1);
  if (twice !== undefined) return badRequest(`The header ${twice} stands more than once.`);
  // RFC 9112, 3.2
  if (httpVersion === '1.1' && headers.host === undefined) {
    return badRequest('The header Host is missing.');
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return badRequest('The only Transfer-Encoding that this server reads is chunked.');
  }
  return null;
}

function refuseLate({ socket }: IncomingMessage): void {
  const code = 'ERR_HTTP_REQUEST_TIMEOUT';
  refuseSocket(Object.assign(new Error(code), { code }), socket);
}

function badRequest(detail: string): Refusal {
  return [400, 'Bad Request', detail];
}

function messageOf([status, title, detail]: Refusal): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const body = JSON.stringify({ type: 'about:blank', title, status, detail });
  const headers = {
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': randomUUID(),
    Connection: 'close',
  };
  return { headers, body };
}

/** The socket side of the API: refuses requests that two readers could understand differently. */
export function createListener(config: HttpConfig, handler: RequestListener): Server {
  const timeouts = config.timeouts ?? limits.DEFAULT_TIMEOUTS;
  const options = {
    maxHeaderSize: limits.HEADER_LIMIT_BYTES,
    headersTimeout: timeouts.headersMs,
    // `limitBodyTime` does it, because some bodies may take longer.
    requestTimeout: 0,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    // Refused here, because Node answers without a body and an id.
    requireHostHeader: false,
  };
  const serve: RequestListener = (request, response) => {
    // Behind the last request of its connection. Many would be kept until it ends.
    if (isLingering(request.socket)) return void request.socket.destroy();
    const objection = headProblem(request);
    if (objection !== null) return refuseRequest(request, response, objection);
    request.url = originForm(request.url ?? '/');
    limitBodyTime(request, timeouts.requestMs, refuseLate);
    handler(request, response);
  };
  const server =
    config.tls === null
      ? createServer(options, serve)
      : createSecureListener(options, config.tls, timeouts, serve);
  // body.ts requests the body, so that no caller sends one before a 401.
  server.on('checkContinue', serve);
  // Other expectations may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', serve);
  server.on('connect', (_request, there: Duplex | ServerResponse) => {
    if ('setHeader' in there) there.writeHead(405).end();
    else refuseSocket(Object.assign(new Error('CONNECT'), { code: 'CONNECT' }), there);
  });
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
