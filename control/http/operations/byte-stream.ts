import type { FastifyReply, FastifyRequest } from 'fastify';
import { receiveWithoutLimit, refuseUnread } from '../server/body-time.ts';
import { holdStream, type StreamLimits, type StreamRight } from './open-streams.ts';
import type { Reply } from './operation.ts';

/** Each has two connections and some buffers. A folder is sent as several files at once. */
const LIMITS: StreamLimits = { what: 'uploads and downloads', ofCaller: 16, ofOrganisation: 64 };

/**
 * Serves an operation that takes or sends bytes. What decides about the request runs in its share and within its deadline;
 * the bytes pass afterwards for as long as they come, until the caller leaves, the server stops, or the right ends. Returns
 * the reply that is left to be sent; null if it was.
 */
export async function passBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  serve: () => Promise<Reply>,
  right: StreamRight,
): Promise<Reply | null> {
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
    ending.signal.addEventListener('abort', () => bytes?.destroy());
    reply.code(made.status).headers(made.headers);
    void reply.send(bytes);
    return null;
  } catch (error) {
    release();
    if (takesBytes) refuseUnread(request.raw);
    throw error;
  }
}
