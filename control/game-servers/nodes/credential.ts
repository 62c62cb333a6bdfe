import { sql } from 'kysely';
import type { Admission } from '@portcullis/link/transport/transport.ts';
import { type Actor, recordAudit } from '../../access/index.ts';
import { generateCredential, hashCredential } from '../../agent-credential.ts';
import type { Db, Tx } from '../../db/database.ts';

const PREFIX = 'pcn_';

/**
 * Issues a credential to a node and revokes the previous one. Returned this once. Null if the fleet has no such node.
 */
export async function enrolNode(tx: Tx, name: string, actor: Actor): Promise<string | null> {
  const credential = generateCredential(PREFIX);
  const { rows } = await sql`
    update nodes set credential_hash = ${hashCredential(credential)}, enrolled_at = now(), instance = null
     where name = ${name} returning 1`.execute(tx);
  if (rows.length === 0) return null;
  await recordAudit(tx, {
    actor,
    organisationId: null,
    action: 'node.enrol',
    target: `node:${name}`,
  });
  return credential;
}

/**
 * Checks the credential of a node. The reason is the same for every failure. The look-up is by hash, so its time
 * reveals nothing about a guess.
 */
export async function admitNode(
  db: Db,
  name: string,
  credential: string | null,
): Promise<Admission> {
  const { rows } = await sql`
    select from nodes where name = ${name} and credential_hash = ${hashCredential(credential ?? '')}`.execute(
    db,
  );
  if (credential !== null && rows.length > 0) return { ok: true };
  return {
    ok: false,
    reason: `This is not the credential of a node ${name} of this fleet. Name the node in the fleet file, then give it one: portcullis nodes enrol ${name}`,
  };
}
