import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import type { WireAttack } from '@portcullis/link/messages/attacks.ts';
import type { Db } from '../../db/database.ts';
import { OTHER, startEnvironment } from '../../testing/fixture.ts';
import { list, path } from '../history/testing.ts';
import { loadAutonomousActions } from '../autonomous-actions.ts';
import { createDetectionService } from '../watch/agent-requests.ts';
import { silentWatchEvents, SUBJECT, TestWatch, wireAttack } from '../watch/testing.ts';
import { recordDelayed } from './delayed-report.ts';

const MINUTE = 60_000;

const late = (db: Db, attack: WireAttack, edge = 'fra1') =>
  recordDelayed(db, { edge, attack, thresholds: DEFAULT_THRESHOLDS });

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

test('records a delayed report once, however often and concurrently it is sent', async (t) => {
  const { db, acme } = await startEnvironment(t);
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

test('joins the parts that control saw before and after its outage into one record with the later id', async (t) => {
  const { db, acme } = await startEnvironment(t);
  const watch = new TestWatch(db, Date.now() - 30 * MINUTE);
  await watch.scopes.load();
  const beganMs = watch.nowMs;
  await watch.play(5, { [SUBJECT]: 40_000 });
  await watch.play(70, {});
  // Away for twenty minutes, then the attack continues: a new attack for this control plane.
  const again = new TestWatch(db, beganMs + 20 * MINUTE);
  await again.scopes.load();
  await again.play(5, { [SUBJECT]: 80_000 });
  const before = await recordsOf(db);
  assert.equal(before.length, 2);
  const pinned = await list(acme, '?per_page=1');
  const received = await late(db, wireAttack(beganMs + 3_000, null, 120_000));
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual(others, []);
  assert.deepEqual(record, {
    id: before[1]?.id,
    started: before[0]?.started,
    ended: null,
    pps: 120_000,
  });
  assert.equal(received?.attackId, before[1]?.id);
  // Earlier pages show the earlier state.
  const next = (await acme.get(path(pinned.links.next))).body as typeof pinned;
  assert.deepEqual([next.meta.total, next.data[0]?.id], [2, before[0]?.id]);
  // The live attack ends as the joined record.
  await again.play(75, {});
  const [ended] = await recordsOf(db);
  assert.equal(ended?.id, record?.id);
  assert.notEqual(ended?.ended, null);
});

test('keeps a delayed end of an attack that control continues: control never ends it earlier', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = new TestWatch(db, Date.now() - 10 * MINUTE);
  await watch.scopes.load();
  const beganMs = watch.nowMs;
  await watch.play(5, { [SUBJECT]: 40_000 });
  const endedMs = watch.nowMs + 2_250;
  assert.equal(await late(db, wireAttack(beganMs, endedMs)), null);
  assert.equal((await recordsOf(db))[0]?.ended, null);
  await watch.play(75, {});
  const records = await recordsOf(db);
  assert.deepEqual(
    records.map(({ ended }) => ended),
    [endedMs],
  );
});

test('leaves an ongoing attack unchanged when an old attack is reported late', async (t) => {
  const { db } = await startEnvironment(t);
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

test('corrects the clock of an edge, and records no attack on addresses without a holder', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = new TestWatch(db, Date.now());
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values ('fra1', 'fra', '{eth0}', '{0.0.0.0/0,::/0}', 'both', 'reassemble', '[]', 'fleet')`.execute(
    db,
  );
  const { scopes, evaluate } = watch;
  const desk = createDetectionService({
    db,
    scopes,
    judge: evaluate,
    events: silentWatchEvents(),
    onAttack: () => {},
  });
  const yearMs = 365 * 86_400_000;
  const atMs = Date.now() - yearMs;
  const stranger = { ...wireAttack(atMs - MINUTE, atMs), subject: '8.8.8.8', id: 'x' };
  const action = { kind: 'fragments' } as const;
  const sinceMs = atMs - 9 * MINUTE;
  const done = { action, mode: 'enforce', sinceMs, untilMs: sinceMs + MINUTE } as const;
  const seen = { ...wireAttack(atMs - 10 * MINUTE, atMs - 5 * MINUTE), actions: [done] };
  const attacks = [seen, stranger];
  const message = { kind: 'edge.attacks', instance: 'i', sequence: 1, atMs, attacks } as const;
  assert.deepEqual(await desk.attacks({ kind: 'edge', name: 'fra1' }, message), { kind: 'done' });
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual(others, []);
  const startedMs = record?.started ?? 0;
  assert.ok(Math.abs(startedMs - (Date.now() - 10 * MINUTE)) < 5_000);
  const [alone] = await loadAutonomousActions(db, {
    id: record?.id ?? 0,
    startedAt: new Date(startedMs),
    endedAt: new Date(record?.ended ?? 0),
  });
  assert.deepEqual(
    [alone?.edge, (alone?.sinceMs ?? 0) - startedMs, (alone?.untilMs ?? 0) - startedMs],
    ['fra1', MINUTE, 2 * MINUTE],
  );
  const refused = await desk.attacks({ kind: 'edge', name: 'nobody' }, message);
  assert.equal(refused.kind, 'refused');
});

/** Since then the address inside acme's prefix belongs to the other organisation. */
async function handOver(db: Db, since: Date): Promise<void> {
  await sql`
    insert into holdings (organisation_id, cidr, during, owner, asn)
    select organisation_id, ${`${SUBJECT}/32`}::cidr, tstzrange(${since}, null), owner, asn
      from holdings where organisation_id = ${OTHER} and asn is not null limit 1`.execute(db);
}

test('assigns a delayed attack to the new holder from the start of its holding, and shows it to that holder', async (t) => {
  const { db, acme, other } = await startEnvironment(t);
  const since = new Date(Date.now() - 20 * MINUTE);
  // Between two milliseconds, like database clocks.
  await handOver(db, since);
  await sql`
    update holdings set during = tstzrange(lower(during) + interval '400 microseconds', null)
     where cidr = ${`${SUBJECT}/32`}::cidr`.execute(db);
  const beganMs = since.getTime() - 10 * MINUTE;
  const flood = wireAttack(beganMs, since.getTime() + 10 * MINUTE, 90_000);
  // A record that its holder has already seen.
  await late(db, wireAttack(since.getTime() + MINUTE, since.getTime() + 5 * MINUTE));
  const [seen] = (await list(other)).data;
  await late(db, { ...flood, mitigatedAtMs: beganMs + MINUTE });
  const shown = (await list(other)).data;
  assert.deepEqual(
    shown.map(({ id }) => id),
    [seen?.id],
  );
  const records = await recordsOf(db);
  assert.deepEqual(
    records.map(({ started, ended }) => [started, ended]),
    [
      [beganMs, since.getTime() + 1],
      [since.getTime() + 1, since.getTime() + 10 * MINUTE],
    ],
  );
  // The previous holder no longer sees it: the address left its prefix.
  assert.deepEqual((await list(acme)).data, []);
  await late(db, flood);
  assert.deepEqual(await recordsOf(db), records);
});

test('continues a delayed attack with a new holder, and ends it as an attack of that holder', async (t) => {
  const { db, other } = await startEnvironment(t);
  const since = new Date(Date.now() - 20 * MINUTE);
  await handOver(db, since);
  const received = await late(db, wireAttack(since.getTime() - 5 * MINUTE, null));
  const [mine, ...none] = (await list(other)).data;
  assert.deepEqual([mine?.id, mine?.status, none], [received?.attackId, 'ongoing', []]);
  const { rows } = await sql<{ id: number }>`
    select attack_id as id from ongoing_attacks where ended_at is null`.execute(db);
  assert.deepEqual(rows, [{ id: received?.attackId }]);
  await late(db, wireAttack(since.getTime() - 5 * MINUTE, Date.now() - MINUTE));
  assert.equal((await recordsOf(db)).length, 2);
});

test('hands an ongoing attack over to a new holder once, and raises no old peak by delayed reports', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = new TestWatch(db, Date.now() - 10 * MINUTE);
  await watch.scopes.load();
  await watch.play(5, { [SUBJECT]: 40_000 });
  const [live] = await recordsOf(db);
  await handOver(db, new Date(watch.nowMs));
  const received = await late(db, wireAttack(watch.nowMs + MINUTE, null, 70_000));
  assert.equal(received?.attackId, live?.id);
  assert.deepEqual(await recordsOf(db), [live]);
  const sinceMs = watch.nowMs;
  await watch.play(5, { [SUBJECT]: 30_000 });
  await late(db, wireAttack(sinceMs, null, 35_000));
  const [first, second, ...none] = await recordsOf(db);
  assert.deepEqual([first, none], [{ ...live, ended: sinceMs }, []]);
  assert.deepEqual([second?.started, second?.ended, second?.pps], [sinceMs, null, 35_000]);
});
