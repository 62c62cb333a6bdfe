import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { hashToken } from '@portcullis/control/access/index.ts';
import { SoftwareAuthenticator } from '@portcullis/control/accounts/passkeys/authenticator-testing.ts';
import { stepAt, totpCode } from '@portcullis/control/accounts/second-factor.ts';
import {
  PASSWORD,
  SAME_SITE,
  type SignInReply,
  signIn,
  tokenIn,
} from '@portcullis/control/accounts/testing.ts';
import type { Tx } from '@portcullis/control/db/database.ts';
import {
  createSessionClient,
  type TestClient,
  type TestReply,
} from '@portcullis/control/testing/client.ts';
import {
  createRateLimiter,
  type RateLimited,
} from '@portcullis/control/http/operations/rate-limit.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';

/** The test environment of the API without limits of requests, so that a test meets those that it is about. */
export function start(
  t: Parameters<typeof startEnvironment>[0],
  overrides: Parameters<typeof startEnvironment>[1] = {},
): Promise<TestEnvironment> {
  const rateLimiter = {
    ...createRateLimiter(),
    take: (by: RateLimited) => createRateLimiter().take(by),
  };
  return startEnvironment(t, { rateLimiter, ...overrides });
}

export const ORIGIN = 'https://portcullis.example';
export const PORTAL = '/api/portal';

export function post(env: TestEnvironment, path: string, json: object): Promise<TestReply> {
  return env.anonymous().send('POST', PORTAL + path, { json, headers: SAME_SITE });
}

export const readLink = (env: TestEnvironment, token: string): Promise<TestReply> =>
  post(env, '/links/read', { token });

export const acceptLink = (env: TestEnvironment, json: object): Promise<TestReply> =>
  post(env, '/links/accept', json);

/** The token of a link that was just made. */
export function tokenOfLink(reply: TestReply): string {
  assert.ok(reply.status < 300, reply.text);
  const { url } = (reply.body as { data: { url: string } }).data;
  return url.split('#')[1] ?? assert.fail(url);
}

/** An account made by an invitation of `inviter` to this organisation, whose link the inviter kept. */
export async function squat(
  env: TestEnvironment,
  email: string,
  inviter: TestClient,
  organisation: string,
): Promise<TestClient> {
  const path = `${PORTAL}/organisations/${organisation}/invitations`;
  const token = tokenOfLink(await inviter.post(path, { email, role: 'member' }));
  const accepted = await acceptLink(env, { token, name: 'Squatter', password: PASSWORD });
  assert.equal(accepted.status, 200, accepted.text);
  return sessionOf(env, await signIn(env, { email }));
}

export function sessionOf(env: TestEnvironment, reply: SignInReply): TestClient {
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return createSessionClient(env.url, tokenIn(reply));
}

/** Adds a passkey to the account of a session. */
export async function addPasskey(
  session: TestClient,
  password = PASSWORD,
): Promise<SoftwareAuthenticator> {
  const authenticator = new SoftwareAuthenticator(ORIGIN);
  const options = await session.post(`${PORTAL}/account/passkeys/options`, { password });
  assert.equal(options.status, 200, options.text);
  const credential = authenticator.register(challengeIn(options));
  const added = await session.post(`${PORTAL}/account/passkeys`, { name: 'Key', credential });
  assert.equal(added.status, 201, added.text);
  return authenticator;
}

export async function signInByPasskey(
  env: TestEnvironment,
  authenticator: SoftwareAuthenticator,
): Promise<TestReply> {
  const options = await env
    .anonymous()
    .send('POST', `${PORTAL}/sign-in/passkey/options`, { headers: SAME_SITE });
  const credential = authenticator.authenticate(challengeIn(options));
  return post(env, '/sign-in/passkey', { credential });
}

export function challengeIn({ body }: TestReply): { challenge: string } {
  return (body as { data: { challenge: string } }).data;
}

const SECRET = Buffer.from('12345678901234567890');

/** Turns the authenticator app of a person on. */
export async function addApp({ db }: TestEnvironment, email: string): Promise<void> {
  await sql`
    update people set totp_secret = ${SECRET}, totp_confirmed_at = now(), totp_last_step = 0
     where email = ${email}`.execute(db);
}

export const rightCode = (): string => totpCode(SECRET, stepAt(Date.now()));

/** Codes that are wrong now and in the next minutes, each another one. */
export function wrongCodes(): () => string {
  const right = new Set(
    Array.from({ length: 30 }, (_, at) => totpCode(SECRET, stepAt(Date.now()) + at - 5)),
  );
  let next = 0;
  return () => {
    for (;;) {
      const code = String(next++).padStart(6, '0');
      if (!right.has(code)) return code;
    }
  };
}

export async function idOf({ db }: TestEnvironment, email: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`select id from people where email = ${email}`.execute(
    db,
  );
  return rows[0]?.id ?? assert.fail(email);
}

export async function roleIn(
  { db }: TestEnvironment,
  email: string,
  slug: string,
): Promise<string | null> {
  const { rows } = await sql<{ role: string }>`
    select m.role from members m join people p on p.id = m.person_id join organisations o on o.id = m.organisation_id
     where p.email = ${email} and o.slug = ${slug}`.execute(db);
  return rows[0]?.role ?? null;
}

/** The token that a mail server would have sent for this invitation: its token, which the inviter never sees. */
export async function mailedToken({ db }: TestEnvironment, email: string): Promise<string> {
  const token = `mailed to ${email}`.replaceAll(/[^\w]/g, '-').padEnd(43, '_');
  await sql`
    update portal_links set mailed_hash = ${hashToken(token)} where email = ${email} and used_at is null`.execute(
    db,
  );
  return token;
}

/** The actions of the audit trail, oldest first. */
export async function actions({ db }: TestEnvironment): Promise<string[]> {
  const { rows } = await sql<{ action: string }>`select action from audit order by id`.execute(db);
  return rows.map(({ action }) => action);
}

/** Holds what `lock` takes until the returned function is called, or the test ends. */
export async function hold(
  t: { after(stop: () => void): void },
  { db }: TestEnvironment,
  lock: (tx: Tx) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = db.transaction().execute(async (tx) => {
    await lock(tx);
    locked.resolve();
    await released.promise;
  });
  t.after(() => released.resolve());
  await Promise.race([locked.promise, holding]);
  return async () => {
    released.resolve();
    await holding;
  };
}

/** Resolves once so many statements of the test's database wait for a lock. */
export async function waiting({ db }: TestEnvironment, count: number): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ waiting: number }>`
      select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    if ((rows[0]?.waiting ?? 0) >= count) return;
  }
}
