import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { requireGoodPassword } from '@portcullis/control/accounts/good-password.ts';
import { hashing, releaseHashing } from '@portcullis/control/accounts/index.ts';
import { dataOf, type TestReply } from '@portcullis/control/testing/client.ts';
import { createRateLimiter } from '@portcullis/control/http/operations/rate-limit.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const CONFIG = {
  listen: { host: '127.0.0.1', port: 0 },
  publicUrl: 'https://portcullis.example',
  trustedProxies: ['127.0.0.1'],
  tls: null,
  metrics: null,
} as const;
const SIGN_IN = '/api/portal/sign-in';
const IP = '/api/v1/firewall/ips/203.0.113.10';

test('a key gets a compressed answer while strangers of 200 networks sign in', async (t) => {
  const { acme, anonymous, url } = await startEnvironment(t, {
    config: CONFIG,
    deadlineMs: 60_000,
  });
  const ports = { action: 'deny', protocol: 'udp', destination_port: '1-60' };
  dataOf(await acme.post(`${IP}/rules`, ports));
  const stranger = anonymous();
  const release = hashWithoutEnd(t);
  const signIns = Array.from(
    { length: 200 },
    (_, at): Promise<TestReply> =>
      stranger.send('POST', SIGN_IN, {
        json: { email: `${at}@acme.example`, password: 'wrong password' },
        headers: { 'x-portcullis-csrf': '1', 'x-forwarded-for': `2001:db8:${at}::1` },
      }),
  );
  while (hashing.queue.running < hashing.size.running) await delay(1);
  const headers = { authorization: acme.authorization ?? '', 'accept-encoding': 'gzip' };
  for (let n = 0; n < 5; n += 1) {
    const reply = await fetch(`${url}${IP}`, { headers });
    assert.equal(reply.headers.get('content-encoding'), 'gzip');
    assert.equal(reply.status, 200);
    await reply.arrayBuffer();
  }
  release();
  const replies = await Promise.all(signIns);
  const statuses = new Set(replies.map(({ status }) => status));
  assert.deepEqual(statuses, new Set([401, 503]));
  for (const { status, headers: sent } of replies) {
    if (status === 503) assert.ok(Number(sent.get('retry-after')) > 0);
  }
  const answered = replies.filter(({ status }) => status === 401).length;
  assert.ok(answered > 20, `${answered}`);
});

/**
 * Has each thread repeat its hash until the returned function is called: whatever would wait for a hash waits without an end,
 * on a machine of any speed.
 */
function hashWithoutEnd(t: TestContext): () => void {
  let isReleased = false;
  for (const thread of hashing.threads) {
    const run = thread.run.bind(thread);
    t.mock.method(thread, 'run', async (order: Parameters<typeof run>[0]) => {
      for (;;) {
        const made = await run(order);
        if (isReleased) return made;
      }
    });
  }
  const release = (): void => {
    isReleased = true;
  };
  t.after(release);
  return release;
}

test('one network has the limit of one source, whatever its addresses', async (t) => {
  const { anonymous } = await startEnvironment(t, {
    config: CONFIG,
    rateLimiter: createRateLimiter(),
  });
  const stranger = anonymous();
  const from = async (address: string): Promise<number> => {
    const headers = { 'x-portcullis-csrf': '1', 'x-forwarded-for': address };
    const json = { token: 'x'.repeat(43) };
    return (await stranger.send('POST', '/api/portal/links/read', { json, headers })).status;
  };
  const statuses: number[] = [];
  for (let n = 0; n < 40; n += 1)
    statuses.push(await from(`2001:db8:aa:0:${n.toString(16)}::${n}`));
  assert.ok(
    statuses.slice(0, 20).every((status) => status !== 429),
    statuses.join(' '),
  );
  assert.ok(statuses.filter((status) => status === 429).length > 5, statuses.join(' '));
  assert.notEqual(await from('2001:db8:ab::1'), 429);
  assert.notEqual(await from('192.0.2.1'), 429);
});

test('a new password that takes long to estimate holds up nobody else', async (t) => {
  t.after(releaseHashing);
  const slow = 'p4$$w0rd'.repeat(32);
  await requireGoodPassword('correct horse battery');
  let turns = 0;
  let isDone = false;
  const estimated = requireGoodPassword(slow)
    .catch(() => {})
    .finally(() => (isDone = true));
  while (!isDone) {
    await nextTurn();
    turns += 1;
  }
  await estimated;
  assert.ok(turns > 20, `${turns} turns`);
});
