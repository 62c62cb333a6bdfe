import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from './db/database.ts';
import { describeUnavailable } from './db/failure.ts';
import { testDatabase } from './db/testing.ts';
import { createReadReadiness } from './http/server/health.ts';
import { createLogger } from './log.ts';
import { createReadiness } from './readiness.ts';

const enforcement = {
  read: async () => ({ state: 'none' as const, detail: '', generation: 0, edges: [] }),
};
const isFleetApplied = (): boolean => true;

test('a database that takes no writes is not ready, and says why', async (t) => {
  const { db, url } = await testDatabase(t);
  const writable = await createReadiness({ db, enforcement, isFleetApplied })();
  assert.deepEqual(writable.database, { ok: true, detail: 'The database takes writes.' });
  const { rows } = await sql`select from write_probe`.execute(db);
  assert.equal(rows.length, 0, 'nothing stays');

  const { rows: names } = await sql<{ name: string }>`select current_database() as name`.execute(
    db,
  );
  const name = sql.id(names[0]?.name ?? '');
  await sql`alter database ${name} set default_transaction_read_only = on`.execute(db);
  const later = openDatabase({ url, onIdleError: () => {} });
  t.after(() => later.destroy());
  const { database } = await createReadiness({ db: later, enforcement, isFleetApplied })();
  assert.equal(database.ok, false);
  assert.match(database.detail, /takes no writes now: it is read-only/);
});

test('a full disk is named, also as a cause', () => {
  const full = Object.assign(new Error('could not extend file'), { code: '53100' });
  assert.match(describeUnavailable(new Error('failed', { cause: full })), /disk .* is full/);
  assert.match(describeUnavailable(new Error('gone')), /cannot be reached/);
});

test('an embedded PostgreSQL is spoken of only where there is one', async (t) => {
  const { db } = await testDatabase(t);
  const checks = async (more: { readonly postgresPid?: () => number | null }) => {
    const readiness = createReadiness({ db, enforcement, isFleetApplied, ...more });
    const hint = () => null;
    const read = createReadReadiness({ readiness, log: createLogger({ level: 'silent' }), hint });
    return Object(await read('public')).document.checks as Record<string, { ok: boolean }>;
  };
  assert.deepEqual(Object.keys(await checks({})), ['database', 'migrations', 'fleet']);
  assert.deepEqual((await checks({ postgresPid: () => 7 }))['embedded_postgres'], { ok: true });
  assert.equal((await checks({ postgresPid: () => null }))['embedded_postgres']?.ok, false);
});
