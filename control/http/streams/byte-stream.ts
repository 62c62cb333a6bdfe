import type { Readable } from 'node:stream';
import { releaseWritten } from '@portcullis/link/release-bytes.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { receiveWithoutLimit, refuseUnread } from '../input/body-time.ts';
import { holdStream, type StreamLimits, type StreamRight } from './open-streams.ts';

/** Each has two connections and some buffers. A folder is sent as several files at once. */
const LIMITS: StreamLimits = { what: 'uploads and downloads', ofCaller: 16, ofOrganisation: 64 };

/** A reply with bytes that are sent as they come, or one that is made when those of the request have passed. */
interface Passing<R> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly bytes?: Readable;
  readonly later?: (ending: AbortSignal) => Promise<R>;
}

/**
 * Serves an operation that takes or sends bytes. What decides about the request runs in its share and within its deadline;
 * the bytes pass afterwards for as long as they come, until the caller leaves, the server stops, or the right ends. Returns
 * the reply that is left to be sent; null if it was.
 */
export async function passBytes<R extends Passing<R>>(
  request: FastifyRequest,
  reply: FastifyReply,
  serve: () => Promise<R>,
  right: StreamRight,
): Promise<R | null> {
  const { takesBytes = false } = request.routeOptions.config;
  const { ending, watchRight, release } = holdStream(request, reply, right, LIMITS);
  if (takesBytes) receiveWithoutLimit(request.raw);
  try {
    const made = await serve();
    const { bytes, later } = made;
    if (bytes === undefined && later === undefined) {
      release();
      return made;
    }
    watchRight();
    if (later !== undefined) return await later(ending.signal);
    if (ending.signal.aborted) {
      bytes?.destroy();
      return null;
    }
    ending.signal.addEventListener('abort', () => bytes?.destroy());
    reply.code(made.status).headers(made.headers);
    releaseWritten(reply.raw);
    void reply.send(bytes);
    return null;
  } catch (error) {
    release();
    if (takesBytes) refuseUnread(request.raw);
    throw error;
  }
}
