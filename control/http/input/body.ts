import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MOST } from '@portcullis/contract/body-limits.ts';
import { Problem } from '../../problem.ts';

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
    if (expectsContinue(request.headers)) inviteBody(request, reply.raw);
    done();
  });
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, raw, done) => {
    try {
      const { maxValues = MOST.values } = request.routeOptions.config;
      done(null, readBody(request.headers, Buffer.from(raw), maxValues));
    } catch (error) {
      done(error instanceof Error ? error : new Error('unreadable body'));
    }
  });
}

function expectsContinue({ expect }: IncomingHttpHeaders): boolean {
  return expect?.toLowerCase() === '100-continue';
}

/** Sends `100 Continue` unless the announced body is too large. */
function inviteBody({ headers, routeOptions }: FastifyRequest, response: ServerResponse): void {
  const { bodyLimit } = routeOptions;
  if (Number(headers['content-length'] ?? 0) <= bodyLimit) response.writeContinue();
}

function readBody(
  headers: Readonly<Record<string, unknown>>,
  raw: Buffer,
  maxValues: number,
): ReadBody {
  const type = headers['content-type'];
  if (typeof type !== 'string' || !JSON_TYPE.test(type)) throw unsupportedMediaType();
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  return { raw, value: parseBody(raw, maxValues) };
}

/** The deepest nesting, enough for every body of the contract and for the stack of what reads it. */
const MAX_DEPTH = 32;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses JSON; of a key that is repeated in an object the last value counts. */
function parseBody(raw: Buffer, maxValues: number): unknown {
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
  if (countValues(value, maxValues, MAX_DEPTH) < 0) {
    throw new Problem(
      'payload_too_large',
      `The body has more than ${maxValues} values, and this operation reads no more. Send it in parts.`,
    );
  }
  return value;
}

/**
 * What is left of the number of values that a body may have, below 0 if it has more. Stops there, so that all later
 * checks see a bounded value. Throws `malformed_json` for one that nests too deep.
 */
function countValues(value: unknown, left: number, levels: number): number {
  if (typeof value !== 'object' || value === null) return left - 1;
  if (levels === 0) throw malformed(`The JSON nests deeper than ${MAX_DEPTH} levels.`);
  let rest = left - 1;
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    if (rest < 0) return rest;
    rest = countValues(item, rest, levels - 1);
  }
  return rest;
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
