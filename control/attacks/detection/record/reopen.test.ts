import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Measured, Share } from '@portcullis/core/attacks/attack.ts';
import type { AttackSeries } from '@portcullis/core/attacks/detector/series.ts';
import type { Db } from '../../../db/database.ts';
import { startEnvironment } from '../../../testing/fixture.ts';
import { SUBJECT, TestWatch } from '../watch/testing.ts';

const flood = (pps: number) => ({ [SUBJECT]: pps });
const QUIET = flood(10);

async function startWatch(db: Db, nowMs: number, name: string) {
  const watch = new TestWatch(db, nowMs, name);
  await watch.scopes.load();
  return watch;
}

interface Recorded {
  readonly type: string;
  readonly pps: number;
  readonly started: Date;
  readonly evidence: {
    readonly shares: readonly Share[];
    readonly peakPps: Measured;
    readonly series: AttackSeries;
  };
}

async function recordsOf(db: Db): Promise<Recorded[]> {
  const { rows } = await sql<Recorded>`
    select attack_type as type, peak_pps as pps, started_at as started, evidence
      from attacks a left join attack_evidence e on e.attack_id = a.id
     where until_revision = 9223372036854775807`.execute(db);
  return rows;
}

/** UDP, its end, a pause, then GRE of equal length; with `restarts`, another control plane sees the GRE. */
async function twoVectors(
  db: Db,
  restarts: boolean,
): Promise<{ record: Recorded; againMs: number }> {
  const first = await startWatch(db, Date.now() - 3_600_000, 'one');
  await first.play(5, QUIET);
  for (let second = 0; second < 12; second++) await first.play(1, flood(60_000));
  await first.play(150, QUIET);
  const second = restarts ? await startWatch(db, first.nowMs, 'two') : first;
  await second.play(2, QUIET, 'gre');
  const againMs = second.nowMs;
  for (let turn = 0; turn < 12; turn++) await second.play(1, flood(50_000), 'gre');
  await second.play(75, QUIET, 'gre');
  assert.deepEqual([first.failures, second.failures], [[], []]);
  const [record, ...others] = await recordsOf(db);
  assert.ok(record !== undefined && others.length === 0);
  return { record, againMs };
}

for (const restarts of [false, true]) {
  const how = restarts ? 'that another control goes on with' : 'that goes on';
  test(`a record ${how} by another vector keeps its type, its peak with bounds, and its series`, async (t) => {
    const { db } = await startEnvironment(t);
    const { record, againMs } = await twoVectors(db, restarts);
    const { type, pps, started, evidence } = record;
    assert.equal(type, 'multi_vector');
    const shares = evidence.shares.map(({ type: kind }) => kind).toSorted();
    assert.deepEqual(shares, ['gre_flood', 'udp_flood']);
    assert.ok(evidence.shares.every(({ share }) => share > 0.35 && share < 0.65));
    assert.ok(Math.abs(pps - 60_000) < 600, String(pps));
    assert.equal(Math.round(evidence.peakPps.high), pps);
    assert.equal(Math.round(evidence.peakPps.low), pps);
    const { startMs, stepMs, pps: rates } = evidence.series;
    assert.ok(Math.abs(startMs - started.getTime()) <= 1_500, `${startMs - started.getTime()}`);
    assert.ok((rates[2] ?? 0) > 59_000);
    // The continued part is at its position.
    const index = Math.round((againMs + 6_000 - startMs) / stepMs);
    assert.ok(Math.abs((rates[index] ?? 0) - 50_000) < 1_000, `${rates[index]} at ${index}`);
    assert.ok(rates.slice(100, 140).every((rate) => rate <= 10));
  });
}

test('a continued record keeps its series and type while its detector does not know of it', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db, Date.now() - 3_600_000, 'one');
  for (let second = 0; second < 12; second++) await watch.play(1, flood(60_000));
  await watch.play(75, QUIET);
  const next = await startWatch(db, watch.nowMs, 'two');
  next.follows = false;
  for (let second = 0; second < 12; second++) await next.play(1, flood(50_000), 'gre');
  const [record, ...others] = await recordsOf(db);
  assert.deepEqual([others, record?.type], [[], 'multi_vector']);
  assert.ok(record?.evidence.series.pps.some((rate) => rate > 59_000));
  next.follows = true;
  for (let second = 0; second < 12; second++) await next.play(1, flood(50_000), 'gre');
  const [joined] = await recordsOf(db);
  const rates = joined?.evidence.series.pps ?? [];
  assert.ok(rates.some((rate) => rate > 59_000) && rates.slice(60).some((rate) => rate > 49_000));
});

test('keeps the bounds of a peak when a lower one is reported later', async (t) => {
  const { db } = await startEnvironment(t);
  const watch = await startWatch(db, Date.now() - 60_000, 'one');
  await watch.play(5, flood(60_000));
  const before = (await recordsOf(db))[0]?.evidence.peakPps;
  assert.ok(before !== undefined && before.low > 30_000);
  const low = { value: 20_000, low: 19_000, high: 21_000 };
  watch.recorder.noteEvidence(SUBJECT, { shares: [], peakPps: low, peakBps: low });
  await watch.recorder.settled();
  const after = (await recordsOf(db))[0]?.evidence;
  assert.deepEqual([after?.peakPps, after?.shares], [before, []]);
});
