import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { invalidValue, Problem } from '../../problem.ts';
import type { Reply } from './operation.ts';

/** How long a response is stored. */
export const KEPT_HOURS = 24;

/** Visible ASCII without spaces, so that it can be logged and compared byte by byte. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** The key of a stored response and the digest of its body. */
export interface IdempotentRequest {
  readonly organisationId: number;
  readonly keyId: number;
  readonly method: string;
  /** As sent, without the query. */
  readonly path: string;
  readonly idempotencyKey: string;
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

export function hashBody(raw: Uint8Array): Buffer {
  return createHash('sha256').update(raw).digest();
}

/**
 * Claims the key for this transaction and returns the stored response, or null. The advisory lock ends with the
 * transaction, so a dead process leaves both the write and its response, or neither. Throws `idempotency_in_progress`
 * while another transaction has the key, `idempotency_key_reused` for another body.
 */
export async function claimKey(tx: Tx, request: IdempotentRequest): Promise<Reply | null> {
  const scope = [request.keyId, request.method, request.path, request.idempotencyKey].join(' ');
  const { rows: locks } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${scope}, ${request.organisationId})) as locked
  `.execute(tx);
  if (locks[0]?.locked !== true) {
    throw inProgress();
  }
  const stored = await tx
    .selectFrom('idempotency_keys')
    .select(['body_hash', 'status', 'headers', 'body'])
    .where('organisation_id', '=', request.organisationId)
    .where('api_key_id', '=', request.keyId)
    .where('method', '=', request.method)
    .where('path', '=', request.path)
    .where('idempotency_key', '=', request.idempotencyKey)
    .where('created_at', '>', sql<Date>`now() - make_interval(hours => ${KEPT_HOURS})`)
    .executeTakeFirst();
  if (stored === undefined) return null;
  if (!request.bodyHash.equals(stored.body_hash)) {
    throw otherBody();
  }
  const headers = { ...stored.headers, 'idempotency-replayed': 'true' };
  return { status: stored.status, headers, payload: Buffer.from(stored.body) };
}

export function inProgress(): Problem {
  return new Problem(
    'idempotency_in_progress',
    'A request with this Idempotency-Key is still running. Send it again in a moment.',
    { headers: { 'retry-after': '1' } },
  );
}

export function otherBody(): Problem {
  return new Problem(
    'idempotency_key_reused',
    'This Idempotency-Key was used within the last 24 hours with another body. Use a new key for a new request.',
  );
}

/** Stores the response in the transaction of the write. An expired one is replaced. */
export async function storeAnswer(
  tx: Tx,
  request: IdempotentRequest,
  answer: Reply,
): Promise<void> {
  const value = {
    body_hash: request.bodyHash,
    status: answer.status,
    headers: JSON.stringify(answer.headers),
    body: answer.payload.toString(),
  };
  await tx
    .insertInto('idempotency_keys')
    .values({
      organisation_id: request.organisationId,
      api_key_id: request.keyId,
      method: request.method,
      path: request.path,
      idempotency_key: request.idempotencyKey,
      ...value,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['organisation_id', 'api_key_id', 'method', 'path', 'idempotency_key'])
        .doUpdateSet({ ...value, created_at: sql`now()` }),
    )
    .execute();
}
