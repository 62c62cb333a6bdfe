import { sql } from 'kysely';
import type { Admission } from '@portcullis/link/transport/transport.ts';
import { type Actor, recordAudit } from '../../access/index.ts';
import { generateCredential, hashCredential } from '../../agent-credential.ts';
import type { Db, Tx } from '../../db/database.ts';

const PREFIX = 'pcn_';

/**
 * Gives a node of the fleet a credential, and takes away the one before. Returns it: the only time that it can be
 * seen. null: the fleet has no such node.
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
 * Whether whoever presents this is the node of this name. The same words whether there is no such node, it was never
 * enrolled, or the credential is another's. Looked up by its hash, so that time tells nothing of how much was right.
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
