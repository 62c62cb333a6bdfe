import { sql } from 'kysely';
import { type Actor, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { voidAllLinksOf } from './links/link-store.ts';
import { endSessions, type PersonRow } from './person-store.ts';
import { forgetAttempts } from './prove.ts';
import { removeSecondFactor } from './second-factor.ts';
import { forgetDevices } from './session-store.ts';

/**
 * Gives an account to the person that has its address: a new password, and everything ends by which somebody could enter
 * or come back: sessions, passkeys, SSH keys and SFTP passwords, the authenticator app, recovery codes, remembered devices,
 * links for a new password, and links that the account made. Its roles stay. API keys are the organisation's and stay too.
 */
export async function recover(
  tx: Tx,
  { id, email }: Pick<PersonRow, 'id' | 'email'>,
  { passwordHash, actor }: { readonly passwordHash: string; readonly actor: Actor },
): Promise<void> {
  await sql`
    update people set password_hash = ${passwordHash}, proven_at = coalesce(proven_at, now())
     where id = ${id}`.execute(tx);
  await endSessions(tx, id, null);
  await sql`delete from person_ssh_keys where person_id = ${id}`.execute(tx);
  await sql`delete from sftp_passwords where person_id = ${id}`.execute(tx);
  await sql`delete from passkeys where person_id = ${id}`.execute(tx);
  await sql`delete from passkey_challenges where person_id = ${id}`.execute(tx);
  await removeSecondFactor(tx, id);
  await forgetDevices(tx, id, null);
  await voidAllLinksOf(tx, id, actor);
  await forgetAttempts(tx, email, 'password');
  await forgetAttempts(tx, email, 'code');
  const entry = { action: 'person.recover', target: `person:${id}` };
  await recordAudit(tx, { actor, organisationId: null, ...entry });
}
