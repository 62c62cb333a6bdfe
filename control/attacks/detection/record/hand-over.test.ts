import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Db } from '../../../db/database.ts';
import { OTHER, startEnvironment } from '../../../testing/fixture.ts';
import { list } from '../../history/testing.ts';
import { respondToAll, activeKinds } from '../../response/mitigations/testing.ts';
import { SUBJECT, TestWatch } from '../watch/testing.ts';

const flood = (pps: number) => ({ [SUBJECT]: pps });
const QUIET = flood(10);

/** Records one second at a time. */
async function live(watch: TestWatch, seconds: number, rates: Readonly<Record<string, number>>) {
  for (let second = 0; second < seconds; second++) await watch.play(1, rates);
}

async function startWatch(db: Db) {
  const watch = new TestWatch(db, Date.now() - 3_600_000);
  await watch.scopes.load();
  await live(watch, 10, QUIET);
  return watch;
}

async function recordsOf(db: Db) {
  const { rows } = await sql<{ id: number; started: Date; ended: Date | null; pps: number }>`
    select id, started_at as started, ended_at as ended, peak_pps as pps from attacks
     where until_revision = 9223372036854775807 order by started_at`.execute(db);
  return rows.map(({ id, started, ended, pps }) => ({
    id,
    started: started.getTime(),
    ended: ended?.getTime() ?? null,
    kpps: Math.round(pps / 1_000),
  }));
}

/** Since then, between two milliseconds, the address inside acme's prefix belongs to the other organisation. */
async function assign(db: Db, sinceMs: number, settings: Partial<ScopeSettings> = {}) {
  const detection = JSON.stringify({ ...NOTHING_SET, ...settings });
  await sql`
    insert into holdings (organisation_id, cidr, during, owner, asn, detection)
    select organisation_id, ${`${SUBJECT}/32`}::cidr,
           tstzrange(${new Date(sinceMs)}::timestamptz + interval '400 microseconds', null), owner, asn,
           ${detection}::jsonb
      from holdings where organisation_id = ${OTHER} and asn is not null limit 1`.execute(db);
}

async function takeBack(db: Db, atMs: number) {
  await sql`
    update holdings set during = tstzrange(lower(during), ${new Date(atMs)})
     where cidr = ${`${SUBJECT}/32`}::cidr`.execute(db);
}

async function seriesOf(db: Db, attackId: number): Promise<number[]> {
  const { rows } = await sql<{ pps: number[] }>`
    select evidence -> 'series' -> 'pps' as pps from attack_evidence where attack_id = ${attackId}`.execute(
    db,
  );
  return rows[0]?.pps ?? [];
}

test('gives each holder of an address the part and the peak of its own time when the holder changes during a flood', async (t) => {
  const { db, acme, other } = await startEnvironment(t);
  const watch = await startWatch(db);
  await live(watch, 7, flood(60_000));
  const [before] = await recordsOf(db);
  const sinceMs = watch.nowMs;
  await assign(db, sinceMs);
  await live(watch, 7, flood(40_000));
  const [first, second, ...none] = await recordsOf(db);
  assert.deepEqual(none, []);
  assert.deepEqual(first, { ...before, ended: sinceMs + 1, kpps: 60 });
  assert.deepEqual(second, { id: second?.id, started: sinceMs + 1, ended: null, kpps: 40 });
  const shown = (await list(other)).data;
  assert.deepEqual(
    shown.map(({ id, status }) => [id, status]),
    [[second.id, 'ongoing']],
  );
  assert.deepEqual((await list(acme)).data, []);
  const path = `/api/x1/attacks/${second.id}`;
  assert.deepEqual([(await other.get(path)).status, (await acme.get(path)).status], [200, 404]);
  await live(watch, 90, QUIET);
  const [, ended, ...others] = await recordsOf(db);
  assert.deepEqual(others, []);
  assert.ok(Math.abs((ended?.ended ?? 0) - (sinceMs + 7_000)) <= 1_000, String(ended?.ended));
  assert.deepEqual(
    watch.received
      .filter(({ kind }) => kind !== 'changed')
      .map(({ kind, attackId }) => [kind, attackId]),
    [
      ['opened', first?.id],
      ['ended', first?.id],
      ['opened', second.id],
      ['ended', second.id],
    ],
  );
  assert.ok((await seriesOf(db, first?.id ?? 0)).some((pps) => pps > 59_000));
  const series = await seriesOf(db, second.id);
  assert.ok(series.some((pps) => pps > 39_000) && series.every((pps) => pps < 41_000));
  assert.deepEqual(watch.failures, []);
});

test('opens an attack for the containing holder from the time an address returns to it during a flood', async (t) => {
  const { db, acme, other } = await startEnvironment(t);
  const watch = await startWatch(db);
  await live(watch, 5, flood(60_000));
  await assign(db, watch.nowMs);
  await live(watch, 5, flood(30_000));
  const backMs = watch.nowMs;
  await takeBack(db, backMs);
  await live(watch, 5, flood(45_000));
  const [first, second, third, ...none] = await recordsOf(db);
  assert.deepEqual(none, []);
  assert.deepEqual([first?.kpps, second?.kpps, third?.kpps], [60, 30, 45]);
  assert.deepEqual([second?.ended, third?.started, third?.ended], [backMs, backMs, null]);
  assert.deepEqual(
    (await list(acme)).data.map(({ id }) => id),
    [third?.id, first?.id],
  );
  assert.deepEqual((await list(other)).data, []);
});

test('does not give an ended flood to a new holder, until a new one starts', async (t) => {
  const { db, other } = await startEnvironment(t);
  const watch = await startWatch(db);
  await live(watch, 5, flood(60_000));
  const overMs = watch.nowMs;
  await live(watch, 10, QUIET);
  await assign(db, watch.nowMs);
  await live(watch, 80, QUIET);
  const [first, ...none] = await recordsOf(db);
  assert.deepEqual([none, (await list(other)).data], [[], []]);
  assert.ok(Math.abs((first?.ended ?? 0) - overMs) <= 1_000);
  const againMs = watch.nowMs;
  await live(watch, 5, flood(30_000));
  const [, second, ...others] = await recordsOf(db);
  assert.deepEqual([others, second?.kpps], [[], 30]);
  assert.ok(
    Math.abs((second?.started ?? 0) - againMs) <= 1_500,
    `${(second?.started ?? 0) - againMs}`,
  );
});

/** Modes without duplicates. */
async function modesOf(db: Db, attackId = 0): Promise<string[]> {
  const modes = (await activeKinds(db, attackId)).map((kind) => kind.split(' ')[0] ?? kind);
  return [...new Set(modes)];
}

test('moves mitigations with the address during a flood: withdraws those of the old holder and applies the settings of the new one at once', async (t) => {
  for (const [mode, stands] of [
    ['on', ['enforce']],
    ['observe', ['observe']],
    ['off', []],
  ] as const) {
    await t.test(mode, async (t) => {
      const { db } = await startEnvironment(t);
      const watch = await startWatch(db);
      await live(watch, 5, flood(60_000));
      await respondToAll(db, watch.received.splice(0));
      const [before] = await recordsOf(db);
      assert.deepEqual(await modesOf(db, before?.id), ['enforce']);
      await assign(db, watch.nowMs, { mitigation: mode });
      await live(watch, 2, flood(60_000));
      // As in control: events received together are planned together, in one generation.
      const last = new Map(watch.received.map((one) => [one.attackId, one]));
      const responded = await respondToAll(db, [...last.values()]);
      assert.equal(new Set(responded.map(({ generation }) => generation)).size, 1);
      const [, second] = await recordsOf(db);
      assert.deepEqual(await modesOf(db, before?.id), []);
      assert.deepEqual(await modesOf(db, second?.id), stands);
    });
  }
});

test('records the part of the new holder when a control plane resumes an attack whose holder changed meanwhile', async (t) => {
  const { db, other } = await startEnvironment(t);
  const watch = await startWatch(db);
  await live(watch, 5, flood(60_000));
  await sql`update ongoing_attacks set seen_at = now() - interval '1 minute'`.execute(db);
  await assign(db, watch.nowMs);
  const second = new TestWatch(db, watch.nowMs + 5_000, 'two');
  await second.scopes.load();
  await second.takeUp();
  await live(second, 5, flood(30_000));
  const [first, handed, ...none] = await recordsOf(db);
  assert.deepEqual([none, first?.kpps, handed?.kpps], [[], 60, 30]);
  assert.deepEqual([first?.ended, handed?.started], [watch.nowMs + 1, watch.nowMs + 1]);
  assert.deepEqual(
    (await list(other)).data.map(({ id }) => id),
    [handed?.id],
  );
});

test('keeps what an old holder had until the change when the first write of the change fails', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db);
  await live(watch, 7, flood(60_000));
  await assign(db, watch.nowMs);
  await sql`alter table attack_evidence rename to gone`.execute(db);
  const playing = live(watch, 5, flood(40_000));
  for (let tries = 0; watch.failures.length === 0; tries++) {
    assert.ok(tries < 1_000, 'the failure was not reported');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await sql`alter table gone rename to attack_evidence`.execute(db);
  await playing;
  const [first, second, ...none] = await recordsOf(db);
  assert.deepEqual([none, first?.kpps, second?.kpps], [[], 60, 40]);
  const series = await seriesOf(db, first?.id ?? 0);
  assert.ok(series.filter((pps) => pps > 59_000).length >= 5, String(series));
});

test('splits an attack again for as long as its detector does not know of the split', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db);
  await live(watch, 7, flood(60_000));
  await assign(db, watch.nowMs);
  const sinceMs = watch.nowMs + 1;
  watch.follows = false;
  await live(watch, 3, flood(40_000));
  watch.follows = true;
  await live(watch, 3, flood(40_000));
  const [first, second, ...none] = await recordsOf(db);
  assert.deepEqual([none, watch.failures], [[], []]);
  assert.deepEqual([first?.kpps, first?.ended], [60, sinceMs]);
  assert.deepEqual([second?.kpps, second?.started, second?.ended], [40, sinceMs, null]);
  assert.deepEqual(
    watch.host.ongoing().map(({ startedAtMs }) => startedAtMs),
    [sinceMs],
  );
  const series = await seriesOf(db, second?.id ?? 0);
  assert.ok(
    series.every((pps) => pps < 41_000),
    String(series),
  );
});

test('ends the part of the new holder alone when the attack ends before its detector knows of the split', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db);
  await live(watch, 7, flood(60_000));
  await assign(db, watch.nowMs);
  watch.follows = false;
  await live(watch, 7, flood(40_000));
  await live(watch, 90, QUIET);
  const [first, second, ...none] = await recordsOf(db);
  assert.deepEqual([none, first?.kpps, second?.kpps], [[], 60, 40]);
  assert.notEqual(second?.ended, null);
});
