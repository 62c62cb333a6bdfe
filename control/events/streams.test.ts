import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Cursor } from './store.ts';
import { createEventFeed } from './feed.ts';
import { testDatabase } from '../db/testing.ts';
import { listen } from '../db/listen.ts';
import { startEnvironment, type TestEnvironment } from '../testing/fixture.ts';
import { tokenOf } from '../testing/people.ts';

interface Streams extends TestEnvironment {
  open(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage>;
}

/** The test environment with notifications passed on, as control does. */
async function start(t: TestContext): Promise<Streams> {
  const ending = new AbortController();
  t.after(() => ending.abort());
  const environment = await startEnvironment(t);
  const { access, databaseUrl, events, url } = environment;
  const listening = Promise.withResolvers<void>();
  const listener = listen(databaseUrl, ['portcullis_events', 'portcullis_access'], (channel) => {
    if (channel === 'portcullis_access') access.forget();
    else events.wake();
    listening.resolve();
  });
  t.after(() => listener.stop());
  await listening.promise;
  const open = async (path: string, headers: Readonly<Record<string, string>>) => {
    const request = get(url + path, { headers, agent: false, signal: ending.signal });
    request.on('error', () => {});
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => {});
    return response;
  };
  return { ...environment, open };
}

/** Text until the other side ends the stream, and whether it ended it in order. */
async function readAll(response: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  let text = '';
  response.setEncoding('utf8').on('data', (part: string) => void (text += part));
  await once(response, 'close');
  return { text, isWhole: response.complete };
}

const keyOf = ({ authorization }: { readonly authorization: string | null }) => ({
  authorization: authorization ?? '',
});

/** The time after which everything live is in the stream long before. */
const LIVE_MS = 1_000;

test('a stream that is not read is ended at 256 kB, and resumes where it was', async (t) => {
  const { db, url } = await testDatabase(t);
  const feed = createEventFeed(db);
  const listener = listen(url, ['portcullis_events'], () => feed.wake());
  t.after(() => listener.stop());
  const add = () =>
    sql`
    select add_event(null, 'write.live', '203.0.113.1', jsonb_build_object('pad', repeat('x', 20000)))
      from generate_series(1, 10)`.execute(db);
  const follow = (after: Cursor, ending: AbortController) => {
    t.after(() => ending.abort());
    return feed.follow({ organisationId: null, sees: () => true, after, ending });
  };
  const ending = new AbortController();
  const slow = follow({ transaction: '0', id: 0 }, ending);
  await add();
  let written = 10;
  let texts = String((await slow.next()).value);
  // Reads until what it gets is no backlog any more, which nobody can tell from outside, and then nothing.
  while (!ending.signal.aborted) {
    const next = slow.next();
    await add();
    texts += String((await next).value);
    await add();
    await add();
    written += 30;
    await Promise.race([once(ending.signal, 'abort'), delay(LIVE_MS)]);
  }
  assert.equal((await slow.next()).done, true);
  const ids = [...texts.matchAll(/^id: (\d+)-(\d+)$/gm)];
  const [, transaction = '', id = ''] = ids.at(-1) ?? [];
  const resumed = follow({ transaction, id: Number(id) }, new AbortController());
  let received = ids.length;
  while (received < written) {
    const { value } = await resumed.next();
    received += value?.match(/^event: /gm)?.length ?? 0;
  }
  assert.equal(received, written);
});

test('a key has at most 20 streams, and another key its own', async (t) => {
  const { acme, other, open } = await start(t);
  const streams = await Promise.all(
    Array.from({ length: 21 }, () => open('/api/x1/events', keyOf(acme))),
  );
  const statuses = streams.map(({ statusCode = 0 }) => statusCode).toSorted((a, b) => a - b);
  assert.deepEqual(statuses, [...Array<number>(20).fill(200), 429]);
  assert.equal((await open('/api/x1/events', keyOf(other))).statusCode, 200);
});

const ENDS = {
  'a removed member': sql`delete from members where person_id = (select id from people where email = 'member@acme.example')`,
  'an ended session': sql`delete from sessions where person_id = (select id from people where email = 'admin@acme.example')`,
  'a disabled account': sql`update people set disabled_at = now() where email = 'owner@acme.example'`,
  'an operator that acts no more': sql`update sessions set acting_id = null where acting_id is not null`,
  'a revoked key': sql`with revoked as (update api_keys set revoked_at = now()) select pg_notify('portcullis_access', '')`,
} as const;

test('a stream ends with the right that opened it, by a notification', async (t) => {
  // The check without a notification never comes.
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { db, acme, open } = await start(t);
  const path = '/api/portal/organisations/acme/x1/events';
  const session = (person: Parameters<typeof tokenOf>[0]) =>
    open(path, { cookie: `__Host-portcullis=${tokenOf(person)}` });
  const streams: Record<keyof typeof ENDS, IncomingMessage> = {
    'a removed member': await session('member'),
    'an ended session': await session('admin'),
    'a disabled account': await session('owner'),
    'an operator that acts no more': await session('acting'),
    'a revoked key': await open('/api/x1/events', keyOf(acme)),
  };
  const untouched = await session('read-only');
  for (const [name, end] of Object.entries(ENDS)) {
    const stream = streams[name as keyof typeof ENDS];
    assert.equal(stream.statusCode, 200, name);
    await end.execute(db);
    const { text, isWhole } = await readAll(stream);
    assert.equal(isWhole, true, name);
    assert.doesNotMatch(text, /event: /, name);
  }
  assert.equal(untouched.readableEnded, false);
});
