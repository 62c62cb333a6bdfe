import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import { hashToken } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import type { PersonRow } from './person-store.ts';
import { matchTotp } from './totp.ts';

const RECOVERY_CODES = 10;
/** Without characters that look alike. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

export function hasTotp(person: PersonRow): boolean {
  return person.totp_secret !== null && person.totp_confirmed_at !== null;
}

/** Uses up a code of the app or a recovery code; each works once, also in two requests at the same time. */
export async function useCode(tx: Tx, person: PersonRow, code: string): Promise<boolean> {
  const text = code.trim().toLowerCase();
  if (!/^\d{6}$/.test(text)) {
    const deleted = await sql`
      delete from recovery_codes where person_id = ${person.id} and code_hash = ${hashToken(text)}
      returning 1`.execute(tx);
    return deleted.rows.length === 1;
  }
  if (person.totp_secret === null) return false;
  const step = matchTotp(person.totp_secret, text, {
    nowMs: Date.now(),
    lastStep: person.totp_last_step,
  });
  if (step === null) return false;
  const used = await sql`
    update people set totp_last_step = ${step} where id = ${person.id} and totp_last_step < ${step}
    returning 1`.execute(tx);
  return used.rows.length === 1;
}

/** Replaces the recovery codes, and returns the new ones. Each has 49 random bits. */
export async function renewRecoveryCodes(tx: Tx, personId: number): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => `${letters(5)}-${letters(5)}`);
  await sql`delete from recovery_codes where person_id = ${personId}`.execute(tx);
  await sql`
    insert into recovery_codes (person_id, code_hash)
    select ${personId}, unnest(${codes.map(hashToken)}::bytea[])`.execute(tx);
  return codes;
}

function letters(count: number): string {
  return Array.from({ length: count }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('');
}

/** Turns the app off, and deletes the recovery codes. */
export async function removeSecondFactor(tx: Tx, personId: number): Promise<void> {
  await sql`
    update people set totp_secret = null, totp_confirmed_at = null where id = ${personId}`.execute(
    tx,
  );
  await sql`delete from recovery_codes where person_id = ${personId}`.execute(tx);
}
