import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../../problem.ts';
import { BODY_LIMIT_BYTES } from '../server/config.ts';

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
  return { raw, value: parseBody(raw) };
}

/** The deepest nesting, enough for every body of the contract and for the stack of what reads it. */
const MAX_DEPTH = 32;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses JSON; of a key that is repeated in an object the last value counts. */
function parseBody(raw: Buffer): unknown {
  if (raw.length === 0) throw malformed('The body is empty; a JSON object is expected.');
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(raw));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw malformed('The body is not valid UTF-8.');
    // Without the content that the message quotes.
    const place = /at position \d+/.exec(error.message)?.[0];
    throw malformed(
      `The body is not JSON${place === undefined ? '' : `: unexpected content ${place}`}.`,
    );
  }
  if (nestsDeeper(value, MAX_DEPTH)) {
    throw malformed(`The JSON nests deeper than ${MAX_DEPTH} levels.`);
  }
  return value;
}

function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => nestsDeeper(item, levels - 1));
}

function malformed(detail: string): Problem {
  return new Problem('malformed_json', detail);
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
