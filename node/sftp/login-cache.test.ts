import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Login, LoginCache, type LoginReply } from './login-cache.ts';
import { TestDoor } from './testing/door.ts';

const LOGIN: Login = {
  email: 'ada@example.net',
  server: '6f1c2f1e',
  method: 'password',
  secret: 'right',
  proved: true,
  source: '192.0.2.1',
};
const ADMITTED: LoginReply = {
  kind: 'sftp.admitted',
  session: { person: 1, server: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11', credential: 'password:1' },
  actor: 'ada@example.net',
  rights: ['file.sftp'],
};
const DENIED: LoginReply = { kind: 'sftp.denied', reason: 'no' };

/** A control that counts what it is asked, and answers when it is let. */
function countingControl(replies: { next: LoginReply; until?: Promise<void> }) {
  const asked: Login[] = [];
  const cache = new LoginCache(async (login) => {
    asked.push(login);
    const { next } = replies;
    await replies.until;
    return next;
  });
  return { asked, cache };
}

test('asks control once for many connections of a file manager', async (t) => {
  const host = await new TestDoor(t).start();
  await Promise.all(Array.from({ length: 8 }, () => host.connect()));
  await host.connect();
  assert.equal(host.logins.length, 1);
  await host.door.check();
  await host.connect();
  assert.equal(host.logins.length, 2);
});

test('takes nothing else for a login that it knows, and never a refusal', async () => {
  const replies: { next: LoginReply } = { next: ADMITTED };
  const { asked, cache } = countingControl(replies);
  await cache.login(LOGIN);
  for (const changes of [
    { secret: 'wrong' },
    { email: 'bob@example.net' },
    { server: '6f1c2f1f' },
    { source: '192.0.2.2' },
    { method: 'key' },
  ] as const) {
    replies.next = DENIED;
    for (let count = 0; count < 2; count += 1)
      assert.equal((await cache.login({ ...LOGIN, ...changes })).kind, 'sftp.denied');
  }
  assert.equal(asked.length, 11);
  assert.equal((await cache.login(LOGIN)).kind, 'sftp.admitted');
  assert.equal(asked.length, 11);
});

test('drops answers that are older than a change of rights', async () => {
  const until = Promise.withResolvers<void>();
  const replies: Parameters<typeof countingControl>[0] = { next: ADMITTED, until: until.promise };
  const { cache } = countingControl(replies);
  const before = cache.login(LOGIN);
  cache.forget();
  replies.next = DENIED;
  const after = cache.login(LOGIN);
  until.resolve();
  assert.equal((await before).kind, 'sftp.admitted');
  assert.equal((await after).kind, 'sftp.denied');
  assert.equal((await cache.login(LOGIN)).kind, 'sftp.denied');
});

test('admits by a key that was only asked about nobody', async () => {
  const replies: { next: LoginReply } = { next: ADMITTED };
  const { asked, cache } = countingControl(replies);
  await cache.login({ ...LOGIN, method: 'key', proved: false });
  replies.next = DENIED;
  assert.equal((await cache.login({ ...LOGIN, method: 'key' })).kind, 'sftp.denied');
  assert.equal(asked.length, 2);
});
