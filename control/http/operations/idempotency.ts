import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { invalidValue, Problem } from '../../problem.ts';
import type { Reply } from './operation.ts';

/** How long a response is stored. */
const KEPT_HOURS = 24;

/** Visible ASCII without spaces, so that it can be logged and compared byte by byte. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** The key of a stored response and the digest of its request. */
export interface IdempotentRequest {
  /** The negative id of a person. */
  readonly keyId: number;
  readonly method: string;
  /** The path as sent, without the query. */
  readonly path: string;
  readonly idempotencyKey: string;
  /** Digest of body and query: a repetition that asks for more, such as what may be lost, is another request. */
  readonly bodyHash: Buffer;
}

/** The key of an `Idempotency-Key` header; throws `invalid_request` if invalid. */
export function parseIdempotencyKey(header: string | string[]): string {
  if (typeof header === 'string' && KEY.test(header)) return header;
  throw invalidValue(
    'The Idempotency-Key header',
    { parameter: 'Idempotency-Key' },
    'must be 1 to 255 visible ASCII characters, sent once',
  );
}

/** @param query As sent, without its mark. */
export function hashRequest(raw: Uint8Array, query: string): Buffer {
  const hash = createHash('sha256').update(raw);
  if (query !== '') hash.update(`\0${query}`);
  return hash.digest();
}

/**
 * The number of a scope's advisory lock. Callers choose the key, and PostgreSQL's own hashes are easily inverted: one could
 * take the lock of anything else.
 */
function lockOf(scope: string): string {
  return createHash('sha256').update(scope).digest().readBigInt64BE().toString();
}

/**
 * Returns the stored response of a write, or creates and stores it in the same transaction, so that a dead process
 * leaves both or neither. The advisory lock ends with the transaction. Only success is stored; after an error the key is
 * free again. Throws `idempotency_in_progress` while another transaction has the key, `idempotency_key_reused` for
 * another body or query.
 */
export async function answerOnce(
  tx: Tx,
  request: IdempotentRequest,
  make: () => Promise<Reply>,
): Promise<Reply> {
  const scope = [request.keyId, request.method, request.path, request.idempotencyKey].join(' ');
  const { rows: locks } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${lockOf(scope)}::bigint) as locked
  `.execute(tx);
  if (locks[0]?.locked !== true) throw inProgress();
  const stored = await findStored(tx, request);
  if (stored !== null) return replay(stored);
  const reply = await make();
  await store(tx, request, reply);
  return reply;
}

/**
 * The stored response while an instruction runs. A repetition gets it if the process died before the outcome: the
 * instruction may have been executed, so it is not sent again.
 */
const INTERRUPTED = {
  ok: false,
  message:
    'A request with this Idempotency-Key was interrupted before its outcome was known; the node may have taken it. Look at the server, then send what is still needed with a new key.',
} as const;
/** A header that marks a running request. */
const RUNNING = 'running';
/** The expiry of a running request, far beyond any instruction. */
const LONGEST_SECONDS = 30;

/**
 * Like `answerOnce` for instructions to agents: no transaction can undo them, and none is held meanwhile. The key is
 * claimed and committed first. Only success is stored; after an error the key is free again.
 */
export async function instructOnce(
  db: Db,
  request: IdempotentRequest,
  run: () => Promise<Reply>,
): Promise<Reply> {
  const running = {
    status: 502,
    headers: { 'content-type': 'application/json; charset=utf-8', [RUNNING]: '' },
    payload: Buffer.from(JSON.stringify(INTERRUPTED)),
  };
  if (!(await store(db, request, running, 'if expired'))) {
    const stored = await findStored(db, request);
    // Freed just now; the next attempt claims it.
    if (stored === null) throw inProgress();
    if (stored.headers[RUNNING] !== undefined && stored.isFresh) throw inProgress();
    return replay(stored);
  }
  const release = () => sql`delete from idempotency_keys where ${rowOf(request)}`.execute(db);
  let reply: Reply;
  try {
    reply = await run();
  } catch (error) {
    await release();
    throw error;
  }
  await (reply.status < 300 ? store(db, request, reply) : release());
  return reply;
}

interface StoredRow {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isFresh: boolean;
}

/** Throws `idempotency_key_reused` if the stored response is of another request. */
async function findStored(db: Db | Tx, request: IdempotentRequest): Promise<StoredRow | null> {
  const { rows } = await sql<StoredRow & { readonly bodyHash: Buffer }>`
    select body_hash as "bodyHash", status, headers, body,
           created_at > now() - make_interval(secs => ${LONGEST_SECONDS}) as "isFresh"
      from idempotency_keys
     where ${rowOf(request)} and created_at > now() - make_interval(hours => ${KEPT_HOURS})`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) return null;
  if (request.bodyHash.equals(row.bodyHash)) return row;
  throw new Problem(
    'idempotency_key_reused',
    'This Idempotency-Key was used within the last 24 hours with another body or query. Use a new key for a new request.',
  );
}

function replay({ status, headers, body }: StoredRow): Reply {
  const { [RUNNING]: _, ...kept } = headers;
  return {
    status,
    headers: { ...kept, 'idempotency-replayed': 'true' },
    payload: Buffer.from(body),
  };
}

function inProgress(): Problem {
  return new Problem(
    'idempotency_in_progress',
    'A request with this Idempotency-Key is still running. Send it again in a moment.',
    { headers: { 'retry-after': '1' } },
  );
}

/** Stores a response over any other, or only over an expired one. Returns whether it did. */
async function store(
  db: Db | Tx,
  request: IdempotentRequest,
  { status, headers, payload, remembered = payload }: Reply,
  over: 'any' | 'if expired' = 'any',
): Promise<boolean> {
  const { keyId, method, path, idempotencyKey, bodyHash } = request;
  const { rows } = await sql`
    insert into idempotency_keys as k
           (api_key_id, method, path, idempotency_key, body_hash, status, headers, body)
    values (${keyId}, ${method}, ${path}, ${idempotencyKey}, ${bodyHash},
            ${status}, ${JSON.stringify(headers)}::jsonb, ${remembered.toString()})
    on conflict (api_key_id, method, path, idempotency_key) do update
       set body_hash = excluded.body_hash, status = excluded.status, headers = excluded.headers,
           body = excluded.body, created_at = now()
     where ${over === 'any'} or k.created_at <= now() - make_interval(hours => ${KEPT_HOURS})
    returning 1`.execute(db);
  return rows.length > 0;
}

function rowOf({ keyId, method, path, idempotencyKey }: IdempotentRequest) {
  return sql`api_key_id = ${keyId} and method = ${method}
    and path = ${path} and idempotency_key = ${idempotencyKey}`;
}
