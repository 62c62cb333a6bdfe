import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';

/** What a client is told whose bytes never became a request; [status, reason phrase, detail]. */
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
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request did not arrive in time.'],
};

/**
 * Answers on a socket without a request, in the shape of every other error. The type is `about:blank`
 * (RFC 9457, 4.2.1): the status says it all, and no operation was involved.
 */
export function refuseSocket(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, title, detail] = REFUSALS[error.code ?? ''] ?? BAD_REQUEST;
  const body = JSON.stringify({ type: 'about:blank', title, status, detail });
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
