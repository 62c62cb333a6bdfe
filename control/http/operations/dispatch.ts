import type { Ability } from '@portcullis/contract/endpoint.ts';
import { sql } from 'kysely';
import { type Caller, findHolding, seesServer } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { type FieldError, Problem } from '../../problem.ts';
import { entityTag } from './etag.ts';
import {
  answerOnce,
  hashBody,
  type IdempotentRequest,
  instructOnce,
  parseIdempotencyKey,
} from './idempotency.ts';
import { notHeld, notSeen } from './not-found.ts';
import type { Answer, Call, OperationHandler, OperationRow, Reply } from './operation.ts';
import type { ValidateQuery } from '../input/query.ts';
import { type Deadline, runTransaction } from './transaction.ts';
import type { Validate, Validated } from '../input/validation.ts';

/** An endpoint row with its compiled validators. */
export interface Operation {
  readonly row: OperationRow;
  /** The prefix of the version. */
  readonly prefix: string;
  readonly handler: OperationHandler;
  readonly validateQuery: ValidateQuery;
  readonly validateBody: Validate | null;
}

/** An authenticated and authorised request with its validation results. */
export interface Incoming extends Omit<Call, 'caller' | 'body' | 'query' | 'afterCommit'> {
  /** Null for an operator, and for a person without an organisation. */
  readonly caller: Caller | null;
  /** Null for a person. */
  readonly ability: Ability | null;
  readonly query: Validated;
  /** Null for an operation without a body. */
  readonly body: Validated | null;
  /** Null without an `Idempotency-Key`, or if the operation does not accept it. */
  readonly once: IdempotentCall | null;
  readonly deadline: Deadline;
  /** Null where requests are not traced. */
  readonly traceparent: string | null;
}

/** The identity of an idempotent request, besides its caller. */
export interface IdempotentCall {
  readonly keyHeader: string | string[];
  readonly method: string;
  /** Canonical, so that another spelling of an address is the same request. */
  readonly path: string;
  readonly rawBody: Uint8Array;
}

/**
 * Runs the handler: a read on the pool, a write in its own transaction. Invalid input is reported only to a caller that
 * holds the address or sees the server, so 404 comes before 422. With valid input the handler checks it in its own
 * query, which saves a round trip.
 */
export async function dispatch(operation: Operation, db: Db, incoming: Incoming): Promise<Reply> {
  const { handler } = operation;
  if (handler.kind === 'stream') throw new Error('a stream is not dispatched');
  if (handler.kind === 'read') {
    const call = await requireValidCall(db, incoming, []);
    return toReply(await handler.run(call, db));
  }
  if (handler.kind === 'instruct') {
    const run = async () =>
      toReply(await handler.run(await requireValidCall(db, incoming, []), db));
    const { once } = incoming;
    if (once === null) return run();
    await requireSubject(db, incoming);
    return instructOnce(db, idempotentRequest(incoming, once), run);
  }
  const { once } = incoming;
  const effects: Effect[] = [];
  const write = async (tx: Tx) => {
    effects.length = 0;
    const call = await requireValidCall(tx, incoming, effects);
    return toReply(await handler.run(call, tx));
  };
  const { traceparent } = incoming;
  const reply = await runTransaction(db, incoming.deadline, async (tx) => {
    if (traceparent !== null) {
      await sql`select set_config('portcullis.traceparent', ${traceparent}, true)`.execute(tx);
    }
    if (once === null) return write(tx);
    await requireSubject(tx, incoming);
    return answerOnce(tx, idempotentRequest(incoming, once), () => write(tx));
  });
  if (reply.status < 400) for (const effect of effects) effect();
  return reply;
}

type Effect = () => void;

/** The text of a stream, whose input is checked like that of a read. */
export async function openStream(
  operation: Operation,
  db: Db,
  incoming: Incoming,
  ending: AbortController,
): Promise<AsyncGenerator<string, void>> {
  if (operation.handler.kind !== 'stream') throw new Error('this operation is no stream');
  return operation.handler.run(await requireValidCall(db, incoming, []), ending);
}

/** The call with valid input; otherwise 404 or 422, in that order. */
async function requireValidCall(
  db: Db | Tx,
  incoming: Incoming,
  effects: Effect[],
): Promise<Call<never, never>> {
  const { query, body, once: _, ability: __, deadline: ___, traceparent: ____, ...rest } = incoming;
  const wrong = [query, body].filter((part) => part !== null && !part.ok);
  if (wrong.length > 0) {
    await requireSubject(db, incoming);
    throw invalidInput(wrong);
  }
  // The row's validators accepted the values, so they have the types of its handler.
  const values = { query: query.ok && query.value, body: body?.ok === true ? body.value : null };
  return {
    ...rest,
    // Only operations without an organisation have none, and their handlers use the person.
    caller: rest.caller as Caller,
    afterCommit: (effect) => void effects.push(effect),
    ...(values as { query: never; body: never }),
  };
}

function invalidInput(parts: readonly Validated[]): Problem {
  const bad = parts.filter((part) => !part.ok);
  const errors = bad.flatMap((part) => part.errors);
  if (bad.every((part) => part.tooMany)) {
    const where = bad.flatMap((part) => part.errors.map(describe)).join(', ');
    return new Problem('limit_exceeded', `Too much for one request: ${where}. Send it in parts.`, {
      errors,
    });
  }
  const [only, ...others] = errors;
  const detail =
    only !== undefined && others.length === 0
      ? `The request does not fit what this operation takes: ${describe(only)}.`
      : 'The request does not fit what this operation takes; errors says where.';
  return new Problem('invalid_request', detail, { errors });
}

function describe(error: FieldError): string {
  const where = 'pointer' in error ? error.pointer.slice(1) : error.parameter;
  return `${where === '' ? 'the body' : where} ${error.detail}`;
}

function idempotentRequest(
  { caller, operatorKey, person }: Pick<Incoming, 'caller' | 'operatorKey' | 'person'>,
  once: IdempotentCall,
): IdempotentRequest {
  return {
    keyId: (caller ?? operatorKey)?.keyId ?? -(person?.id ?? 0),
    method: once.method,
    path: once.path,
    idempotencyKey: parseIdempotencyKey(once.keyHeader),
    bodyHash: hashBody(once.rawBody),
  };
}

/** 404 unless the caller holds the path's address or reaches its server. */
async function requireSubject(
  db: Db | Tx,
  call: Pick<Incoming, 'caller' | 'ip' | 'server' | 'ability'>,
): Promise<void> {
  const { caller, ip, server, ability } = call;
  if (caller === null) return;
  if (ip !== '' && (await findHolding(db, caller, ip)) === null) throw notHeld();
  const needed = ability ?? 'game-servers.read';
  if (server !== '' && !(await seesServer(db, caller, needed, server))) throw notSeen();
}

function toReply({ status, body, remembered, state, headers: own }: Answer): Reply {
  const payload = Buffer.from(JSON.stringify(body));
  const headers: Record<string, string | string[]> = {
    ...own,
    'content-type': 'application/json; charset=utf-8',
  };
  if (state !== undefined) headers['etag'] = entityTag(payload, state);
  return {
    status,
    headers,
    payload,
    ...(remembered && { remembered: Buffer.from(JSON.stringify(remembered)) }),
  };
}
