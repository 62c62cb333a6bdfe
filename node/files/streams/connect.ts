import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describeError } from '@portcullis/core/log.ts';
import type { StreamTicket } from '@portcullis/link/messages/files.ts';
import { releaseBytes, releaseWritten } from '@portcullis/link/release-bytes.ts';
import { STREAM_PATH, type StreamDirection } from '@portcullis/link/streams.ts';
import { FileRefusal } from '../refusal.ts';

/** A stream in which nothing moves for this long is given up. */
const STALL_MS = 120_000;

/** How this node reaches the replicas of control. */
export interface StreamRoute {
  /** The name of the node. */
  readonly node: string;
  /** The socket of the link, where control is on this host; null: the URL of the ticket. */
  readonly socketPath: string | null;
}

/** One stream: of which server, and by which ticket. */
export interface StreamOf {
  readonly uuid: string;
  readonly ticket: StreamTicket;
}

/** The other end of a stream. */
export interface StreamEnd {
  /** Names the stream. */
  readonly id: string;
  /** Whether it is the caller itself, whose rights the node checks as long as it runs; else control does. */
  readonly isDirect: boolean;
}

/**
 * Sends bytes to the replica that waits for them. `length` null: as many as there are, of an archive. Each part of a file has
 * memory of its own, which is freed when it is sent; those of an archive may be constants of a library.
 */
export async function sendStream(
  route: StreamRoute,
  of: StreamOf,
  { source, length, signal }: { source: Readable; length: number | null; signal: AbortSignal },
): Promise<void> {
  const request = open(route, of, 'up', {
    'content-type': 'application/octet-stream',
    ...(length !== null && { 'content-length': String(length) }),
  });
  const answered = answerOf(request, of, signal);
  answered.catch((error: unknown) => source.destroy(error as Error));
  if (length !== null) releaseWritten(request);
  await pipeline(source, request, { signal });
  const response = await answered;
  response.resume();
}

/** The bytes that the replica passes on. A stream that breaks off is an error of it. */
export async function receiveStream(
  route: StreamRoute,
  of: StreamOf,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = open(route, of, 'down', {});
  const answered = answerOf(request, of, signal);
  // The parser, which comes first, copies the bytes of the body.
  request.once('socket', (socket) => socket.on('data', releaseBytes));
  request.end();
  return answered;
}

function open(
  { node, socketPath }: StreamRoute,
  { uuid, ticket: { url, token } }: StreamOf,
  direction: StreamDirection,
  headers: Readonly<Record<string, string>>,
): ClientRequest {
  const options = {
    method: direction === 'up' ? 'POST' : 'GET',
    headers: { ...headers, authorization: `Bearer ${token}` },
    agent: false,
    timeout: STALL_MS,
  } as const;
  const path = `${STREAM_PATH}/${node}/${uuid}/${direction}`;
  if (socketPath !== null) return requestHttp({ ...options, socketPath, path });
  const at = new URL(`${url}${path}`);
  return at.protocol === 'https:' ? requestHttps(at, options) : requestHttp(at, options);
}

/** A replica knows only the tokens that it made. */
const OF_ANOTHER =
  'behind a load balancer each replica of control needs a --replica-url of its own';

function answerOf(
  request: ClientRequest,
  { ticket: { url } }: StreamOf,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const fail = (why: string, cause?: unknown): void => {
    const detail = `The node cannot send and receive files at ${url}: ${why}.`;
    reject(new FileRefusal('lost', detail, { cause }));
  };
  const onAbort = (): void => void request.destroy(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  request.once('close', () => signal.removeEventListener('abort', onAbort));
  request.on('error', (error) => fail(describeError(error), error));
  request.on('timeout', () => request.destroy(new Error('nothing moves')));
  request.once('response', (response) => {
    const { statusCode = 0 } = response;
    if (statusCode < 300) return resolve(response);
    const hint = statusCode === 404 ? `; ${OF_ANOTHER}` : '';
    fail(`it answers with the status ${statusCode}${hint}`);
    request.destroy();
  });
  // It may fail while nobody waits for it.
  promise.catch(() => undefined);
  return promise;
}
