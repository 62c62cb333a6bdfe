import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../../problem.ts';
import { BODY_LIMIT_BYTES } from '../server/config.ts';
import { parseStrictJson } from './strict-json.ts';

/** A request body: the bytes for comparison, the value for validation. */
export interface ReadBody {
  readonly raw: Buffer;
  readonly value: unknown;
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;

/** Makes the server read JSON with the strict reader only; other content types are 415. */
export function useStrictBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // After authentication and all other checks that need no body.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (expectsContinue(request.headers)) inviteBody(request.headers, reply.raw);
    done();
  });
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, raw, done) => {
    try {
      done(null, readBody(request.headers, Buffer.from(raw)));
    } catch (error) {
      done(error instanceof Error ? error : new Error('unreadable body'));
    }
  });
}

function expectsContinue({ expect }: IncomingHttpHeaders): boolean {
  return expect?.toLowerCase() === '100-continue';
}

/** Sends `100 Continue` unless the announced body is too large. */
function inviteBody(headers: IncomingHttpHeaders, response: ServerResponse): void {
  if (Number(headers['content-length'] ?? 0) <= BODY_LIMIT_BYTES) response.writeContinue();
}

function readBody(headers: Readonly<Record<string, unknown>>, raw: Buffer): ReadBody {
  const type = headers['content-type'];
  if (typeof type !== 'string' || !JSON_TYPE.test(type)) throw unsupportedMediaType();
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  const parsed = parseStrictJson(raw);
  if (!parsed.ok) throw new Problem('malformed_json', parsed.reason);
  return { raw, value: parsed.value };
}

export function unsupportedMediaType(): Problem {
  return new Problem(
    'unsupported_media_type',
    'Send the body as JSON, with Content-Type: application/json (charset utf-8).',
  );
}

/** The body that the parser left, for an operation that needs one. */
export function bodyOf(body: unknown): ReadBody {
  if (isReadBody(body)) return body;
  throw new Problem('malformed_json', 'The body is empty; a JSON object is expected.');
}

function isReadBody(body: unknown): body is ReadBody {
  return typeof body === 'object' && body !== null && 'raw' in body && 'value' in body;
}
