import { hash, randomBytes } from 'node:crypto';

const RANDOM_BYTES = 32;

/** Generates the credential that an agent presents when it connects: a prefix and 256 random bits. Stores nothing. */
export function generateCredential(prefix: `${string}_`): string {
  return prefix + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** The stored form. 256 random bits need no slow hash. */
export function hashCredential(credential: string): Buffer {
  return hash('sha256', credential, 'buffer');
}
