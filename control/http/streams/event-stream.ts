import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { holdStream, type StreamLimits, type StreamRight } from './open-streams.ts';

const LIMITS: StreamLimits = { what: 'event streams', ofCaller: 20, ofOrganisation: 100 };

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Asks nginx to pass on each event at once.
  'x-accel-buffering': 'no',
};

/**
 * Sends server-sent events until the caller leaves or does not read, the server stops, or its right ends. 429
 * `rate_limited` if the caller has too many streams.
 */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  open: (ending: AbortController) => Promise<AsyncGenerator<string, void>>,
  right: StreamRight,
): Promise<FastifyReply> {
  const { ending, watchRight, release } = holdStream(request, reply, right, LIMITS);
  watchRight();
  ending.signal.addEventListener('abort', () => {
    // A caller that does not read would never receive the end.
    if (reply.raw.writableNeedDrain) reply.raw.destroy();
  });
  try {
    const texts = await open(ending);
    // Throws what the input is refused for, before anything is sent.
    const first = await texts.next();
    reply.headers(HEADERS);
    if (request.method === 'HEAD' || ending.signal.aborted) {
      await texts.return();
      return await reply.send();
    }
    return await reply.send(Readable.from(startingWith(first, texts)));
  } catch (error) {
    release();
    throw error;
  }
}

async function* startingWith(
  first: IteratorResult<string, void>,
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
