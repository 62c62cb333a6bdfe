import { createHmac, timingSafeEqual } from 'node:crypto';

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
