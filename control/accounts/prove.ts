import { randomBytes, timingSafeEqual } from 'node:crypto';
import { subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import { sql } from 'kysely';
import { type Person, unauthenticated } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import { invalidValue, Problem } from '../problem.ts';
import { deriveHash } from './hashing.ts';
import { findDevice, type Visitor } from './session-store.ts';
import { canonicalEmail, findPersonByEmail, lockPerson, type PersonRow } from './person-store.ts';
import { hasTotp, useCode } from './second-factor.ts';

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
/** The time between two passwords of unknown devices, once all of them together have failed ten times. */
const SLOW_SECONDS = 30;

/** A secret that is guessed. Each has counts of its own, and only a right one forgets them. */
export type Factor = 'password' | 'code';

/** Who proves something without a session. */
export interface Prover {
  readonly visitor: Pick<Visitor, 'source' | 'cookies'>;
  readonly publicUrl: string;
}

/** A message that is sent to prove that somebody is the person with this email. */
export interface Sent {
  readonly email: string;
  readonly password: string;
  readonly code: string | undefined;
}

/** Facts that were proven of a person. */
export interface Proof {
  readonly person: PersonRow;
  /** The password was right, and the second factor is needed too. */
  readonly needsCode: boolean;
  /**
   * For the transaction that acts on it: uses up the code, and makes sure that the account is still what was proven.
   * Throws `unauthenticated` otherwise.
   */
  complete(tx: Tx): Promise<PersonRow>;
}

/**
 * Proves a person without a session, by all that signing in asks for: the one way to do so. One refusal for all reasons,
 * after the same time. The code is looked at only after a right password.
 */
export async function prove(db: Reader, sent: Sent, prover: Prover): Promise<Proof> {
  const person = await findPersonByEmail(db, sent.email);
  const device = await findDevice(db, person?.id ?? 0, prover.visitor.cookies, prover.publicUrl);
  const source = subscriberBlock(prover.visitor.source ?? '');
  const origin = device === null ? `source ${source}` : `device ${device}`;
  await countAttempt(db, sent.email, { origin, waitSeconds: LOCK_SECONDS });
  if (device === null)
    await countAttempt(db, sent.email, { origin: '', waitSeconds: SLOW_SECONDS });
  const isRight = await verifyPassword(sent.password, person?.password_hash ?? null);
  if (person === null || !isRight || person.disabled_at !== null) throw refused();
  await forgetAttempts(db, sent.email, 'password');
  const needsCode = hasTotp(person) && sent.code === undefined;
  if (hasTotp(person) && sent.code !== undefined) {
    await countAttempt(db, sent.email, { origin: `code ${origin}`, waitSeconds: LOCK_SECONDS });
    // Sources are many, and whoever comes here has the password.
    if (device === null) await countAttempt(db, sent.email, ALL_CODES);
  }
  return { person, needsCode, complete: (tx) => complete(tx, person, sent.code) };
}

async function complete(tx: Tx, proven: PersonRow, code: string | undefined): Promise<PersonRow> {
  const person = await lockPerson(tx, proven.email);
  if (person?.disabled_at !== null || person.password_hash !== proven.password_hash) {
    throw refused();
  }
  if (hasTotp(person)) await requireCode(tx, person, code ?? '');
  return person;
}

/** Uses up a code whose attempt was counted. */
async function requireCode(tx: Tx, person: PersonRow, code: string): Promise<void> {
  const use = await useCode(tx, person, code);
  if (use === 'used') {
    throw unauthenticated('This code was used already. Wait for the next one.');
  }
  if (use === 'wrong') throw refused();
  await forgetAttempts(tx, person.email, 'code');
}

function refused(): Problem {
  return unauthenticated('The email, the password or the code is wrong.');
}

/** That a signed-in person knows its password, before it changes how it signs in. */
export async function requirePassword(
  db: Reader,
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
  await forgetAttempts(db, email, 'password');
  return person;
}

interface Attempts {
  /** The origin of an attempt; origins of codes begin with `code`. */
  readonly origin: string;
  readonly waitSeconds: number;
}

/** All unknown devices together. Time does not forget them: 96 codes a day of the million would add up. */
const ALL_CODES: Attempts = { origin: 'code', waitSeconds: LOCK_SECONDS };

/**
 * Counts an attempt of an origin before it is checked, so that attempts at the same time are counted too. After ten
 * without a success it throws 429 until `waitSeconds` have passed since the last checked one; attempts meanwhile are not
 * checked and do not prolong it. The count starts again after 15 minutes, but for `ALL_CODES`. Emails without an account
 * count alike, so that this reveals none.
 * https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 */
async function countAttempt(
  db: Reader,
  email: string,
  { origin, waitSeconds }: Attempts,
): Promise<void> {
  const { rows } = await sql<{ refused: boolean; wait: number }>`
    insert into sign_in_attempts as a (email, origin, attempts, last_at)
    values (${canonicalEmail(email)}, ${origin}, 1, now())
    on conflict (email, origin) do update set
      attempts = case when a.last_at < now() - ${LOCK_SECONDS} * interval '1 second'
                       and a.origin <> ${ALL_CODES.origin} then 1
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

/** After a success with this factor. Also deletes what is a day old, but for `ALL_CODES`. */
export async function forgetAttempts(db: Reader, email: string, factor: Factor): Promise<void> {
  await sql`
    delete from sign_in_attempts
     where (email = ${canonicalEmail(email)} and starts_with(origin, 'code') = ${factor === 'code'})
        or (last_at < now() - interval '1 day' and origin <> ${ALL_CODES.origin})`.execute(db);
}
