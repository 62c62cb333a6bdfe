import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import { Problem } from '../problem.ts';
import { canonicalEmail } from './person-store.ts';

const ATTEMPTS = 10;
const LOCK_MINUTES = 15;

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
