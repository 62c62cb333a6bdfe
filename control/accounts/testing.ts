import { sql } from 'kysely';
import type { TestEnvironment } from '../testing/fixture.ts';
import { hashPassword } from './prove.ts';

export const PASSWORD = 'correct horse battery';
export const SAME_SITE = { 'sec-fetch-site': 'same-origin' } as const;

/** A person with a password; its id. */
export async function addPerson({ db }: TestEnvironment, email: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into people (email, name, password_hash) values (${email}, 'Ada', ${await hashPassword(PASSWORD)})
    returning id`.execute(db);
  return rows[0]?.id ?? 0;
}

export interface SignInReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export function signIn(
  env: TestEnvironment,
  body: { email: string; password?: string; code?: string },
  headers: Readonly<Record<string, string>> = {},
): Promise<SignInReply> {
  const json = { password: PASSWORD, ...body };
  return env.anonymous().send('POST', '/api/portal/sign-in', {
    json,
    headers: { ...SAME_SITE, ...headers },
  });
}

/** The session's token in the Set-Cookie of a reply. */
export function tokenIn(reply: SignInReply): string {
  return /^__Host-portcullis=([^;]*)/.exec(reply.headers.get('set-cookie') ?? '')?.[1] ?? '';
}
