import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { STREAM_PATH } from '@portcullis/link/streams.ts';
import { receiveWithoutLimit } from '../input/body-time.ts';

/**
 * The path at which nodes of other hosts open streams of files. Its requests are of no caller: a token decides, that this
 * replica sent the node over the link.
 */
export function registerNodeStreams(
  app: FastifyInstance,
  serve: (request: IncomingMessage, response: ServerResponse) => unknown,
): void {
  app.route({
    method: ['GET', 'POST'],
    url: `${STREAM_PATH}/*`,
    exposeHeadRoute: false,
    // Before a body is read.
    onRequest: async ({ raw }, reply) => {
      reply.hijack();
      receiveWithoutLimit(raw);
      reply.raw.setHeader('x-request-id', reply.request.id);
      serve(raw, reply.raw);
    },
    handler: async () => undefined,
  });
}
