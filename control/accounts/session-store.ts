import { randomBytes } from 'node:crypto';
import { isLoopbackHost } from '@portcullis/core/net/public-address.ts';
import { sql } from 'kysely';
import { hashToken, recordAudit, readCookie, sessionCookieName } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import { Problem } from '../problem.ts';
import type { PersonRow } from './person-store.ts';

/** A device is remembered for 180 days after its last sign-in. */
const DEVICE_DAYS = 180;

/** 30 days; the session itself also ends after 7 without a request. */
const MAX_AGE_SECONDS = 30 * 86_400;

export interface Visitor {
  readonly source: string | null;
  readonly requestId: string;
  readonly userAgent: string | null;
  readonly cookies: string | undefined;
}

/**
 * A password and a session cross the network only encrypted. Without TLS the portal is for browsers on this machine, or
 * for those behind an encrypting proxy, whose URL is the public one.
 */
export function requireEncrypted(publicUrl: string): void {
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'https:' || isLoopbackHost(hostname)) return;
  throw new Problem(
    'invalid_request',
    'Signing in needs https: the operator gives Portcullis a certificate, or sets the public URL to that of a TLS proxy.',
  );
}

/** 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Begins a session with a new token, whatever cookie the browser sent, and returns the values of Set-Cookie: the
 * session, and the device. Expired sessions and forgotten devices of everybody are deleted with it.
 */
export async function beginSession(
  tx: Tx,
  person: Pick<PersonRow, 'id' | 'email'>,
  how: {
    readonly visitor: Visitor;
    readonly by: 'password' | 'passkey' | 'link';
    readonly publicUrl: string;
  },
): Promise<string[]> {
  const { source, requestId, userAgent } = how.visitor;
  const token = newToken();
  await sql`delete from sessions where expires_at < now()`.execute(tx);
  await sql`
    insert into sessions (token_hash, person_id, source, user_agent, expires_at)
    values (${hashToken(token)}, ${person.id}, ${source}::inet, ${userAgent?.slice(0, 300) ?? null},
            now() + ${MAX_AGE_SECONDS} * interval '1 second')`.execute(tx);
  await recordAudit(tx, {
    actor: { kind: 'user', name: person.email, source, requestId },
    organisationId: null,
    action: 'session.begin',
    target: `person:${person.id}`,
    detail: { by: how.by },
  });
  const name = sessionCookieName(how.publicUrl);
  return [
    cookie(how.publicUrl, name, { value: token, maxAge: MAX_AGE_SECONDS }),
    await rememberDevice(tx, person.id, how),
  ];
}

function deviceCookieName(publicUrl: string): string {
  return `${sessionCookieName(publicUrl)}-device`;
}

/** The device of a Cookie header that this person signed in with before; null without one. */
export async function findDevice(
  db: Reader,
  personId: number,
  cookies: string | undefined,
  publicUrl: string,
): Promise<number | null> {
  const token = readCookie(cookies, deviceCookieName(publicUrl));
  if (token === null) return null;
  const { rows } = await sql<{ id: number }>`
    select id from devices where token_hash = ${hashToken(token)} and person_id = ${personId}
       and last_seen_at > now() - ${DEVICE_DAYS} * interval '1 day'`.execute(db);
  return rows[0]?.id ?? null;
}

/** Forgets the devices of a person but `keptId`: they count their attempts apart from strangers. */
export async function forgetDevices(
  tx: Tx,
  personId: number,
  keptId: number | null,
): Promise<void> {
  await sql`
    delete from devices where person_id = ${personId} and id is distinct from ${keptId}`.execute(
    tx,
  );
}

/** With a new token, because another person may have used the browser. */
async function rememberDevice(
  tx: Tx,
  personId: number,
  { visitor, publicUrl }: { readonly visitor: Visitor; readonly publicUrl: string },
): Promise<string> {
  const token = newToken();
  const known = await findDevice(tx, personId, visitor.cookies, publicUrl);
  await sql`
    delete from devices
     where id = ${known} or last_seen_at < now() - ${DEVICE_DAYS} * interval '1 day'`.execute(tx);
  await sql`
    insert into devices (token_hash, person_id) values (${hashToken(token)}, ${personId})`.execute(
    tx,
  );
  const maxAge = DEVICE_DAYS * 86_400;
  return cookie(publicUrl, deviceCookieName(publicUrl), { value: token, maxAge });
}

/** The Set-Cookie that deletes the cookie. */
export function endCookie(publicUrl: string): string {
  return cookie(publicUrl, sessionCookieName(publicUrl), { value: '', maxAge: 0 });
}

function cookie(
  publicUrl: string,
  name: string,
  { value, maxAge }: { readonly value: string; readonly maxAge: number },
): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}
