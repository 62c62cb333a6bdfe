import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OTHER, startEnvironment } from '../../../testing/fixture.ts';
import { list } from '../../history/testing.ts';
import { outageAttack, SUBJECT, TestWatch } from '../watch/testing.ts';
import { recordOutageAttacks } from './outage.ts';

const MINUTE = 60_000;

test('records an attack of an outage once, however often and concurrently it is reported', async (t) => {
  const { db, acme } = await startEnvironment(t);
  const startedMs = Date.now() - 60 * MINUTE;
  const attack = { ...outageAttack(startedMs, startedMs + 5 * MINUTE), mitigatedAtMs: startedMs };
  // Ages are computed at each repetition, so its times differ a little.
  const repeat = (ms: number) =>
    recordOutageAttacks(db, 'fra1', [{ ...attack, startedAtMs: startedMs + ms }]);
  const recorded = await Promise.all(Array.from({ length: 8 }, (_, index) => repeat(index)));
  assert.equal(recorded.flat().length, 1);
  assert.deepEqual(await repeat(9), []);
  await recordOutageAttacks(db, 'fra2', [attack]);
  const { data } = await list(acme);
  assert.deepEqual(
    data.map(({ status }) => status),
    ['ended', 'ended'],
    'each edge has its own row',
  );
});

test('shows an attack of an outage to the organisation whose holding had the address when it started', async (t) => {
  const { db, acme, other } = await startEnvironment(t);
  const sinceMs = Date.now() - 10 * MINUTE;
  await sql`
    insert into holdings (organisation_id, cidr, during, owner, asn)
    select organisation_id, ${`${SUBJECT}/32`}::cidr, tstzrange(${new Date(sinceMs)}, null), owner, asn
      from holdings where organisation_id = ${OTHER} and asn is not null limit 1`.execute(db);
  const before = outageAttack(sinceMs - MINUTE, sinceMs + MINUTE);
  const after = outageAttack(sinceMs + 2 * MINUTE, sinceMs + 3 * MINUTE);
  const recorded = await recordOutageAttacks(db, 'fra1', [before, after]);
  assert.deepEqual(
    (await list(other)).data.map(({ id }) => id),
    [recorded[1]?.attackId],
  );
  assert.deepEqual((await list(acme)).data, []);
  const { rows } = await sql<{ id: number }>`
    select organisation_id as id from attacks order by id`.execute(db);
  assert.equal(new Set(rows.map(({ id }) => id)).size, 2);
});

test('leaves the record of an ongoing attack unchanged when an attack of an outage is reported', async (t) => {
  const { db, acme } = await startEnvironment(t);
  const watch = new TestWatch(db, Date.now() - 10 * MINUTE);
  await watch.scopes.load();
  await watch.play(5, { [SUBJECT]: 40_000 });
  const [live] = (await list(acme)).data;
  await recordOutageAttacks(db, 'fra1', [
    outageAttack(watch.nowMs - 20 * MINUTE, watch.nowMs - 2_000),
  ]);
  await watch.play(1, { [SUBJECT]: 40_000 });
  const { data } = await list(acme);
  assert.equal(data.length, 2);
  const found = data.find(({ id }) => id === live?.id);
  assert.deepEqual([found?.started_at, found?.status], [live?.started_at, 'ongoing']);
});
