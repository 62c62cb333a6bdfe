import { randomBytes, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import { type Person, subscriberBlock, unauthenticated } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import { invalidValue, Problem } from '../problem.ts';
import { deriveHash } from './hashing.ts';
import { findDevice, type Visitor } from './session-store.ts';
import { canonicalEmail, findPersonByEmail, type PersonRow } from './person-store.ts';

/** OWASP's first choice of 2025 for argon2id: 46 MiB, one pass, one lane. */
const COST = { memory: 47_104, passes: 1, parallelism: 1 } as const;
const TAG_LENGTH = 32;
const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** argon2id in PHC format, with the cost, so that a later cost leaves earlier hashes readable. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await tagOf(password, nonce, COST, TAG_LENGTH);
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(tag)}`;
}

/** `stored` null (no such person) takes as long as a wrong password, and is false. */
async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [, memory, passes, parallelism, nonce = '', tag = ''] = PHC.exec(stored ?? '') ?? [];
  const wanted = Buffer.from(tag, 'base64');
  if (stored === null || wanted.length === 0) {
    await tagOf(password, Buffer.alloc(16), COST, TAG_LENGTH);
    return false;
  }
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  };
  const found = await tagOf(password, Buffer.from(nonce, 'base64'), cost, wanted.length);
  return timingSafeEqual(found, wanted);
}

/** Composed and decomposed characters are the same password. */
function tagOf(
  password: string,
  nonce: Buffer,
  cost: { readonly memory: number; readonly passes: number; readonly parallelism: number },
  tagLength: number,
): Promise<Buffer> {
  return deriveHash({ message: password.normalize('NFKC'), nonce, tagLength, ...cost });
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

const ATTEMPTS = 10;
const LOCK_SECONDS = 15 * 60;
/** The time between two attempts of unknown devices, once all of them together have failed ten times. */
const SLOW_SECONDS = 30;

/** Who sends a password without a session. */
export interface Prover {
  readonly visitor: Pick<Visitor, 'source' | 'cookies'>;
  readonly publicUrl: string;
}

/**
 * The person with this email and password. One refusal for all reasons, after the same time. Attempts count until
 * `forgetAttempts`, which a caller that also requires a code calls itself.
 */
export async function provePassword(
  db: Db,
  { email, password }: { readonly email: string; readonly password: string },
  { visitor, publicUrl }: Prover,
): Promise<PersonRow> {
  const person = await findPersonByEmail(db, email);
  const device = await findDevice(db, person?.id ?? 0, visitor.cookies, publicUrl);
  if (device !== null) {
    await countAttempt(db, email, { origin: `device ${device}`, waitSeconds: LOCK_SECONDS });
  } else {
    const origin = `source ${subscriberBlock(visitor.source ?? '')}`;
    await countAttempt(db, email, { origin, waitSeconds: LOCK_SECONDS });
    await countAttempt(db, email, { origin: '', waitSeconds: SLOW_SECONDS });
  }
  const isRight = await verifyPassword(password, person?.password_hash ?? null);
  if (person === null || !isRight || person.disabled_at !== null) {
    throw unauthenticated('The email, the password or the code is wrong.');
  }
  return person;
}

/** That a signed-in person knows its password, before it changes how it signs in. */
export async function requirePassword(
  db: Db,
  { email, sessionId }: Pick<Person, 'email' | 'sessionId'>,
  password: string,
): Promise<PersonRow> {
  await countAttempt(db, email, { origin: `session ${sessionId}`, waitSeconds: LOCK_SECONDS });
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
 * Counts an attempt of an origin before it is checked, so that attempts at the same time are counted too. After ten
 * without a success it throws 429 until `waitSeconds` have passed since the last checked one; attempts meanwhile are not
 * checked and do not prolong it. The count starts again after 15 minutes. Emails without an account count alike, so that
 * this reveals none. https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 */
async function countAttempt(
  db: Db,
  email: string,
  { origin, waitSeconds }: { readonly origin: string; readonly waitSeconds: number },
): Promise<void> {
  const { rows } = await sql<{ refused: boolean; wait: number }>`
    insert into sign_in_attempts as a (email, origin, attempts, last_at)
    values (${canonicalEmail(email)}, ${origin}, 1, now())
    on conflict (email, origin) do update set
      attempts = case when a.last_at < now() - ${LOCK_SECONDS} * interval '1 second' then 1
                      else a.attempts + 1 end,
      last_at = case when a.attempts >= ${ATTEMPTS} and a.last_at >= now() - ${waitSeconds} * interval '1 second'
                     then a.last_at else now() end
    returning attempts > ${ATTEMPTS} and last_at <> now() as refused,
              ceil(extract(epoch from last_at - now()) + ${waitSeconds}::int)::int as wait`.execute(
    db,
  );
  const [row] = rows;
  if (row?.refused !== true) return;
  const seconds = Math.max(1, row.wait);
  const when = seconds > 60 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} s`;
  throw new Problem(
    'rate_limited',
    `There were too many wrong attempts. Try again in ${when}, or sign in with a passkey or on a device that signed in before.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}

/** After a success. */
export async function forgetAttempts(db: Db | Tx, email: string): Promise<void> {
  await sql`
    delete from sign_in_attempts
     where email = ${canonicalEmail(email)} or last_at < now() - interval '1 day'`.execute(db);
}
