import {
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import type { AgentRef } from './messages/messages.ts';

/**
 * The key pair that a host makes when it joins. A token may be seen by others, so an operator approves the fingerprint of
 * the key that the host shows, and control gives the credential to that key alone.
 */
export interface JoinKey {
  readonly fingerprint: string;
  /** Proof that the sender of a token has the key: part of a request to join. */
  prove(kind: AgentRef['kind'], token: string): JoinProof;
}

export interface JoinProof {
  /** Ed25519, 32 bytes in base64url. */
  readonly public_key: string;
  /** The signature of the kind and the token, 64 bytes in base64url. */
  readonly signature: string;
}

export function createJoinKey(): JoinKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'jwk' }).x ?? '';
  return {
    fingerprint: fingerprintOf(raw),
    prove: (kind, token) => ({
      public_key: raw,
      signature: sign(null, signed(kind, token), privateKey).toString('base64url'),
    }),
  };
}

/** The fingerprint of the key that signed; null if the proof is none. */
export function checkJoinProof(
  { public_key: raw, signature }: JoinProof,
  kind: AgentRef['kind'],
  token: string,
): string | null {
  try {
    const key = publicKeyOf(raw);
    const isProven = verify(null, signed(kind, token), key, Buffer.from(signature, 'base64url'));
    return isProven ? fingerprintOf(raw) : null;
  } catch {
    return null;
  }
}

function publicKeyOf(raw: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw }, format: 'jwk' });
}

function signed(kind: AgentRef['kind'], token: string): Buffer {
  return Buffer.from(`portcullis join ${kind} ${token}`);
}

/** 128 bits of SHA-256 in groups of four digits, for people to compare. */
function fingerprintOf(raw: string): string {
  const digits = hash('sha256', Buffer.from(raw, 'base64url'), 'hex').slice(0, 32);
  return (digits.match(/.{4}/g) ?? []).join('-');
}
