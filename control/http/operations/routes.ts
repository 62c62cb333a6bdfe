import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type Endpoint,
  type OperatorEndpoint,
  type PortalEndpoint,
  ROLES,
} from '@portcullis/contract/endpoint.ts';
import { bodyLimitOf } from '@portcullis/contract/body-limits.ts';
import { PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import {
  type Access,
  type Caller,
  type OperatorKey,
  type Person,
  subscriberBlock,
  unauthenticated,
} from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { bodyOf } from '../input/body.ts';
import { clientAddress } from '../server/listener.ts';
import { Deadline } from './transaction.ts';
import {
  type Admitted,
  dispatch,
  type Incoming,
  openStream,
  type Operation,
  type Right,
} from './dispatch.ts';
import { addStreams, sendStream, type StreamRight } from './event-stream.ts';
import { noAttack, notHeld, notSeen } from './not-found.ts';
import { sendReply } from './problem-reply.ts';
import { entityTag, namesTag } from './etag.ts';
import { bindOperations, type Handlers } from './handlers.ts';
import { invalidValue, Problem } from '../../problem.ts';
import type { OperationRow, Reply } from './operation.ts';
import type { RequestTrace } from '../../tracing.ts';
import { queryValidator } from '../input/query.ts';
import type { RateLimited, RateLimiter } from './rate-limit.ts';
import type { Shares } from './shares.ts';
import { bodyValidator } from '../input/validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly operationId?: string;
    /** The values that a body may have; see `bodyLimitOf`. */
    readonly maxValues?: number;
    /** Default true. */
    readonly takesBody?: boolean;
  }
  interface FastifyRequest {
    /** Set when the request arrives. */
    deadline: Deadline;
    /** Set once the request is authenticated. */
    caller: Caller | null;
    /** The signed-in person; null for a key. */
    person: Person | null;
    /** The key of the operator; null for others. */
    operatorKey: OperatorKey | null;
    /** Null where requests are not traced. */
    trace: RequestTrace | null;
    /** The path's `ip` in its one spelling; empty for paths without one. */
    address: string;
    /** The path's `slice`, a uuid; empty for paths without one. */
    gameServer: string;
    /** The path's `attack`, a whole number; 0 for paths without one. */
    attack: number;
  }
}

export interface RouteDeps {
  readonly db: Db;
  readonly access: Omit<Access, 'forget' | 'stop'>;
  readonly handlers: Handlers;
  readonly rateLimiter: RateLimiter;
  readonly shares: Shares;
  /** Of rows for operators, who wait behind no tenant. Default: that of all rows. */
  readonly operatorDb?: Db;
  /** The time that the server may spend on a request. */
  readonly deadlineMs: number;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Creates a route for every endpoint row, with all common checks. */
export function registerOperations(app: FastifyInstance, deps: RouteDeps): void {
  app.decorateRequest('deadline');
  app.decorateRequest('caller', null);
  app.decorateRequest('person', null);
  app.decorateRequest('operatorKey', null);
  app.decorateRequest('address', '');
  app.decorateRequest('gameServer', '');
  app.decorateRequest('attack', 0);
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
  const admitted = await deadline.limit(identify(operation, deps, request));
  request.caller = admitted.caller;
  request.person = admitted.person;
  request.operatorKey = admitted.operatorKey;
  if (isForSessions(operation)) requireSameSite(request);
  reply.headers(deps.rateLimiter.take(...limitsOf(request)));
  authorise(operation.row, request);
  refuseConditions(operation.row, request);
  const ip = paramOf(request, 'ip');
  if (ip !== undefined) {
    const address = canonicalAddress(ip);
    if (address === null) throw notHeld();
    request.address = address;
  }
  const slice = paramOf(request, 'slice');
  if (slice !== undefined) {
    if (!UUID.test(slice)) throw notSeen();
    request.gameServer = slice.toLowerCase();
  }
  const attack = paramOf(request, 'attack');
  if (attack !== undefined) {
    if (!/^[1-9]\d{0,14}$/.test(attack)) throw noAttack();
    request.attack = Number(attack);
  }
}

/** Requests a minute of a key of the operator, of a person without an organisation, and of a source without a session, such as sign-ins. */
const OPERATOR_LIMIT = 6_000;
const PERSON_LIMIT = 600;
const SOURCE_LIMIT = 60;
/**
 * An organisation may have any number of keys and members: together they may send this many times what one may. Owners
 * count on their own, so that no flood of those keeps them from ending it.
 */
const KEYS_OF_ORGANISATION = 5;

function limitsOf({ caller, person, operatorKey, ip }: FastifyRequest): RateLimited[] {
  if (caller !== null) {
    const { keyId, organisationId, organisation } = caller;
    const { requestsPerMinute } = organisation.limits;
    const all = requestsPerMinute * KEYS_OF_ORGANISATION;
    if (person?.role === 'owner') return [{ keyId, requestsPerMinute, name: 'person' }];
    return [
      { keyId, requestsPerMinute, name: person === null ? 'key' : 'person' },
      { keyId: `organisation ${organisationId}`, requestsPerMinute: all, name: 'organisation' },
    ];
  }
  if (operatorKey !== null) {
    return [{ keyId: operatorKey.keyId, requestsPerMinute: OPERATOR_LIMIT, name: 'key' }];
  }
  if (person !== null) {
    return [{ keyId: `person ${person.id}`, requestsPerMinute: PERSON_LIMIT, name: 'person' }];
  }
  const keyId = `source ${subscriberBlock(clientAddress(ip) ?? '')}`;
  return [{ keyId, requestsPerMinute: SOURCE_LIMIT, name: 'source' }];
}

function isForSessions({ prefix }: Operation): boolean {
  return prefix.startsWith(PORTAL_PREFIX);
}

/** Who sends the request: the one reading of its credentials. `expiresAt`: null if they do not expire. */
interface Identified extends Admitted {
  readonly expiresAt: Date | null;
}

const NOBODY: Identified = { caller: null, person: null, operatorKey: null, expiresAt: null };

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
    const slug = paramsOf(request)['organisation'] ?? null;
    const session =
      now === null
        ? access.authenticateSession(cookie, slug, clientAddress(request.ip) ?? '')
        : access.authenticateSessionAgain(now, cookie, slug);
    return { ...(await session), operatorKey: null };
  }
  const source = clientAddress(request.ip) ?? '';
  const holder =
    now === null
      ? access.authenticate(authorization, source)
      : access.authenticateAgain(now, authorization, source);
  return { ...(await holder), person: null };
}

/** The right by which the request was admitted; null for what anybody may call. */
function rightOf(operation: Operation, deps: RouteDeps, request: FastifyRequest): Right | null {
  const { caller, person, operatorKey } = request;
  const holderId = (caller ?? operatorKey)?.keyId ?? (person === null ? null : -person.id);
  if (holderId === null) return null;
  return {
    holderId,
    async recheck(now) {
      const { expiresAt: _, ...admitted } = await identify(operation, deps, request, now);
      authorise(operation.row, admitted);
      return admitted;
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
  const { caller, person, source, deadline } = incoming;
  const isOperator = isForOperators(row);
  const waits = row.write === 'instructs' || row.waits === true;
  const share = { caller, person, isOperator, source, waits, request: deadline };
  const db = isOperator ? (deps.operatorDb ?? deps.db) : deps.db;
  const made = await deadline.limit(
    deps.shares.run(share, () => dispatch(operation, db, incoming)),
  );
  return sendReply(reply, row.write !== false ? made : conditional(request, made));
}

/** The request with its input validated. */
function incomingOf(operation: Operation, deps: RouteDeps, request: FastifyRequest): Incoming {
  const mark = request.url.indexOf('?');
  const query = mark === -1 ? '' : request.url.slice(mark + 1);
  const body = operation.validateBody === null ? null : bodyOf(request.body);
  const keyHeader =
    operation.row.idempotent === true ? request.headers['idempotency-key'] : undefined;
  return {
    deadline: request.deadline,
    ability: 'ability' in operation.row ? operation.row.ability : null,
    caller: request.caller,
    person: request.person,
    operatorKey: request.operatorKey,
    right: rightOf(operation, deps, request),
    params: paramsOf(request),
    requestId: request.id,
    traceparent: request.trace?.traceparent ?? null,
    source: clientAddress(request.ip),
    userAgent: request.headers['user-agent'] ?? null,
    cookies: request.headers.cookie,
    ip: request.address,
    server: request.gameServer,
    attack: request.attack,
    ifMatch: request.headers['if-match'] ?? null,
    ifNoneMatch: request.headers['if-none-match'] ?? null,
    lastEventId: lastEventIdOf(request),
    query: operation.validateQuery(query),
    body: operation.validateBody?.(body?.value) ?? null,
    once:
      keyHeader === undefined
        ? null
        : {
            keyHeader,
            method: request.method,
            path: canonicalPath(operation, request),
            rawBody: body?.raw ?? new Uint8Array(),
          },
  };
}

function isForOperators(row: OperationRow): boolean {
  return 'operator' in row || ('role' in row && row.role === 'operator');
}

/** A stream keeps the caller that opened it, so it ends when the rights of the caller change too. */
function streamRight(operation: Operation, deps: RouteDeps, request: FastifyRequest): StreamRight {
  const { caller } = request;
  if (caller === null) throw new Error('a stream was reached without a caller');
  return {
    callerId: caller.keyId,
    organisationId: caller.organisationId,
    async check() {
      const present = await identify(operation, deps, request, deps.db);
      authorise(operation.row, present);
      if (!isDeepStrictEqual(reachOf(present.caller), reachOf(caller))) {
        throw unauthenticated('The rights of the caller changed.');
      }
      return present.expiresAt;
    },
    onChange: (listener) => deps.access.onChange(listener),
  };
}

function reachOf(caller: Caller | null) {
  if (caller === null) return null;
  const { organisationId, abilities, prefixes, servers } = caller;
  return { organisationId, abilities, prefixes, servers };
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
  const values: Readonly<Record<string, string>> = {
    ...paramsOf(request),
    ip: request.address,
    slice: request.gameServer,
    attack: String(request.attack),
  };
  return (prefix + row.path).replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
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

function paramOf(request: FastifyRequest, name: 'ip' | 'slice' | 'attack'): string | undefined {
  const params = paramsOf(request);
  return Object.hasOwn(params, name) ? params[name] : undefined;
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  return Object(request.params) as Readonly<Record<string, string>>;
}

/** No handler decides who may call it: the row of the endpoint does. */
function authorise(row: OperationRow, { caller, person, operatorKey }: Admitted): void {
  if ('role' in row) return requireRole(row.role, person);
  if ('operator' in row) return requireOperator(row.operator, operatorKey, person);
  if (caller !== null) return requireAbility(row, caller);
  throw new Problem(
    'ability_missing',
    "This key is the operator's, for /api/operator: here, use a key of the organisation.",
  );
}

function requireOperator(
  ability: OperatorEndpoint['operator'],
  key: OperatorKey | null,
  person: Person | null,
): void {
  if (person !== null) return requireRole('operator', person);
  if (key?.abilities.has(ability) === true) return;
  const detail =
    key === null
      ? 'This key is of an organisation: only a key of the operator may do this.'
      : `This key lacks the ability ${ability}. Use a key that has it.`;
  throw new Problem('ability_missing', detail);
}

function requireRole(role: PortalEndpoint['role'], person: Person | null): void {
  if (role === 'anyone' || (role === 'user' && person !== null)) return;
  if (role === 'operator') {
    if (person?.isOperator === true) return;
    throw new Problem('role_missing', 'Only an operator may do this.');
  }
  const rank = (one: string | null | undefined): number => ROLES.findIndex((each) => each === one);
  if (rank(person?.role) >= rank(role)) return;
  throw new Problem('role_missing', `This needs the role ${role} in the organisation.`);
}

/** Flag first, then ability. Flags close an area for keys only; a person may see all of its organisation. */
function requireAbility(row: Pick<Endpoint, 'ability' | 'flag'>, caller: Caller): void {
  if (row.ability === null) return;
  const { person } = caller;
  if (person !== undefined) {
    if (caller.abilities.has(row.ability)) return;
    throw new Problem(
      'ability_missing',
      `The role ${person.role} does not have the ability ${row.ability}.`,
    );
  }
  if (row.flag !== null && !caller.organisation.flags.has(row.flag)) {
    throw new Problem(
      'area_not_enabled',
      `This area is not enabled for the organisation (${row.flag}). The operator's staff enable it on request.`,
    );
  }
  if (!caller.abilities.has(row.ability)) {
    throw new Problem(
      'ability_missing',
      `This key lacks the ability ${row.ability}. Use a key that has it.`,
    );
  }
}
