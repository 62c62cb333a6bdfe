import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { lingerAfter } from '@portcullis/link/linger.ts';
import { gzipTag, takesGzip } from '../operations/etag.ts';

const compress = promisify(gzip);
/** A smaller body fits into one packet anyway. */
const COMPRESSED_FROM_BYTES = 1_400;
const COMPRESSIBLE = /^application\/(?:problem\+)?json\b/;

/** Headers for caches on every response, compression where it is accepted, and the end of unread requests. */
export function addResponseHooks(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-cache');
    if (!reply.hasHeader('vary')) reply.header('vary', 'Authorization, Cookie, Accept-Encoding');
    if (isLeftUnread(request, reply.statusCode)) {
      reply.header('connection', 'close');
      lingerAfter(request.raw);
    }
    return compressed(request, reply, payload);
  });
}

async function compressed(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (!Buffer.isBuffer(payload) || payload.length < COMPRESSED_FROM_BYTES) return payload;
  if (reply.hasHeader('content-encoding') || !takesGzip(request.headers['accept-encoding']))
    return payload;
  if (!COMPRESSIBLE.test(String(reply.getHeader('content-type') ?? ''))) return payload;
  const etag = reply.getHeader('etag');
  if (typeof etag === 'string') reply.header('etag', gzipTag(etag));
  reply.header('content-encoding', 'gzip');
  reply.removeHeader('content-length');
  return compress(payload, { level: 1 });
}

/** The bytes for which a connection is kept, though nobody reads it. */
const READ_ANYWAY_BYTES = 16 * 1024;

/**
 * The server reads no body of an unauthenticated request, and no large one of a refused one; the connection ends
 * instead.
 */
function isLeftUnread({ headers, raw, routeOptions }: FastifyRequest, status: number): boolean {
  if (status < 400 || raw.complete) return false;
  // The rest of its body is read for a while.
  if (routeOptions.config.takesBytes === true && status !== 401) return false;
  const length =
    headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
  return length > (status === 401 ? 0 : READ_ANYWAY_BYTES);
}
