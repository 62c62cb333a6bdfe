import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MERGE_PATCH } from '@portcullis/contract/endpoint.ts';
import { MOST } from '@portcullis/contract/body-limits.ts';
import { describePlace } from '@portcullis/core/json-place.ts';
import { invalidValue, Problem } from '../../problem.ts';

/** A request body: the bytes for comparison, the value for validation. */
export interface ReadBody {
  readonly raw: Buffer;
  readonly value: unknown;
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;
/** Its definition has no charset (RFC 7396). */
const MERGE_PATCH_TYPE = /^application\/merge-patch\+json[ \t]*$/i;

/** Makes the server read JSON with the strict reader only; other content types are 415. */
export function useStrictBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // After authentication and all other checks that need no body.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (expectsContinue(request.headers)) inviteBody(request, reply.raw);
    done();
  });
  app.addContentTypeParser(BYTES, (request, payload, done) => {
    if (request.routeOptions.config.takesBytes === true) done(null, payload);
    else done(unsupportedMediaType());
  });
  const types = ['application/json', MERGE_PATCH];
  app.addContentTypeParser(types, { parseAs: 'buffer' }, (request, raw, done) => {
    try {
      const { maxValues = MOST.values, takesBody = true } = request.routeOptions.config;
      // Clients that always name a type send it with an operation that takes no body too.
      if (!takesBody && raw.length === 0) return done(null, undefined);
      const type = request.method === 'PATCH' ? MERGE_PATCH_TYPE : JSON_TYPE;
      done(null, readBody(request.headers, Buffer.from(raw), { type, maxValues }));
    } catch (error) {
      done(error instanceof Error ? error : new Error('unreadable body'));
    }
  });
}

const BYTES = 'application/octet-stream';

/** Marks the body of a request as bytes that are passed on, whatever its sender calls them. */
export function asBytes({ raw }: FastifyRequest): void {
  const { 'content-encoding': encoding } = raw.headers;
  if (encoding !== undefined && encoding !== 'identity') {
    const where = { parameter: 'Content-Encoding' };
    throw invalidValue('The header Content-Encoding', where, 'is not read: send the bytes plain');
  }
  raw.headers['content-type'] = BYTES;
}

/** The bytes of a request that `asBytes` marked. */
export function bytesOf({ body }: FastifyRequest): Readable {
  return body instanceof Readable ? body : Readable.from([]);
}

function expectsContinue({ expect }: IncomingHttpHeaders): boolean {
  return expect?.toLowerCase() === '100-continue';
}

/** Sends `100 Continue` unless the announced body is too large. */
function inviteBody({ headers, routeOptions }: FastifyRequest, response: ServerResponse): void {
  if (Number(headers['content-length'] ?? 0) <= routeOptions.bodyLimit) response.writeContinue();
}

function readBody(
  headers: Readonly<Record<string, unknown>>,
  raw: Buffer,
  wanted: { readonly type: RegExp; readonly maxValues: number },
): ReadBody {
  const type = headers['content-type'];
  if (typeof type !== 'string' || !wanted.type.test(type)) throw unsupportedMediaType();
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  return { raw, value: parseBody(raw, wanted.maxValues) };
}

/** The deepest nesting, enough for every body of the contract and for the stack of what reads it. */
const MAX_DEPTH = 32;
/** More than any object of the contract, also those with free names. */
const MAX_FIELDS = 1_000;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses JSON; of a key that is repeated in an object the last value counts. */
function parseBody(raw: Buffer, maxValues: number): unknown {
  if (raw.length === 0) throw malformed('The body is empty; a JSON object is expected.');
  requireBounded(raw, maxValues);
  const text = decode(raw);
  try {
    return JSON.parse(text);
  } catch (error) {
    // Without the content that the message quotes.
    throw malformed(`The body is not JSON${describePlace(text, error)}.`);
  }
}

function decode(raw: Buffer): string {
  try {
    return utf8.decode(raw);
  } catch {
    throw malformed('The body is not valid UTF-8.');
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Counts what a JSON text has before it is parsed, so that the parser and all later checks see a bounded value. Throws
 * `payload_too_large` for too many values, or too many fields in one object, and `malformed_json` for one that nests too
 * deep. What is no JSON is left to the parser.
 */
function requireBounded(raw: Buffer, maxValues: number): void {
  let [values, depth, isText] = [1, 0, false];
  /** Fields or items so far, at each depth; and whether it is an object. */
  const items = new Uint32Array(MAX_DEPTH + 1);
  const isObject = new Uint8Array(MAX_DEPTH + 1);
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (depth === MAX_DEPTH) throw malformed(`The JSON nests deeper than ${MAX_DEPTH} levels.`);
      depth += 1;
      values += 1;
      items[depth] = 1;
      isObject[depth] = byte === OPEN_OBJECT ? 1 : 0;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth = Math.max(0, depth - 1);
    else if (byte === COMMA) {
      values += 1;
      const count = (items[depth] ?? 0) + 1;
      items[depth] = count;
      if (isObject[depth] === 1 && count > MAX_FIELDS)
        throw tooMany(`${MAX_FIELDS} fields in one object`);
    }
    if (values > maxValues) throw tooMany(`${maxValues} values`);
  }
}

function tooMany(what: string): Problem {
  return new Problem(
    'payload_too_large',
    `The body has more than ${what}, and this operation reads no more. Send it in parts.`,
  );
}

function malformed(detail: string): Problem {
  return new Problem('malformed_json', detail);
}

export function unsupportedMediaType(): Problem {
  return new Problem(
    'unsupported_media_type',
    `Send the body as JSON, with Content-Type: application/json (charset utf-8), or ${MERGE_PATCH} with PATCH.`,
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
