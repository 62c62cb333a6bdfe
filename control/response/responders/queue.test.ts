import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { insertHolding, insertOrganisation } from '../../fleet/testing.ts';
import { recordOngoing, respondToAll } from '../mitigations/testing.ts';
import { claimCalls, releaseCall, saveResult } from './queue.ts';

test('a late result of an earlier attempt changes nothing of the next attempt', async (t) => {
  const { db } = await testDatabase(t);
  const call = { kind: 'webhook', url: 'http://127.0.0.1:9/', secret: null };
  const spec = { call, prefixes: null, pps: null, mbps: null, timeoutSeconds: 5 };
  await sql`insert into responders (name, spec, owner)
            values ('a', ${JSON.stringify({ ...spec, expiresSeconds: 3600 })}::jsonb, 'fleet')`.execute(
    db,
  );
  await insertHolding(db, await insertOrganisation(db, 'acme'), '10.1.0.0/24');
  await respondToAll(db, [await recordOngoing(db, '10.1.0.1', 'udp_flood')]);
  const [first] = await claimCalls(db, 0);
  await sql`update responder_calls set due_at = now(), claimed_until = now()`.execute(db);
  const [second] = await claimCalls(db, 0);
  if (first === undefined || second === undefined) throw new Error('there was no call to claim');
  const stored = async () => (await sql`select * from responder_calls`.execute(db)).rows;
  const claimed = await stored();
  await saveResult(db, first, { succeeded: true, said: 'late' });
  await releaseCall(db, first);
  assert.deepEqual(await stored(), claimed);
  assert.equal(await saveResult(db, second, { succeeded: true, said: 'now' }), true);
  assert.notDeepEqual(await stored(), claimed);
});
