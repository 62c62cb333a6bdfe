import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { askAboutUsual } from './usual.ts';
import { SUBJECT, TestWatch } from './watch/testing.ts';
import type { Db } from '../../db/database.ts';

const USUAL_PPS = 40_000;
const LAUNCH = { [SUBJECT]: USUAL_PPS };

interface Detail {
  readonly attack: { readonly status: string };
  readonly usual: { readonly pps: number; readonly mbps: number } | null;
  readonly accepted: { readonly pps: number; readonly by: string } | null;
}

/** An attack of the last minutes, recorded as one of an hour and a half from many sources. */
async function recordLasting(db: Db): Promise<{ id: number; watch: TestWatch }> {
  const watch = new TestWatch(db, Date.now() - 120_000);
  await watch.scopes.load();
  await watch.play(10, { [SUBJECT]: 10 });
  await watch.play(20, LAUNCH);
  const startMs = Date.now() - 5_400_000;
  const rates = Array.from({ length: 5_400 / 16 }, () => USUAL_PPS);
  const series = { startMs, stepMs: 16_000, pps: rates, bps: rates.map((pps) => pps * 800) };
  const sources = Array.from({ length: 10 }, (_, at) => ({ source: `192.0.2.${at}`, packets: 50 }));
  const changed = { series, tops: { sources, sourcePorts: [], destinationPorts: [] } };
  await sql`update attack_evidence set evidence = evidence || ${JSON.stringify(changed)}::jsonb`.execute(
    db,
  );
  // The series and the start are of one clock; the rows keep their months.
  const startedAt = new Date(startMs);
  await sql`update attacks set started_at = ${startedAt}`.execute(db);
  const { rows } = await sql<{ id: number }>`
    update ongoing_attacks set started_at = ${startedAt} returning attack_id as id`.execute(db);
  return { id: rows[0]?.id ?? 0, watch };
}

test('an attack that lasts adds one event, and is accepted only on request', async (t) => {
  const { db, acme, other } = await startEnvironment(t);
  const { id, watch } = await recordLasting(db);
  const path = `/api/x1/attacks/${id}`;
  const detail = async () => dataOf<Detail>(await acme.get(path));
  assert.deepEqual((await detail()).usual, { pps: 120_000, mbps: 1_000 });
  await askAboutUsual(db);
  await askAboutUsual(db);
  const { rows: asked } = await sql<{ target: string; data: object }>`
    select target, data from events where kind = 'attack.looks_usual'`.execute(db);
  assert.equal(asked.length, 1);
  assert.partialDeepStrictEqual(asked[0], { target: SUBJECT, data: { attack: id, pps: 120_000 } });
  assert.equal((await detail()).accepted, null);
  assert.equal(watch.scopes.of(SUBJECT)?.pps, 20_000);

  assertRefused(await other.post(`${path}/accept`, undefined), 404, 'not_found');
  const accepted = dataOf<{ target: string; pps: number }>(
    await acme.post(`${path}/accept`, undefined),
  );
  assert.partialDeepStrictEqual(accepted, { target: SUBJECT, pps: 120_000 });
  assert.partialDeepStrictEqual((await detail()).accepted, { pps: 120_000 });
  await watch.scopes.load();
  assert.deepEqual(
    [watch.scopes.of(SUBJECT)?.pps, watch.scopes.of('203.0.113.11')?.pps],
    [120_000, 20_000],
  );
  await watch.play(90, LAUNCH);
  assert.equal((await detail()).attack.status, 'ended');
  await watch.play(60, LAUNCH);
  const { rows } = await sql<{ n: number }>`
    select count(distinct id) as n from attacks`.execute(db);
  assert.equal(rows[0]?.n, 1);

  dataOf(await acme.delete(`${path}/accept`, undefined));
  await watch.scopes.load();
  assert.equal(watch.scopes.of(SUBJECT)?.pps, 20_000);
  assertRefused(await acme.delete(`${path}/accept`, undefined), 422, 'invalid_request');
});

test('does not accept what does not look so, and what was accepted ends with its holding', async (t) => {
  const { db, acme } = await startEnvironment(t);
  const { id, watch } = await recordLasting(db);
  dataOf(await acme.post(`/api/x1/attacks/${id}/accept`, undefined));
  await watch.scopes.load();
  await sql`update holdings set during = tstzrange(lower(during), now()) where cidr >>= ${SUBJECT}::cidr`.execute(
    db,
  );
  await watch.scopes.load();
  assert.equal(watch.scopes.of(SUBJECT), null);
  const { db: second, acme: caller } = await startEnvironment(t);
  const short = new TestWatch(second, Date.now() - 60_000);
  await short.scopes.load();
  await short.play(10, LAUNCH);
  const { rows } = await sql<{ id: number }>`select attack_id as id from ongoing_attacks`.execute(
    second,
  );
  const refused = await caller.post(`/api/x1/attacks/${rows[0]?.id}/accept`, undefined);
  assertRefused(refused, 422, 'invalid_request');
});
