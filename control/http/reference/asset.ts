import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { namesTag, takesGzip } from '../operations/etag.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export interface AssetOptions {
  readonly type: string;
  readonly cacheControl: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A page or file that is constant while the process runs. */
export interface Asset extends AssetOptions {
  /** The digest of the bytes, also used in URLs. */
  readonly digest: string;
  /** Compressed on the first request in the thread pool; then only that form is kept. */
  readonly gzipped: () => Promise<Buffer>;
}

export function createAsset(content: string | Buffer, options: AssetOptions): Asset {
  let plain: Buffer | null = Buffer.from(content);
  let gzipped: Promise<Buffer> | null = null;
  const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  return {
    ...options,
    digest,
    gzipped() {
      gzipped ??= compress(plain ?? Buffer.alloc(0), { level: 6 });
      plain = null;
      return gzipped;
    },
  };
}

/** Serves GET and HEAD of `url`: compressed if accepted, 304 if unchanged. */
export function serveAsset(app: FastifyInstance, url: string, asset: Asset): void {
  app.get(url, { config: { operationId: 'reference' } }, (request, reply) =>
    sendAsset(request, reply, asset),
  );
}

export async function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
): Promise<FastifyReply> {
  const etag = `"${asset.digest}"`;
  reply.headers({
    ...asset.headers,
    etag,
    'cache-control': asset.cacheControl,
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  });
  const known = request.headers['if-none-match'];
  if (known !== undefined && namesTag(known, etag)) return reply.code(304).send();
  reply.type(asset.type);
  const gzipped = await asset.gzipped();
  if (!takesGzip(request.headers['accept-encoding'])) return reply.send(await decompress(gzipped));
  return reply.header('content-encoding', 'gzip').send(gzipped);
}
