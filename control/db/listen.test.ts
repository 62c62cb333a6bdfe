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

/** Notifications as events of the channel's name, so that a test can wait for them. */
function heardOn(t: { after(fn: () => Promise<void>): void }, url: string): EventEmitter {
  const heard = new Emitter();
  const listener = listen(url, ['portcullis_generation', 'portcullis_access'], (channel, payload) =>
    heard.emit(channel, payload),
  );
  t.after(() => listener.stop());
  return heard;
}

test('each channel is heard by its own name, after one call to look for oneself', async (t) => {
  const { db, url } = await testDatabase(t);
  const heard = heardOn(t, url);
  assert.deepEqual(await once(heard, 'portcullis_access'), [null]);
  const told = once(heard, 'portcullis_generation');
  await notify(db, 'somebody_else', 'x');
  await notify(db, 'portcullis_generation', '17');
  assert.deepEqual(await told, ['17']);
});

test('after a broken connection it listens again, and says to look for oneself', async (t) => {
  const { db, url } = await testDatabase(t);
  const heard = heardOn(t, url);
  await once(heard, 'portcullis_access');
  const again = once(heard, 'portcullis_access');
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'portcullis listen'`.execute(db);
  assert.deepEqual(await again, [null]);
  const told = once(heard, 'portcullis_access');
  await notify(db, 'portcullis_access', 'after');
  assert.deepEqual(await told, ['after']);
});

test('it can be stopped while no server is there', async () => {
  const failures = new Emitter();
  const failed = once(failures, 'failed');
  const listener = listen('postgresql:///x?host=%2Fnonexistent&user=x', [], () => {}, {
    onError: () => failures.emit('failed'),
  });
  await failed;
  await listener.stop();
});
