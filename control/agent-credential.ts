import { hash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Admission } from '@portcullis/link/transport/transport.ts';
import { agentKey } from '@portcullis/link/nats/keys.ts';
import { type Actor, recordAudit, recordAudits } from './access/index.ts';
import type { Db, Tx } from './db/database.ts';

const RANDOM_BYTES = 32;

/** The table of each kind of agent, and the prefix of its credentials. */
const KINDS = {
  edge: { table: 'edges', prefix: 'pce_', article: 'an edge' },
  node: { table: 'nodes', prefix: 'pcn_', article: 'a node' },
  collector: { table: 'collectors', prefix: 'pcc_', article: 'a collector' },
} as const satisfies Record<AgentRef['kind'], object>;

export async function agentExists(tx: Tx, { kind, name }: AgentRef): Promise<boolean> {
  const { rows } = await sql`
    select from ${sql.table(KINDS[kind].table)} where name = ${name}`.execute(tx);
  return rows.length > 0;
}

/**
 * Issues a credential to an agent and revokes the previous one. Returned this once. Null if the fleet has no such agent.
 */
export async function enrolAgent(
  tx: Tx,
  { kind, name }: AgentRef,
  actor: Actor,
): Promise<string | null> {
  const { table } = KINDS[kind];
  const credential = generateCredential(kind);
  await dropRenewal(tx, { kind, name });
  const { rows } = await sql`
    update ${sql.table(table)}
       set credential_hash = ${hashOf(credential)}, enrolled_at = now(), instance = null,
           nats_key = ${agentKey(credential).publicName}
     where name = ${name} returning 1`.execute(tx);
  if (rows.length === 0) return null;
  const target = `${kind}:${name}`;
  await recordAudit(tx, { actor, organisationId: null, action: `${kind}.enrol`, target });
  return credential;
}

/** Takes its credential away from an agent. False if the fleet has no such agent. */
export async function revokeAgent(
  tx: Tx,
  { kind, name }: AgentRef,
  actor: Actor,
): Promise<boolean> {
  await dropRenewal(tx, { kind, name });
  const { rows } = await sql`
    update ${sql.table(KINDS[kind].table)}
       set credential_hash = null, enrolled_at = null, instance = null, nats_key = null
     where name = ${name} returning 1`.execute(tx);
  if (rows.length === 0) return false;
  const target = `${kind}:${name}`;
  await recordAudit(tx, { actor, organisationId: null, action: `${kind}.revoke`, target });
  return true;
}

/**
 * Checks the credential of an agent. The reason is the same for every failure. The look-up is by hash, so its time
 * reveals nothing about a guess.
 */
export async function admitAgent(
  db: Db,
  { kind, name }: AgentRef,
  credential: string | null,
): Promise<Admission> {
  const { table, article } = KINDS[kind];
  const { rows } = await sql`
    select from ${sql.table(table)}
     where name = ${name} and credential_hash = ${hashOf(credential ?? '')}`.execute(db);
  if (credential !== null && rows.length > 0) return { ok: true };
  if (credential !== null && (await promoteRenewal(db, { kind, name }, hashOf(credential))))
    return { ok: true };
  return {
    ok: false,
    reason: `This is not the credential of ${article} ${name} of this fleet. Name the ${kind} in the fleet file, then give it one: portcullis ${table} enrol ${name}`,
  };
}

/** Credentials are replaced after this time. */
const RENEWAL_DAYS = 30;

/**
 * The next credential of an agent whose one is old; null: it need not have another. The old one is revoked when the agent
 * presents the new one, so an answer that is lost locks no agent out.
 */
export async function renewCredential(db: Db, { kind, name }: AgentRef): Promise<string | null> {
  const credential = generateCredential(kind);
  const { rows } = await sql`
    insert into credential_renewals (kind, name, credential_hash, nats_key)
    select ${kind}, name, ${hashOf(credential)}, ${agentKey(credential).publicName}
      from ${sql.table(KINDS[kind].table)}
     where name = ${name} and enrolled_at < now() - make_interval(days => ${RENEWAL_DAYS})
    on conflict (kind, name) do update
       set credential_hash = excluded.credential_hash, nats_key = excluded.nats_key, issued_at = now()
    returning 1`.execute(db);
  return rows.length === 0 ? null : credential;
}

/** Makes a renewed credential the only one. False if there is none of this hash. */
async function promoteRenewal(
  db: Db,
  { kind, name }: AgentRef,
  credentialHash: Buffer,
): Promise<boolean> {
  const { rows } = await sql`
    with renewed as (
      delete from credential_renewals
       where kind = ${kind} and name = ${name} and credential_hash = ${credentialHash}
      returning name, credential_hash, nats_key)
    update ${sql.table(KINDS[kind].table)} a
       set credential_hash = renewed.credential_hash, nats_key = renewed.nats_key, enrolled_at = now()
      from renewed where a.name = renewed.name and a.credential_hash is not null
    returning 1`.execute(db);
  return rows.length > 0;
}

async function dropRenewal(tx: Tx, { kind, name }: AgentRef): Promise<void> {
  await sql`delete from credential_renewals where kind = ${kind} and name = ${name}`.execute(tx);
}

function generateCredential(kind: AgentRef['kind']): string {
  return KINDS[kind].prefix + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** The stored form. 256 random bits need no slow hash. */
function hashOf(credential: string): Buffer {
  return hash('sha256', credential, 'buffer');
}

/** The maker of a token with which a host joins: a person or a key of the operator. */
export type TokenMaker = { readonly personId: number } | { readonly keyId: number };

/** Deletes the unused tokens of a maker that lost the right to make them, with an entry of the audit trail for each. */
export async function voidTokens(tx: Tx, maker: TokenMaker, actor: Actor): Promise<void> {
  const isTheirs =
    'personId' in maker
      ? sql<boolean>`maker_id = ${maker.personId}`
      : sql<boolean>`maker_key_id = ${maker.keyId}`;
  const { rows } = await sql<AgentRef>`
    delete from join_tokens where ${isTheirs} and used_at is null returning kind, name`.execute(tx);
  const entries = rows.map(({ kind, name }) => ({
    organisationId: null,
    action: 'token.void',
    target: `${kind}:${name}`,
  }));
  if (entries.length > 0) await recordAudits(tx, actor, entries);
}
