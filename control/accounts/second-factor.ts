import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import { hashToken } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import type { PersonRow } from './person-store.ts';

const STEP_MS = 30_000;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The code of RFC 6238 for a step: HMAC-SHA-1, 6 digits, as authenticator apps expect. */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const value = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fff_ffff;
  return String(value % 1_000_000).padStart(6, '0');
}

export function stepAt(ms: number): number {
  return Math.floor(ms / STEP_MS);
}

/**
 * The step of a right code: this one, the one before or the one after. Null for a wrong code, and for one that is not
 * newer than `lastStep`, because a code is accepted once (RFC 6238, 5.2).
 */
export function matchTotp(
  secret: Uint8Array,
  code: string,
  { nowMs, lastStep }: { readonly nowMs: number; readonly lastStep: number },
): number | null {
  const now = stepAt(nowMs);
  const sent = Buffer.from(code);
  for (const step of [now - 1, now, now + 1]) {
    const right = Buffer.from(totpCode(secret, step));
    if (sent.length === right.length && timingSafeEqual(sent, right) && step > lastStep)
      return step;
  }
  return null;
}

export function encodeBase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => BASE32.charAt(Number.parseInt(five.padEnd(5, '0'), 2)))
    .join('');
}

const RECOVERY_CODES = 10;
/** Letters without characters that look alike. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

export function hasTotp(person: PersonRow): boolean {
  return person.totp_secret !== null && person.totp_confirmed_at !== null;
}

/** Uses up a code of the app or a recovery code; each works once, also in two requests at the same time. */
export async function useCode(
  tx: Tx,
  person: PersonRow,
  code: string,
): Promise<'accepted' | 'used' | 'wrong'> {
  const text = code.trim().toLowerCase();
  if (!/^\d{6}$/.test(text)) {
    const deleted = await sql`
      delete from recovery_codes where person_id = ${person.id} and code_hash = ${hashToken(text)}
      returning 1`.execute(tx);
    return deleted.rows.length === 1 ? 'accepted' : 'wrong';
  }
  if (person.totp_secret === null) return 'wrong';
  const nowMs = Date.now();
  const step = matchTotp(person.totp_secret, text, {
    nowMs,
    lastStep: person.totp_last_step,
  });
  if (step === null) {
    const isKnown = matchTotp(person.totp_secret, text, { nowMs, lastStep: -1 }) !== null;
    return isKnown ? 'used' : 'wrong';
  }
  const used = await sql`
    update people set totp_last_step = ${step} where id = ${person.id} and totp_last_step < ${step}
    returning 1`.execute(tx);
  return used.rows.length === 1 ? 'accepted' : 'used';
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
