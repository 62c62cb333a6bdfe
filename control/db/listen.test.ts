import assert from 'node:assert/strict';
import { type EventEmitter, EventEmitter as Emitter, once } from 'node:events';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from './database.ts';
import { listen } from './listen.ts';
import { testDatabase } from './testing.ts';

async function notify(db: Db, channel: string, payload: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${payload})`.execute(db);
}

/** Emits notifications as events named after the channel, so that a test can wait for them. */
function heardOn(t: { after(fn: () => Promise<void>): void }, url: string): EventEmitter {
  const received = new Emitter();
  const listener = listen(url, ['portcullis_generation', 'portcullis_access'], (channel, payload) =>
    received.emit(channel, payload),
  );
  t.after(() => listener.stop());
  return received;
}

test('reports each channel by name, after an initial call to read the current state', async (t) => {
  const { db, url } = await testDatabase(t);
  const received = heardOn(t, url);
  assert.deepEqual(await once(received, 'portcullis_access'), [null]);
  const reported = once(received, 'portcullis_generation');
  await notify(db, 'somebody_else', 'x');
  await notify(db, 'portcullis_generation', '17');
  assert.deepEqual(await reported, ['17']);
});

test('listens again after a lost connection and requests a new read', async (t) => {
  const { db, url } = await testDatabase(t);
  const received = heardOn(t, url);
  await once(received, 'portcullis_access');
  const again = once(received, 'portcullis_access');
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'portcullis listen'`.execute(db);
  assert.deepEqual(await again, [null]);
  const reported = once(received, 'portcullis_access');
  await notify(db, 'portcullis_access', 'after');
  assert.deepEqual(await reported, ['after']);
});

test('stops while the server is unreachable', async () => {
  const failures = new Emitter();
  const failed = once(failures, 'failed');
  const listener = listen('postgresql:///x?host=%2Fnonexistent&user=x', [], () => {}, {
    onError: () => failures.emit('failed'),
  });
  await failed;
  await listener.stop();
});
