import { sql } from 'kysely';
import { unauthenticated } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import { invalidValue, Problem } from '../problem.ts';
import { verifyPassword } from './password.ts';
import { canonicalEmail, findPersonByEmail, type PersonRow } from './person-store.ts';

const ATTEMPTS = 10;
const LOCK_MINUTES = 15;

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
    throw invalidValue(
      'The password',
      { pointer: '/password' },
      'is not the password of the account',
    );
  }
  await forgetAttempts(db, email);
  return person;
}

/**
 * Counts an attempt before it is checked, so that attempts at the same time are counted too. After ten without a success
 * it throws 429 until 15 minutes have passed; attempts meanwhile are not checked and do not prolong it. Emails without
 * an account count alike, so that this reveals none.
 */
export async function countAttempt(db: Db, email: string): Promise<void> {
  const { rows } = await sql<{ attempts: number; wait: number }>`
    insert into sign_in_attempts as a (email, attempts, last_at) values (${canonicalEmail(email)}, 1, now())
    on conflict (email) do update set
      attempts = case when a.last_at < now() - ${LOCK_MINUTES} * interval '1 minute' then 1
                      else a.attempts + 1 end,
      last_at = case when a.attempts >= ${ATTEMPTS} and a.last_at >= now() - ${LOCK_MINUTES} * interval '1 minute'
                     then a.last_at else now() end
    returning attempts, ceil(extract(epoch from last_at - now()) + ${LOCK_MINUTES} * 60)::int as wait`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined || row.attempts <= ATTEMPTS) return;
  throw new Problem(
    'rate_limited',
    `There were too many wrong attempts. Try again in ${Math.ceil(row.wait / 60)} minutes, or sign in with a passkey.`,
    { headers: { 'retry-after': String(Math.max(1, row.wait)) } },
  );
}

/** After a success. */
export async function forgetAttempts(db: Db | Tx, email: string): Promise<void> {
  await sql`
    delete from sign_in_attempts
     where email = ${canonicalEmail(email)} or last_at < now() - interval '1 day'`.execute(db);
}
