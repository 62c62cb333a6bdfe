import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockEverything, LockOrderError, lockRows, noteLock } from './locks.ts';
import { testDatabase } from './testing.ts';

test('a lock out of order, or one that becomes stronger, is refused at once', async (t) => {
  const { db } = await testDatabase(t);
  const inTransaction = (script: Parameters<ReturnType<typeof db.transaction>['execute']>[0]) =>
    db.transaction().execute(script);
  await inTransaction(async (tx) => {
    await lockRows(tx, 'holdings', [3, 1, 2], 'share');
    await lockRows(tx, 'addresses', [7], 'update');
    // What is locked may be locked again.
    await lockRows(tx, 'holdings', [1], 'share');
    noteLock(tx, 'fleet');
  });
  await assert.rejects(
    inTransaction(async (tx) => {
      await lockRows(tx, 'organisations', [1], 'no key update');
      await lockRows(tx, 'holdings', [1], 'share');
    }),
    LockOrderError,
  );
  await assert.rejects(
    inTransaction(async (tx) => {
      await lockRows(tx, 'holdings', [1], 'share');
      await lockRows(tx, 'holdings', [1], 'no key update');
    }),
    LockOrderError,
  );
  await assert.rejects(
    inTransaction(async (tx) => {
      noteLock(tx, 'fleet');
      await lockRows(tx, 'groups', [1], 'update');
    }),
    LockOrderError,
  );
  await inTransaction(async (tx) => {
    await lockEverything(tx);
    noteLock(tx, 'fleet');
    await lockRows(tx, 'groups', [1], 'update');
  });
});

/** Rows that these lock alone, or whose order they keep themselves. */
const OWN_LOCKS = [
  'control/db/',
  // Keys, people and links: the rights of a caller, before everything else.
  'control/access/key-store.ts',
  'control/accounts/',
  'control/operator/joining/',
  // Attacks, deliveries and events: tables that no request of a tenant writes to.
  'control/attacks/detection/',
  'control/attacks/response/',
  'control/events/',
  'control/webhooks/',
  'control/fleet/timers/',
  // Locks a holding and an address in one statement, and notes both.
  'control/firewall/store.ts',
  'control/firewall/blocked/store.ts',
  // Old entries of the activity, of which it waits for none.
  'control/game-servers/activity.ts',
];

test('rows of firewall, servers and fleet are locked by one helper, which keeps their order', () => {
  const root = join(import.meta.dirname, '..', '..');
  const found = globSync('control/**/*.ts', { cwd: root }).filter(
    (file) =>
      !file.endsWith('.test.ts') &&
      !OWN_LOCKS.some((own) => file.startsWith(own)) &&
      /\bfor (?:no key )?(?:update|share)\b[^.]|forUpdate\(|forShare\(/.test(
        readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, ''),
      ),
  );
  assert.deepEqual(found, []);
});
