import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { startEnvironment } from '../../testing/fixture.ts';
import { recordOngoing, respondTo } from './mitigations/testing.ts';
import { ScopeTable } from '../detection/scopes/scope-table.ts';

test('sends cancelled attacks to edges with their watch settings until they can no longer continue', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const received = await recordOngoing(db, '203.0.113.10', 'ntp_amplification');
  await respondTo(db, received);
  await respondTo(db, await recordOngoing(db, '203.0.113.11', 'ntp_amplification'));
  const scopes = new ScopeTable(db);
  await scopes.load();
  const before = scopes.version;
  const reported = () => {
    const settings = scopes.page({
      kind: 'detection.getSettings',
      instance: 'i',
      version: null,
      cursor: null,
    });
    assert.ok(settings.kind === 'watch.settings');
    return settings.cancelled;
  };
  assert.deepEqual(reported(), []);
  const path = `/api/x1/attacks/${received.attackId}/mitigations`;
  assert.equal((await acme.delete(path, undefined)).status, 200);
  assert.equal(await scopes.load(), true);
  const { startedAtMs } = received.attack;
  assert.deepEqual(reported(), [{ subject: '203.0.113.10', startedAtMs }]);
  const end = (ago: string) =>
    sql`update ongoing_attacks set ended_at = now() - ${ago}::interval
         where attack_id = ${received.attackId}`.execute(db);
  await end('4 minutes');
  assert.equal(await scopes.load(), false);
  await end('6 minutes');
  assert.equal(await scopes.load(), true);
  assert.deepEqual([reported(), scopes.version], [[], before]);
});
