import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import {
  type Access,
  createAccess,
  type Session,
  sessionCookieName,
} from '@portcullis/control/access/index.ts';
import { createLogger } from '@portcullis/control/log.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import { tokenOf } from '@portcullis/control/testing/people.ts';

const cookieOf = (token: string): string => `${sessionCookieName('https:')}=${token}`;
const guess = (): string => cookieOf(randomBytes(32).toString('base64url'));
const ATTACKER = '2001:db8:0:1::1';
/** The burst of one source; a slow machine gets some back meanwhile. */
const BURST = 60;
const TRIES = 500;

/** Counts what reads sessions, and how many queries it made. */
async function countQueries(t: TestContext): Promise<{ access: Access; queries: () => number }> {
  const { db } = await startEnvironment(t);
  let queries = 0;
  const counted = new Proxy(db, {
    get(target, name) {
      if (name === 'getExecutor') queries += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const access = createAccess({ db: counted, log: createLogger({ level: 'silent' }) });
  t.after(() => access.stop());
  return { access, queries: () => queries };
}

test('cookies of no session cost a source few queries, and those who signed in nothing', async (t) => {
  const { access, queries } = await countQueries(t);
  const owner = cookieOf(tokenOf('owner'));
  const read = (cookie: string, source: string, slug: string | null = null) =>
    access.authenticateSession(cookie, slug, source);
  await read(owner, ATTACKER);
  const begun = queries();
  const codes = new Map<unknown, number>();
  const tries = Array.from({ length: TRIES }, (_, at) =>
    read(guess(), `2001:db8:0:1::${at.toString(16)}`).catch(({ code }: { code: unknown }) =>
      codes.set(code, (codes.get(code) ?? 0) + 1),
    ),
  );
  await Promise.all(tries);
  assert.deepEqual(new Set(codes.keys()), new Set(['rate_limited', 'unauthenticated']));
  assert.ok(queries() - begun < BURST * 2, `${queries() - begun} queries`);
  // Behind the same address, and elsewhere.
  const roleIn = ({ by }: Session): string | null => (by.kind === 'member' ? by.role : null);
  assert.equal(roleIn(await read(owner, ATTACKER, 'acme')), 'owner');
  assert.equal(roleIn(await read(owner, '192.0.2.1')), null);
  await assert.rejects(read(owner, ATTACKER, 'other'), { code: 'not_found' });
  assert.equal(roleIn(await read(owner, ATTACKER, 'acme')), 'owner');
});
