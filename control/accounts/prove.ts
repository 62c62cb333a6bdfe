import { unauthenticated } from '../access/index.ts';
import type { Db } from '../db/database.ts';
import { Problem } from '../problem.ts';
import { countAttempt, forgetAttempts } from './attempts.ts';
import { verifyPassword } from './password.ts';
import { findPersonByEmail, type PersonRow } from './person-store.ts';

/**
 * The person with this email and password. One refusal for all reasons, after the same time. Attempts count until
 * `forgetAttempts`, which a caller that also asks for a code calls itself.
 */
export async function provePassword(db: Db, email: string, password: string): Promise<PersonRow> {
  await countAttempt(db, email);
  const person = await findPersonByEmail(db, email);
  const isRight = await verifyPassword(password, person?.password_hash ?? null);
  if (person === null || !isRight || person.disabled_at !== null) {
    throw unauthenticated('The email, the password or the code is wrong.');
  }
  return person;
}

/** That a signed-in person knows its password, before it changes how it signs in. */
export async function requirePassword(db: Db, email: string, password: string): Promise<PersonRow> {
  await countAttempt(db, email);
  const person = await findPersonByEmail(db, email);
  if (person === null || !(await verifyPassword(password, person.password_hash))) {
    const detail = 'is not the password of the account';
    throw new Problem('invalid_request', `The password ${detail}.`, {
      errors: [{ pointer: '/password', detail }],
    });
  }
  await forgetAttempts(db, email);
  return person;
}
