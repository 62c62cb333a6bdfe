import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { inProgress, KEPT_HOURS, type IdempotentRequest, otherBody } from './idempotency.ts';
import type { Reply } from './operation.ts';

/**
 * The stored response while an instruction runs. A repetition gets it if the process died before the outcome: the
 * instruction may have been executed, so it is not sent again.
 */
const INTERRUPTED = {
  status: 502,
  body: {
    ok: false,
    message:
      'A request with this Idempotency-Key was interrupted before its outcome was known; the node may have taken it. Look at the server, then send what is still needed with a new key.',
  },
} as const;
/** The expiry of a running request, far beyond any instruction. */
const RUNNING = 'running';
const LONGEST_SECONDS = 30;

interface StoredRow {
  readonly body_hash: Buffer;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly fresh: boolean;
}

/**
 * Like `answerOnce` for instructions to agents: no transaction can undo them, and none is held meanwhile. The key is
 * claimed and committed first. Only success is stored; after an error the key is free again.
 */
export async function instructOnce(
  db: Db,
  request: IdempotentRequest,
  run: () => Promise<Reply>,
): Promise<Reply> {
  const stored = await claim(db, request);
  if (stored !== null) return stored;
  let reply: Reply;
  try {
    reply = await run();
  } catch (error) {
    await release(db, request);
    throw error;
  }
  await (reply.status < 300 ? settle(db, request, reply) : release(db, request));
  return reply;
}

/** Null: the key is claimed. */
async function claim(db: Db, request: IdempotentRequest): Promise<Reply | null> {
  const { organisationId, keyId, method, path, idempotencyKey, bodyHash } = request;
  const body = JSON.stringify(INTERRUPTED.body);
  const headers = JSON.stringify({
    'content-type': 'application/json; charset=utf-8',
    [RUNNING]: '',
  });
  const { rows: claimed } = await sql`
    insert into idempotency_keys (organisation_id, api_key_id, method, path, idempotency_key, body_hash, status, headers, body)
    values (${organisationId}, ${keyId}, ${method}, ${path}, ${idempotencyKey}, ${bodyHash},
            ${INTERRUPTED.status}, ${headers}::jsonb, ${body})
    on conflict (organisation_id, api_key_id, method, path, idempotency_key) do update
       set body_hash = excluded.body_hash, status = excluded.status, headers = excluded.headers,
           body = excluded.body, created_at = now()
     where idempotency_keys.created_at <= now() - make_interval(hours => ${KEPT_HOURS})
    returning 1`.execute(db);
  if (claimed.length > 0) return null;
  const { rows } = await sql<StoredRow>`
    select body_hash, status, headers, body,
           created_at > now() - make_interval(secs => ${LONGEST_SECONDS}) as fresh
      from idempotency_keys where ${rowOf(request)}`.execute(db);
  const row = rows[0];
  // Freed just now; the next attempt claims it.
  if (row === undefined) throw inProgress();
  if (!bodyHash.equals(row.body_hash)) throw otherBody();
  const { [RUNNING]: running, ...kept } = row.headers;
  if (running !== undefined && row.fresh) throw inProgress();
  return {
    status: row.status,
    headers: { ...kept, 'idempotency-replayed': 'true' },
    payload: Buffer.from(row.body),
  };
}

async function settle(db: Db, request: IdempotentRequest, reply: Reply): Promise<void> {
  await sql`
    update idempotency_keys set status = ${reply.status}, headers = ${JSON.stringify(reply.headers)}::jsonb,
           body = ${reply.payload.toString()}
     where ${rowOf(request)}`.execute(db);
}

async function release(db: Db, request: IdempotentRequest): Promise<void> {
  await sql`delete from idempotency_keys where ${rowOf(request)}`.execute(db);
}

function rowOf({ organisationId, keyId, method, path, idempotencyKey }: IdempotentRequest) {
  return sql`organisation_id = ${organisationId} and api_key_id = ${keyId} and method = ${method}
    and path = ${path} and idempotency_key = ${idempotencyKey}`;
}
