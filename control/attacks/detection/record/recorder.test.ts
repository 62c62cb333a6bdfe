import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';
import { OTHER, startEnvironment } from '../../../testing/fixture.ts';
import { list } from '../../history/testing.ts';
import { renewLease } from '../watch/leader.ts';
import { SUBJECT, TestWatch } from '../watch/testing.ts';
import type { Seen } from './plan.ts';

const FLOOD = { [SUBJECT]: 60_000 };
const QUIET = { [SUBJECT]: 10 };

async function startWatch(db: Db, nowMs = Date.now() - 3_600_000, name = 'one') {
  const watch = new TestWatch(db, nowMs, name);
  await watch.scopes.load();
  return watch;
}

async function evidenceOf(db: Db): Promise<unknown[]> {
  return db.selectFrom('attack_evidence').select('evidence').execute();
}

async function recordsOf(db: Db) {
  const { rows } = await sql<{ id: number; started: Date; ended: Date | null; pps: number }>`
    select id, started_at as started, ended_at as ended, peak_pps as pps from attacks
     where until_revision = 9223372036854775807 order by started_at`.execute(db);
  return rows;
}

test('records a flood once: opened, with its peak, ended, with evidence', async (t) => {
  const { db, acme } = await startEnvironment(t);
  const watch = await startWatch(db);
  await watch.play(30, QUIET);
  const beganMs = watch.nowMs;
  await watch.play(5, FLOOD);
  const [open] = await recordsOf(db);
  assert.ok(open !== undefined && open.ended === null);
  assert.ok(Math.abs(open.started.getTime() - beganMs) <= 500, String(open.started));
  assert.deepEqual(
    watch.received.map(({ kind, attackId }) => [kind, attackId]),
    [['opened', open.id]],
  );
  assert.equal(watch.received[0]?.tops?.sources[0]?.source, '192.0.2.66');
  const overMs = watch.nowMs;
  await watch.play(90, QUIET);
  const [ended, ...others] = await recordsOf(db);
  assert.deepEqual([ended?.id, others, watch.failures], [open.id, [], []]);
  assert.ok(Math.abs((ended?.ended?.getTime() ?? 0) - overMs) <= 1_000);
  assert.ok(Math.abs((ended?.pps ?? 0) - 60_000) < 600, String(ended?.pps));
  assert.equal(watch.received.at(-1)?.kind, 'ended');
  const { data } = await list(acme);
  assert.deepEqual([data.length, data[0]?.status], [1, 'ended']);
  const { rows } = await sql<{ evidence: { series: { pps: number[] }; shares: unknown[] } }>`
    select evidence from attack_evidence where attack_id = ${open.id}`.execute(db);
  assert.ok(rows[0]?.evidence.series.pps.some((pps) => pps > 59_000));
  assert.equal(rows[0]?.evidence.shares.length, 1);
});

test('an attack that moves over a prefix is one record, and what was opened before is part of it', async (t) => {
  const { db, acme } = await startEnvironment(t);
  const watch = await startWatch(db);
  watch.countsPrefixes = true;
  await watch.play(60, QUIET);
  const beganMs = watch.nowMs;
  for (let second = 0; second < 30; second++) {
    await watch.play(1, { ...QUIET, [`203.0.113.${20 + second}`]: 60_000 });
  }
  const { data: ongoing } = await list(acme);
  assert.deepEqual(
    ongoing.map(({ prefix, status }) => [prefix, status]),
    [['203.0.113.0/24', 'ongoing']],
  );
  await watch.play(90, QUIET);
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual([others, watch.failures], [[], []]);
  assert.ok(Math.abs((record?.started.getTime() ?? 0) - beganMs) <= 500);
  assert.ok(Math.abs((record?.ended?.getTime() ?? 0) - beganMs - 30_000) <= 1_500);
  // Mitigations of what was opened before end with it.
  const kinds = Map.groupBy(
    watch.received.filter(({ kind }) => kind !== 'changed'),
    ({ attackId }) => attackId,
  );
  assert.ok(kinds.size <= 4);
  for (const all of kinds.values()) {
    assert.deepEqual(
      all.map(({ kind }) => kind),
      ['opened', 'ended'],
    );
  }
  const gone = [...kinds.keys()].find((id) => id !== record?.id);
  assert.equal((await acme.get(`/api/x1/attacks/${gone}`)).status, 404);
});

test('continues an attack that returns within five minutes; later a new one opens', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db);
  await watch.play(10, QUIET);
  for (let turn = 0; turn < 3; turn++) {
    await watch.play(5, FLOOD);
    await watch.play(150, QUIET);
  }
  const [first, ...none] = await recordsOf(db);
  assert.deepEqual(none, []);
  // What is known of sources begins anew each time.
  const kinds = watch.received.map(({ kind }) => kind).filter((kind) => kind !== 'changed');
  assert.deepEqual(kinds, ['opened', 'ended', 'continued', 'ended', 'continued', 'ended']);
  await watch.play(301, QUIET);
  await watch.play(5, FLOOD);
  const both = await recordsOf(db);
  assert.deepEqual([both.length, both[0]?.id], [2, first?.id]);
});

test('assigns an ongoing attack to the new holder from the change of the holding', async (t) => {
  const { db, acme, other } = await startEnvironment(t);
  const watch = await startWatch(db);
  await watch.play(10, QUIET);
  await watch.play(5, FLOOD);
  await watch.play(90, QUIET);
  const handedOver = new Date(watch.nowMs);
  await sql`
    insert into holdings (organisation_id, cidr, during, owner, asn)
    select organisation_id, ${`${SUBJECT}/32`}::cidr, tstzrange(${handedOver}, null), owner, asn
      from holdings where organisation_id = ${OTHER} and asn is not null limit 1`.execute(db);
  await watch.play(5, FLOOD);
  const [first, second, ...none] = await recordsOf(db);
  assert.deepEqual(none, []);
  assert.ok(first?.ended !== null && second !== undefined && second.started >= handedOver);
  assert.deepEqual((await list(acme)).data.length, 0);
  assert.deepEqual(
    (await list(other)).data.map(({ id }) => id),
    [second.id],
  );
});

test('continues a record under its only id after control was killed', async (t) => {
  const { db } = await startEnvironment(t);
  const first = await startWatch(db);
  await first.play(5, FLOOD);
  const [before] = await recordsOf(db);
  // Killed without a shutdown: only the database has its observations.
  await sql`update ongoing_attacks set seen_at = now() - interval '1 minute'`.execute(db);
  const second = await startWatch(db, first.nowMs + 20_000, 'two');
  await second.takeUp();
  await second.play(5, { [SUBJECT]: 90_000 });
  const [after, ...others] = await recordsOf(db);
  assert.deepEqual([after?.id, after?.started, others], [before?.id, before?.started, []]);
  assert.ok((after?.pps ?? 0) > 85_000);
  // One without knowledge of it opens none either.
  const third = await startWatch(db, second.nowMs, 'three');
  await third.play(5, FLOOD);
  assert.equal((await recordsOf(db)).length, 1);
  assert.deepEqual(third.received.map(({ kind }) => kind)[0], 'changed');
});

for (const [whose, set] of [
  ['an edge', 'edgeClockOffMs'],
  ['control', 'clockOffMs'],
] as const) {
  for (const byMs of [3_600_000, -3_600_000]) {
    test(`keeps one record with the right duration when the clock of ${whose} is set by ${byMs / 3_600_000} h in an attack`, async (t) => {
      const { db } = await startEnvironment(t);
      const watch = await startWatch(db, Date.now() - 7_200_000);
      await watch.play(10, QUIET);
      const beganMs = watch.nowMs;
      await watch.play(6, FLOOD);
      watch[set] += byMs;
      await watch.play(6, FLOOD);
      await watch.play(90, QUIET);
      const [record, ...others] = await recordsOf(db);
      assert.deepEqual(others, []);
      const startedMs = record?.started.getTime() ?? 0;
      const lastedMs = (record?.ended?.getTime() ?? 0) - startedMs;
      assert.ok(Math.abs(startedMs - beganMs) <= 500, `began ${startedMs - beganMs} ms off`);
      assert.ok(Math.abs(lastedMs - 12_000) <= 1_000, `lasted ${lastedMs} ms`);
      assert.ok(Math.abs((record?.pps ?? 0) - 60_000) < 600, String(record?.pps));
      // A later attack uses the new clock; if it was set back, that may be within the previous attack.
      await watch.play(400, QUIET);
      const laterMs = watch.nowMs + watch.clockOffMs;
      await watch.play(6, FLOOD);
      const starts = (await recordsOf(db)).map(({ started }) => started.getTime());
      assert.equal(starts.length, watch.clockOffMs < 0 ? 1 : 2);
      assert.ok(watch.clockOffMs < 0 || starts.some((ms) => Math.abs(ms - laterMs) <= 500));
    });
  }
}

test('closes an attack that ended during an outage of control at its last observation', async (t) => {
  const { db } = await startEnvironment(t);
  const first = await startWatch(db);
  await first.play(5, FLOOD);
  const seenAt = new Date(first.nowMs);
  await sql`update ongoing_attacks set seen_at = ${seenAt}`.execute(db);
  const second = await startWatch(db, first.nowMs + 600_000, 'two');
  await second.takeUp();
  await second.play(58, QUIET);
  assert.equal((await recordsOf(db))[0]?.ended, null);
  await second.play(10, QUIET);
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual([record?.ended?.getTime(), others], [seenAt.getTime(), []]);
});

test('keeps attacks when agents fall silent, and ends them after a timeout', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db);
  await watch.play(5, FLOOD);
  const pass = async (seconds: number): Promise<void> => {
    for (let bucket = 0; bucket < seconds * 4; bucket++) {
      watch.nowMs += 250;
      watch.host.tick();
    }
    await watch.recorder.settled();
  };
  await pass(30);
  assert.equal((await recordsOf(db))[0]?.ended, null);
  await pass(60);
  assert.notEqual((await recordsOf(db))[0]?.ended, null);
});

test('a detector that lost its lease records nothing; the next one continues its record', async (t) => {
  const { db } = await startEnvironment(t);
  const former = await startWatch(db);
  assert.notEqual(await renewLease(db, 'one'), null);
  await former.play(5, FLOOD);
  await sql`update detector_lease set expires_at = now() - interval '1 second'`.execute(db);
  const next = await startWatch(db, former.nowMs, 'two');
  assert.notEqual(await renewLease(db, 'two'), null);
  const before = await evidenceOf(db);
  await former.play(70, QUIET);
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual([record?.ended, others], [null, []]);
  assert.deepEqual(await evidenceOf(db), before);
  await next.play(5, { [SUBJECT]: 90_000 });
  await next.play(70, QUIET);
  const [ended, ...more] = await recordsOf(db);
  assert.deepEqual([ended?.id, more], [record?.id, []]);
  assert.notEqual(ended?.ended, null);
  assert.ok((ended?.pps ?? 0) > 85_000);
});

test('writes a record when the database is back, and announces nothing before', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db);
  await sql`alter table attack_revision rename to gone`.execute(db);
  const playing = watch.play(5, FLOOD);
  for (let tries = 0; watch.failures.length === 0; tries++) {
    assert.ok(tries < 1_000, 'the failure was not reported');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(watch.received.length, 0);
  await sql`alter table gone rename to attack_revision`.execute(db);
  await playing;
  assert.equal((await recordsOf(db)).length, 1);
  assert.equal(watch.received[0]?.kind, 'opened');
});

test('records an attack that started and ended during a database outage once and completely', async (t) => {
  const { db, acme } = await startEnvironment(t);
  const watch = await startWatch(db);
  await sql`update organisations set detection = '{"holdSeconds": 2}'`.execute(db);
  await watch.scopes.load();
  await watch.play(10, QUIET);
  await sql`alter table attack_revision rename to gone`.execute(db);
  const beganMs = watch.nowMs;
  const playing = watch.play(5, FLOOD);
  const overMs = watch.nowMs;
  const over = watch.play(10, QUIET);
  for (let tries = 0; watch.failures.length === 0; tries++) {
    assert.ok(tries < 1_000, 'the failure was not reported');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await sql`alter table gone rename to attack_revision`.execute(db);
  await Promise.all([playing, over]);
  const [one, ...others] = await recordsOf(db);
  assert.ok(one?.ended !== undefined && one.ended !== null, 'it is recorded, and over');
  assert.deepEqual(others, []);
  assert.ok(Math.abs(one.started.getTime() - beganMs) <= 500);
  assert.ok(Math.abs(one.ended.getTime() - overMs) <= 500);
  assert.ok(one.pps > 59_000, String(one.pps));
  assert.deepEqual(
    watch.received.map(({ kind }) => kind),
    ['ended'],
  );
  const { data } = await list(acme);
  assert.deepEqual([data.length, data[0]?.status], [1, 'ended']);
  const { rows } = await sql<{ evidence: { series: { pps: number[] } } }>`
    select evidence from attack_evidence where attack_id = ${one.id}`.execute(db);
  assert.ok(rows[0]?.evidence.series.pps.some((pps) => pps > 59_000));
});

test('records thousands of concurrent attacks with a bounded queue', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db);
  const startedAtMs = watch.nowMs;
  const measured = { value: 1, low: 1, high: 1 };
  const seen = (index: number): Seen => ({
    attack: {
      id: String(index),
      subject: `10.0.${index >> 8}.${index & 255}`,
      type: 'udp_flood',
      shares: [],
      peakPps: measured,
      peakBps: measured,
      startedAtMs,
      endedAtMs: null,
    },
    openedAtMs: startedAtMs,
    busyAtMs: startedAtMs,
    tops: null,
    isClaimed: false,
    snapshot: null,
    isNews: true,
    isPart: false,
  });
  for (let index = 0; index < 3_000; index++) watch.recorder.note(seen(index));
  await watch.recorder.settled();
  assert.equal((await recordsOf(db)).length, 3_000);
  assert.deepEqual(watch.failures, []);
});
