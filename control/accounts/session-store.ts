import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { hashToken, recordAudit, sessionCookieName } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { Problem } from '../problem.ts';
import type { PersonRow } from './person-store.ts';

/** 30 days; the session itself also ends after 7 without a request. */
const MAX_AGE_SECONDS = 30 * 86_400;

export interface Visitor {
  readonly source: string | null;
  readonly requestId: string;
  readonly userAgent: string | null;
}

/**
 * A password and a session cross the network only encrypted. Without TLS the portal is for browsers on this machine, or
 * for those behind an encrypting proxy, whose URL is the public one.
 */
export function requireEncrypted(publicUrl: string): void {
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'https:' || LOOPBACK.test(hostname)) return;
  throw new Problem(
    'invalid_request',
    'Signing in needs https: the operator gives Portcullis a certificate, or sets the public URL to that of a TLS proxy.',
  );
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Begins a session with a new token, whatever cookie the browser sent, and returns the value of Set-Cookie. Expired
 * sessions of everybody are deleted with it.
 */
export async function beginSession(
  tx: Tx,
  person: Pick<PersonRow, 'id' | 'email'>,
  how: {
    readonly visitor: Visitor;
    readonly by: 'password' | 'passkey';
    readonly publicUrl: string;
  },
): Promise<string> {
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
  return cookie(how.publicUrl, token, MAX_AGE_SECONDS);
}

/** The Set-Cookie that deletes the cookie. */
export function endCookie(publicUrl: string): string {
  return cookie(publicUrl, '', 0);
}

function cookie(publicUrl: string, value: string, maxAge: number): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  return `${sessionCookieName(publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}
