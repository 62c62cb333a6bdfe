import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { refuse } from './person-store.ts';

const MIN_PASSWORD = 12;

let common: ReadonlySet<string> | null = null;

/** One of the 10,000 most common passwords of 12 characters or more; docs/decisions/portal.md names the list. */
function isCommon(password: string): boolean {
  common ??= new Set(
    readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8').split('\n'),
  );
  return common.has(password.normalize('NFKC').toLowerCase());
}

/** A password that may be set; 422 with this pointer for one that is short or common. */
export function requireGoodPassword(password: string, pointer = '/password'): string {
  if (Array.from(password).length < MIN_PASSWORD) {
    throw refuse(pointer, `must have at least ${MIN_PASSWORD} characters`);
  }
  if (isCommon(password)) {
    throw refuse(pointer, 'is among the most common passwords; choose another, such as four words');
  }
  return password;
}
