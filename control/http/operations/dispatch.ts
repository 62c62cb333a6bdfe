import type { Ability } from '@portcullis/contract/endpoint.ts';
import { rightsOfAbility, SEES } from '@portcullis/core/access/server-rights.ts';
import { sql } from 'kysely';
import {
  findHolding,
  holderIdOf,
  holdRight,
  type Identity,
  isCaller,
  seesServer,
  takeRight,
  waitForWrites,
} from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { inSnapshot } from '../../db/snapshot.ts';
import { type FieldError, Problem } from '../../problem.ts';
import { entityTag } from './etag.ts';
import {
  answerOnce,
  hashRequest,
  type IdempotentRequest,
  instructOnce,
  parseIdempotencyKey,
} from './idempotency.ts';
import { notHeld, notSeen } from './not-found.ts';
import type {
  Answer,
  BytesAnswer,
  Call,
  LaterAnswer,
  OperationHandler,
  OperationRow,
  Reply,
  UntypedCall,
  Writing,
} from './operation.ts';
import type { PathParams } from './path-params.ts';
import { requireRight } from './server-right.ts';
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
export interface Incoming
  extends Omit<Call<Identity | null, PathParams>, 'body' | 'query' | 'afterCommit' | 'endsRights'> {
  /** Null for an operation that anybody may call: its handler checks what the body proves. */
  readonly right: Right | null;
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

/** The right that admitted a request, before its body came. */
export interface Right {
  /** The id of the key, or the negative id of the person. */
  readonly holderId: number;
  /** Reads the sender and its rights again; throws what the first check would throw now. */
  recheck(db: Db | Tx): Promise<Identity | null>;
}

/** The identity of an idempotent request, besides its caller. */
export interface IdempotentCall {
  readonly keyHeader: string | string[];
  readonly method: string;
  /** Canonical, so that another spelling of an address is the same request. */
  readonly path: string;
  readonly query: string;
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
    // The body may come long after the head.
    const present = incoming.body === null ? incoming : await readRight(db, incoming);
    const call = await requireValidCall(db, present, noEffects());
    return toReply(await handler.run(call, db));
  }
  if (isDryRun(operation.row, incoming.query)) return planWrite(handler, db, incoming);
  const effects = noEffects();
  const reply = await (handler.kind === 'instruct'
    ? instruct(handler, db, incoming, effects)
    : write(handler, db, incoming, effects));
  if (reply.status < 400) {
    for (const effect of effects.afterCommit) effect();
    await waitForWrites(db, effects.endedRights);
  }
  return reply;
}

/** Whether a request asks what it would do. Then its handler reads one snapshot, in which nothing can be written. */
export function isDryRun({ dryRun }: OperationRow, query: Validated): boolean {
  return dryRun !== undefined && query.ok && Object(query.value)['dry_run'] === true;
}

async function planWrite(handler: OperationHandler, db: Db, incoming: Incoming): Promise<Reply> {
  if (handler.kind !== 'write') throw new Error('only a write has a dry run');
  const present = await readRight(db, incoming);
  return inSnapshot(db, async (tx) =>
    toReply(await handler.run(await requireValidCall(tx, present, noEffects()), tx)),
  );
}

type HandlerOf<Kind extends OperationHandler['kind']> = OperationHandler & { readonly kind: Kind };

async function instruct(
  handler: HandlerOf<'instruct'>,
  db: Db,
  incoming: Incoming,
  effects: Effects,
): Promise<Reply> {
  const present = await readRight(db, incoming);
  const run = async () => {
    const call = await requireValidCall(db, present, effects);
    const write: Writing<never>['write'] = (script, how) => {
      const attempt = (tx: Tx, { by }: Incoming) => {
        forget(effects);
        // The row authorised the sender again, so it is of the kind that its handler takes.
        return script(tx, by as never);
      };
      return runWrite(db, incoming, attempt, how === 'alone' ? takeRight : holdRight);
    };
    return toReply(await handler.run({ ...call, write }, db));
  };
  const { once } = incoming;
  if (once === null) return run();
  await requireSubject(db, present);
  return instructOnce(db, idempotentRequest(incoming, once), run);
}

function write(
  handler: HandlerOf<'write'>,
  db: Db,
  incoming: Incoming,
  effects: Effects,
): Promise<Reply> {
  const { once } = incoming;
  return runWrite(db, incoming, async (tx, present) => {
    const run = async () => {
      forget(effects);
      return toReply(await handler.run(await requireValidCall(tx, present, effects), tx));
    };
    if (once === null) return run();
    await requireSubject(tx, present);
    return answerOnce(tx, idempotentRequest(incoming, once), run);
  });
}

/**
 * The transaction of a request that writes: every one is opened here. The first check of the rights was before the
 * body, which may have taken long, and before the queue of the pool; this one counts.
 */
async function runWrite<T>(
  db: Db,
  incoming: Incoming,
  script: (tx: Tx, present: Incoming) => Promise<T>,
  claimRight: typeof holdRight = holdRight,
): Promise<T> {
  const { deadline, right, traceparent } = incoming;
  return runTransaction(db, deadline, async (tx) => {
    if (traceparent !== null) {
      await sql`select set_config('portcullis.traceparent', ${traceparent}, true)`.execute(tx);
    }
    if (right !== null) await claimRight(tx, right.holderId);
    return script(tx, await readRight(tx, incoming));
  });
}

/** The request with the rights that its caller has now. */
async function readRight(db: Db | Tx, incoming: Incoming): Promise<Incoming> {
  return incoming.right === null ? incoming : { ...incoming, by: await incoming.right.recheck(db) };
}

/** Effects that follow a commit. */
interface Effects {
  readonly afterCommit: (() => void)[];
  readonly endedRights: number[];
}

function noEffects(): Effects {
  return { afterCommit: [], endedRights: [] };
}

/** Forgets the effects of an attempt that was rolled back. */
function forget({ afterCommit, endedRights }: Effects): void {
  afterCommit.length = 0;
  endedRights.length = 0;
}

/** The text of a stream, whose input is checked like that of a read. */
export async function openStream(
  operation: Operation,
  db: Db,
  incoming: Incoming,
  ending: AbortController,
): Promise<AsyncGenerator<string, void>> {
  if (operation.handler.kind !== 'stream') throw new Error('this operation is no stream');
  return operation.handler.run(await requireValidCall(db, incoming, noEffects()), ending);
}

/** The call with valid input; otherwise 404 or 422, in that order. */
async function requireValidCall(
  db: Db | Tx,
  incoming: Incoming,
  effects: Effects,
): Promise<UntypedCall> {
  const { by, params, query, body, ...others } = incoming;
  const { once: _, ability: __, deadline: ___, traceparent: ____, right: _____, ...rest } = others;
  const wrong = [query, body].filter((part) => part !== null && !part.ok);
  if (wrong.length > 0) {
    await requireSubject(db, incoming);
    throw invalidInput(wrong);
  }
  // The row authorised the sender, and its schemas accepted the values, so they have the types of its handler.
  const values = {
    by,
    params,
    query: query.ok && query.value,
    body: body?.ok === true ? body.value : null,
  };
  return {
    ...rest,
    afterCommit: (effect) => void effects.afterCommit.push(effect),
    endsRights: (holderId) => void effects.endedRights.push(holderId),
    ...(values as Pick<UntypedCall, keyof typeof values>),
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

function idempotentRequest({ by }: Pick<Incoming, 'by'>, once: IdempotentCall): IdempotentRequest {
  return {
    keyId: by === null ? 0 : holderIdOf(by),
    method: once.method,
    path: once.path,
    idempotencyKey: parseIdempotencyKey(once.keyHeader),
    bodyHash: hashRequest(once.rawBody, once.query),
  };
}

/** 404 unless the caller holds the path's address or reaches its server; 403 for a person who may do nothing of this there. */
async function requireSubject(
  db: Db | Tx,
  { by, params: { ip, slice }, ability }: Pick<Incoming, 'by' | 'params' | 'ability'>,
): Promise<void> {
  if (!isCaller(by)) return;
  if (typeof ip === 'string' && (await findHolding(db, by, ip)) === null) throw notHeld();
  if (typeof slice !== 'string') return;
  if (!(await seesServer(db, by, slice))) throw notSeen();
  const [right = SEES, ...others] = rightsOfAbility(ability ?? 'game-servers.read');
  requireRight(by, slice, right, ...others);
}

const NO_BYTES = Buffer.alloc(0);

function toReply(outcome: Answer | BytesAnswer | LaterAnswer): Reply {
  if ('later' in outcome) {
    const later = async (ending: AbortSignal) => toReply(await outcome.later(ending));
    return { status: 200, headers: {}, payload: NO_BYTES, later };
  }
  if ('bytes' in outcome) {
    const { status, headers, bytes } = outcome;
    return { status, headers, payload: NO_BYTES, ...(bytes !== null && { bytes }) };
  }
  const { status, body, remembered, state, headers: own } = outcome;
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
