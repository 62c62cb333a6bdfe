import { hash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Admission } from '@portcullis/link/transport/transport.ts';
import { agentKey } from '@portcullis/link/nats/keys.ts';
import { type Actor, recordAudit } from './access/index.ts';
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
  const { table, prefix } = KINDS[kind];
  const credential = prefix + randomBytes(RANDOM_BYTES).toString('base64url');
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
  return {
    ok: false,
    reason: `This is not the credential of ${article} ${name} of this fleet. Name the ${kind} in the fleet file, then give it one: portcullis ${table} enrol ${name}`,
  };
}

/** The stored form. 256 random bits need no slow hash. */
function hashOf(credential: string): Buffer {
  return hash('sha256', credential, 'buffer');
}
