import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import type { WireAttack } from '@portcullis/link/watch-messages.ts';
import type { Db } from '../../db/database.ts';
import { startWorld } from '../../http/testing/fixture.ts';
import { list, path } from '../history/testing.ts';
import { createWatchDesk } from '../watch/desk.ts';
import { SUBJECT, TestWatch, wireAttack } from '../watch/testing.ts';
import { recordLate } from './late.ts';

const MINUTE = 60_000;

const late = (db: Db, attack: WireAttack, edge = 'fra1') =>
  recordLate(db, { edge, attack, thresholds: DEFAULT_THRESHOLDS });

async function recordsOf(db: Db) {
  const { rows } = await sql<{ id: number; started: Date; ended: Date | null; pps: number }>`
    select id, started_at as started, ended_at as ended, peak_pps as pps from attacks
     where until_revision = 9223372036854775807 order by started_at`.execute(db);
  return rows.map(({ started, ended, ...row }) => ({
    ...row,
    started: started.getTime(),
    ended: ended?.getTime() ?? null,
  }));
}

test('what edges tell late is recorded once, however often and by however many at once', async (t) => {
  const { db, acme } = await startWorld(t);
  const beganMs = Date.now() - 60 * MINUTE;
  await Promise.all(
    Array.from({ length: 8 }, (_, index) => {
      const attack = wireAttack(beganMs + index * 100, beganMs + 5 * MINUTE, 50_000 + index);
      return late(db, attack, `edge${index % 2}`);
    }),
  );
  await late(db, wireAttack(beganMs, beganMs + 5 * MINUTE));
  const records = await recordsOf(db);
  assert.deepEqual(records, [
    { id: records[0]?.id, started: beganMs, ended: beganMs + 5 * MINUTE, pps: 50_007 },
  ]);
  assert.equal((await list(acme)).data.length, 1);
  const { rows } = await sql<{ edges: object }>`
    select evidence -> 'edges' as edges from attack_evidence`.execute(db);
  assert.deepEqual(
    rows.map(({ edges }) => Object.keys(edges).toSorted()),
    [['edge0', 'edge1', 'fra1']],
  );
});

test('an attack that control saw parts of before and after it was away is one record, under the later id', async (t) => {
  const { db, acme } = await startWorld(t);
  const watch = new TestWatch(db, Date.now() - 30 * MINUTE);
  await watch.scopes.load();
  const beganMs = watch.nowMs;
  await watch.play(5, { [SUBJECT]: 40_000 });
  await watch.play(70, {});
  // Away for twenty minutes, then it goes on: for this control, another attack.
  const again = new TestWatch(db, beganMs + 20 * MINUTE);
  await again.scopes.load();
  await again.play(5, { [SUBJECT]: 80_000 });
  const before = await recordsOf(db);
  assert.equal(before.length, 2);
  const pinned = await list(acme, '?per_page=1');
  const heard = await late(db, wireAttack(beganMs + 3_000, null, 120_000));
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual(others, []);
  assert.deepEqual(record, {
    id: before[1]?.id,
    started: before[0]?.started,
    ended: null,
    pps: 120_000,
  });
  assert.equal(heard?.attackId, before[1]?.id);
  // Pages of before show what was then.
  const next = (await acme.get(path(pinned.links.next))).body as typeof pinned;
  assert.deepEqual([next.meta.total, next.data[0]?.id], [2, before[0]?.id]);
  // The live one ends as the record that it is now.
  await again.play(75, {});
  const [ended] = await recordsOf(db);
  assert.equal(ended?.id, record?.id);
  assert.notEqual(ended?.ended, null);
});

test('an old attack told late leaves one that goes on alone', async (t) => {
  const { db } = await startWorld(t);
  const watch = new TestWatch(db, Date.now() - 10 * MINUTE);
  await watch.scopes.load();
  await watch.play(5, { [SUBJECT]: 40_000 });
  const [live] = await recordsOf(db);
  const beganMs = watch.nowMs - 120 * MINUTE;
  await late(db, wireAttack(beganMs, beganMs + MINUTE));
  const records = await recordsOf(db);
  assert.deepEqual([records.length, records[1]], [2, live]);
  const { rows } = await sql<{ id: number }>`
    select attack_id as id from ongoing_attacks where ended_at is null`.execute(db);
  assert.deepEqual(rows, [{ id: live?.id }]);
});

test('an edge whose clock is off is dated by control, and what nobody holds is not recorded', async (t) => {
  const { db } = await startWorld(t);
  const watch = new TestWatch(db, Date.now());
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values ('fra1', 'fra', '{eth0}', '{0.0.0.0/0,::/0}', 'both', 'reassemble', '[]', 'fleet')`.execute(
    db,
  );
  const { scopes, host } = watch;
  const desk = createWatchDesk({ db, scopes, host, onAttack: () => {} });
  const yearMs = 365 * 86_400_000;
  const atMs = Date.now() - yearMs;
  const stranger = { ...wireAttack(atMs - MINUTE, atMs), subject: '8.8.8.8', id: 'x' };
  const attacks = [wireAttack(atMs - 10 * MINUTE, atMs - 5 * MINUTE), stranger];
  const message = { kind: 'edge.attacks', instance: 'i', sequence: 1, atMs, attacks } as const;
  assert.deepEqual(await desk.attacks({ kind: 'edge', name: 'fra1' }, message), { kind: 'done' });
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual(others, []);
  assert.ok(Math.abs((record?.started ?? 0) - (Date.now() - 10 * MINUTE)) < 5_000);
  const refused = await desk.attacks({ kind: 'edge', name: 'nobody' }, message);
  assert.equal(refused.kind, 'refused');
});
