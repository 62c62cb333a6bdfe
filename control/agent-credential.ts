import { hash, randomBytes } from 'node:crypto';

const RANDOM_BYTES = 32;

/** What an agent presents when it connects: 256 random bits, after what says whose they are. Stores nothing. */
export function generateCredential(prefix: `${string}_`): string {
  return prefix + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** What is stored of it: so many random bits need no slow hash to withstand guessing. */
export function hashCredential(credential: string): Buffer {
  return hash('sha256', credential, 'buffer');
}
