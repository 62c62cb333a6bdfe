import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bodyLimitOf } from '@portcullis/contract/body-limits.ts';
import { PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import {
  type Access,
  type Caller,
  holderIdOf,
  type Identity,
  isCaller,
  unauthenticated,
} from '../../access/index.ts';
import { subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import type { Db, Tx } from '../../db/database.ts';
import { asBytes, bodyOf, bytesOf } from '../input/body.ts';
import { clientAddress } from '../input/client-address.ts';
import { Deadline } from './transaction.ts';
import { authorise } from './authorise.ts';
import {
  dispatch,
  type Incoming,
  isDryRun,
  openStream,
  type Operation,
  type Right,
} from './dispatch.ts';
import { passBytes } from '../streams/byte-stream.ts';
import { sendStream } from '../streams/event-stream.ts';
import { addStreams, type StreamRight } from '../streams/open-streams.ts';
import { parsePathParams, type PathParams } from './path-params.ts';
import { sendReply } from './problem-reply.ts';
import { entityTag, namesTag } from './etag.ts';
import { bindOperations, type Handlers } from './handlers.ts';
import { invalidValue, Problem } from '../../problem.ts';
import type { OperationRow, Reply } from './operation.ts';
import type { RequestTrace } from '../../tracing.ts';
import { queryValidator } from '../input/query.ts';
import type { RateLimited, RateLimiter } from './rate-limit.ts';
import { isOwner, type Shares } from './shares.ts';
import { bodyValidator, type Validated } from '../input/validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly operationId?: string;
    /** The values that a body may have; see `bodyLimitOf`. */
    readonly maxValues?: number;
    /** Default true. */
    readonly takesBody?: boolean;
    /** The body is not read but passed on; default false. */
    readonly takesBytes?: boolean;
  }
  interface FastifyRequest {
    /** Set when the request arrives. */
    deadline: Deadline;
    /** The sender, once it is authenticated; null for an operation that anybody may call. */
    by: Identity | null;
    /** Null where requests are not traced. */
    trace: RequestTrace | null;
    /** The parameters of the path, once the request is authorised. */
    pathParams: PathParams;
  }
}

export interface RouteDeps {
  readonly db: Db;
  readonly access: Omit<Access, 'forget' | 'stop'>;
  readonly handlers: Handlers;
  readonly rateLimiter: RateLimiter;
  readonly shares: Shares;
  /** The database of rows for operators, who wait behind no tenant. Default: that of all rows. */
  readonly operatorDb?: Db;
  /** The time that the server may spend on a request. */
  readonly deadlineMs: number;
}

/** Creates a route for every endpoint row, with all common checks. */
export function registerOperations(app: FastifyInstance, deps: RouteDeps): void {
  app.decorateRequest('deadline');
  app.decorateRequest('by', null);
  app.decorateRequest('pathParams');
  addStreams(app);
  for (const { prefix, row, handler } of bindOperations(deps.handlers)) {
    const operation: Operation = {
      row,
      prefix,
      handler,
      validateQuery: queryValidator(row.query),
      validateBody: row.body === undefined ? null : bodyValidator(row.body),
    };
    const limit = bodyLimitOf(row);
    app.route({
      method: row.method,
      bodyLimit: limit.bytes,
      url: `${prefix}${row.path}`.replace(/\{(\w+)\}/g, ':$1'),
      config: {
        operationId: row.operationId,
        maxValues: limit.values,
        takesBody: row.body !== undefined,
        takesBytes: row.takesBytes === true,
      },
      onRequest: async (request, reply) => admit(operation, deps, request, reply),
      handler: async (request, reply) => answer(operation, deps, request, reply),
    });
  }
}

/** All checks before the body is read: 401, 429, 403, invalid addresses and servers. */
async function admit(
  operation: Operation,
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const deadline = new Deadline(deps.deadlineMs);
  request.deadline = deadline;
  reply.raw.once('close', () => deadline.end());
  const { by } = await deadline.limit(identify(operation, deps, request));
  request.by = by;
  if (isForSessions(operation)) requireSameSite(request);
  reply.headers(deps.rateLimiter.take(...limitsOf(by, request)));
  authorise(neededBy(operation, request), by);
  refuseConditions(operation.row, request);
  if (operation.row.takesBytes === true) asBytes(request);
  request.pathParams = parsePathParams(operation.row, sentParams(request));
}

/**
 * Requests a minute of a key of the operator and of an operator, whose pages read many lists at once; of another person
 * without an organisation; and of a source without a session, such as sign-ins.
 */
const OPERATOR_LIMIT = 6_000;
const PERSON_LIMIT = 600;
const SOURCE_LIMIT = 60;
/**
 * An organisation may have any number of keys and members: together they may send this many times what one may. Owners
 * count on their own, so that no flood of those keeps them from ending it.
 */
const KEYS_OF_ORGANISATION = 5;

function limitsOf(by: Identity | null, { ip }: FastifyRequest): RateLimited[] {
  if (isCaller(by)) {
    const { organisationId, organisation } = by;
    const { requestsPerMinute } = organisation.limits;
    const keyId = holderIdOf(by);
    const all = requestsPerMinute * KEYS_OF_ORGANISATION;
    if (isOwner(by)) return [{ keyId, requestsPerMinute, name: 'person' }];
    return [
      { keyId, requestsPerMinute, name: by.kind === 'key' ? 'key' : 'person' },
      { keyId: `organisation ${organisationId}`, requestsPerMinute: all, name: 'organisation' },
    ];
  }
  if (by?.kind === 'operator-key') {
    return [{ keyId: by.keyId, requestsPerMinute: OPERATOR_LIMIT, name: 'key' }];
  }
  if (by !== null) {
    const requestsPerMinute = by.isOperator ? OPERATOR_LIMIT : PERSON_LIMIT;
    return [{ keyId: `person ${by.id}`, requestsPerMinute, name: 'person' }];
  }
  const keyId = `source ${subscriberBlock(clientAddress(ip) ?? '')}`;
  return [{ keyId, requestsPerMinute: SOURCE_LIMIT, name: 'source' }];
}

function isForSessions({ prefix }: Operation): boolean {
  return prefix.startsWith(PORTAL_PREFIX);
}

/** The sender of the request: the one reading of its credentials. `expiresAt`: null if they do not expire. */
interface Identified {
  /** Null for an operation that anybody may call. */
  readonly by: Identity | null;
  readonly expiresAt: Date | null;
}

const NOBODY: Identified = { by: null, expiresAt: null };

/** `now`: reads the present state by this connection; without it, a key may have been read up to a second ago. */
async function identify(
  operation: Operation,
  { access }: Pick<RouteDeps, 'access'>,
  request: FastifyRequest,
  now: Db | Tx | null = null,
): Promise<Identified> {
  const { row } = operation;
  if ('role' in row && row.role === 'anyone') return NOBODY;
  const { authorization, cookie } = request.headers;
  if (isForSessions(operation)) {
    // An operator's row may name an organisation, of which the operator need not be a member.
    const slug = 'operator' in row ? null : (sentParams(request)['organisation'] ?? null);
    return now === null
      ? access.authenticateSession(cookie, slug, clientAddress(request.ip) ?? '')
      : access.authenticateSessionAgain(now, cookie, slug);
  }
  const source = clientAddress(request.ip) ?? '';
  return now === null
    ? access.authenticate(authorization, source)
    : access.authenticateAgain(now, authorization, source);
}

/** The right by which the request was admitted; null for what anybody may call. */
function rightOf(operation: Operation, deps: RouteDeps, request: FastifyRequest): Right | null {
  if (request.by === null) return null;
  return {
    holderId: holderIdOf(request.by),
    async recheck(now) {
      const { by } = await identify(operation, deps, request, now);
      authorise(neededBy(operation, request), by);
      return by;
    },
  };
}

/** Browsers send cookies with requests of other sites too, but not this header nor this value. */
function requireSameSite({ method, headers }: FastifyRequest): void {
  if (method === 'GET' || method === 'HEAD') return;
  if (headers['x-portcullis-csrf'] === '1' || headers['sec-fetch-site'] === 'same-origin') return;
  throw new Problem(
    'cross_site_request',
    'A request with a session needs "Sec-Fetch-Site: same-origin" or "X-Portcullis-CSRF: 1".',
  );
}

async function answer(
  operation: Operation,
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const incoming = incomingOf(operation, deps, request);
  if (operation.row.stream === true) {
    const open = (ending: AbortController) => openStream(operation, deps.db, incoming, ending);
    return sendStream(request, reply, open, streamRight(operation, deps, request));
  }
  const { row } = operation;
  const { by, source, deadline } = incoming;
  const isOperator = isForOperators(row);
  const waits = row.write === 'instructs' || row.waits === true;
  const share = { by, isOperator, source, waits, request: deadline };
  const db = isOperator ? (deps.operatorDb ?? deps.db) : deps.db;
  const serve = () =>
    deadline.limit(deps.shares.run(share, () => dispatch(operation, db, incoming)));
  if (row.takesBytes === true || row.sendsBytes === true) {
    const made = await passBytes(request, reply, serve, streamRight(operation, deps, request));
    return made === null ? reply : sendReply(reply, conditionalRead(row, request, made));
  }
  return sendReply(reply, conditionalRead(row, request, await serve()));
}

function conditionalRead(
  { write }: OperationRow,
  request: FastifyRequest,
  made: Reply,
): Parameters<typeof sendReply>[1] {
  return write === false ? conditional(request, made) : made;
}

function queryOf({ validateQuery }: Operation, request: FastifyRequest): Validated {
  return validateQuery(textOfQuery(request));
}

function textOfQuery({ url }: FastifyRequest): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

/** The row with the ability that the request needs: a dry run needs another one. */
function neededBy(operation: Operation, request: FastifyRequest): OperationRow {
  const { row } = operation;
  const { dryRun: ability } = row;
  if (ability === undefined || !('ability' in row)) return row;
  return isDryRun(row, queryOf(operation, request)) ? { ...row, ability } : row;
}

/** The request with its input validated. */
function incomingOf(operation: Operation, deps: RouteDeps, request: FastifyRequest): Incoming {
  const body = operation.validateBody === null ? null : bodyOf(request.body);
  const keyHeader =
    operation.row.idempotent === true ? request.headers['idempotency-key'] : undefined;
  return {
    deadline: request.deadline,
    ability: 'ability' in operation.row ? operation.row.ability : null,
    by: request.by,
    right: rightOf(operation, deps, request),
    params: request.pathParams,
    requestId: request.id,
    traceparent: request.trace?.traceparent ?? null,
    source: clientAddress(request.ip),
    userAgent: request.headers['user-agent'] ?? null,
    cookies: request.headers.cookie,
    ifMatch: request.headers['if-match'] ?? null,
    ifNoneMatch: request.headers['if-none-match'] ?? null,
    lastEventId: lastEventIdOf(request),
    range: request.headers.range ?? null,
    ifRange: ifRangeOf(request),
    isHead: request.method === 'HEAD',
    bytes: operation.row.takesBytes === true ? bytesOf(request) : null,
    query: queryOf(operation, request),
    body: operation.validateBody?.(body?.value) ?? null,
    once:
      keyHeader === undefined
        ? null
        : {
            keyHeader,
            method: request.method,
            path: canonicalPath(operation, request),
            query: textOfQuery(request),
            rawBody: body?.raw ?? new Uint8Array(),
          },
  };
}

function isForOperators(row: OperationRow): boolean {
  return 'operator' in row || ('role' in row && row.role === 'operator');
}

/** A stream keeps the caller that opened it, so it ends when the rights of the caller change too. */
function streamRight(operation: Operation, deps: RouteDeps, request: FastifyRequest): StreamRight {
  const { by: caller } = request;
  if (!isCaller(caller)) throw new Error('a stream was reached without a caller');
  return {
    callerId: holderIdOf(caller),
    organisationId: caller.organisationId,
    async check() {
      const { by, expiresAt } = await identify(operation, deps, request, deps.db);
      authorise(operation.row, by);
      if (!isCaller(by) || !isDeepStrictEqual(reachOf(by), reachOf(caller))) {
        throw unauthenticated('The rights of the caller changed.');
      }
      return expiresAt;
    },
    onChange: (listener) => deps.access.onChange(listener),
  };
}

function reachOf(caller: Caller) {
  const { organisationId, abilities, prefixes, servers } = caller;
  const serverRights = caller.kind === 'key' ? null : caller.serverRights;
  return { organisationId, abilities, prefixes, servers, serverRights };
}

function ifRangeOf({ headers }: FastifyRequest): string | null {
  const value = headers['if-range'];
  return typeof value === 'string' ? value : null;
}

function lastEventIdOf({ headers }: FastifyRequest): string | null {
  const value = headers['last-event-id'];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Reads carry a strong tag; an unchanged representation is 304 without a body. */
function conditional(request: FastifyRequest, reply: Reply): Parameters<typeof sendReply>[1] {
  if (request.method !== 'GET' && request.method !== 'HEAD') return reply;
  const etag = String(reply.headers['etag'] ?? entityTag(reply.payload));
  const headers = { ...reply.headers, etag };
  const known = request.headers['if-none-match'];
  if (known === undefined || !namesTag(known, etag)) return { ...reply, headers };
  return { status: 304, headers, payload: null };
}

/** The path with its parameters in their one spelling. */
function canonicalPath({ prefix, row }: Operation, request: FastifyRequest): string {
  const values: PathParams = { ...sentParams(request), ...request.pathParams };
  return (prefix + row.path).replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}

const CONDITIONS = [
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
] as const;

/** A write under a condition that the operation does not check would be done in spite of it. */
function refuseConditions({ write, requestHeaders = [] }: OperationRow, request: FastifyRequest) {
  if (write === false) return;
  const taken: readonly string[] = requestHeaders;
  const wrong = CONDITIONS.find(
    (name) => request.headers[name.toLowerCase()] !== undefined && !taken.includes(name),
  );
  if (wrong === undefined) return;
  const detail = 'is not checked by this operation; send the request without it';
  throw invalidValue(`The header ${wrong}`, { parameter: wrong }, detail);
}

/** All parameters of the path, that of a prefix too, as sent. */
function sentParams(request: FastifyRequest): Readonly<Record<string, string>> {
  return Object(request.params) as Readonly<Record<string, string>>;
}
