import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { forgetPeaks, savePeaks } from './suggestions.ts';
import { SUBJECT, TestWatch } from './watch/testing.ts';

interface Suggested {
  readonly subject: string;
  readonly usual: { readonly pps: number } | null;
  readonly present: { readonly pps: number; readonly reported: number; readonly missed: number };
  readonly suggested: { readonly pps: number; readonly missed: number } | null;
  readonly attacks: number;
}

test('suggests thresholds from what a detector saw outside of attacks, and from the attacks', async (t) => {
  const { db, session } = await startEnvironment(t);
  const watch = new TestWatch(db, Date.now() - 3_600_000);
  await watch.scopes.load();
  await watch.play(20, { [SUBJECT]: 6_000, '203.0.113.11': 100 });
  await savePeaks(db, watch.host.takePeaks());
  await watch.play(20, { [SUBJECT]: 60_000 });
  await watch.play(90, { [SUBJECT]: 3_000 });
  // Lower than what is stored.
  await savePeaks(db, watch.host.takePeaks());
  assert.deepEqual([...watch.host.takePeaks()], []);
  const operator = session('operator');
  const path = '/api/portal/operator/organisations/acme/threshold-suggestions';
  const [one, ...others] = dataOf<Suggested[]>(await operator.get(path));
  assert.deepEqual(others, []);
  assert.deepEqual([one?.subject, one?.attacks], [SUBJECT, 1]);
  assert.ok(Math.abs((one?.usual?.pps ?? 0) - 6_000) < 100, String(one?.usual?.pps));
  assert.deepEqual(
    [one?.present.pps, one?.present.reported, one?.suggested?.missed],
    [20_000, 0, 0],
  );
  assert.ok(Math.abs((one?.suggested?.pps ?? 0) - 12_000) <= 200);
  const hive = path.replace('acme', 'nobody');
  assert.equal((await operator.get(hive)).status, 404);
  await sql`update traffic_peaks set hour = hour - interval '9 days'`.execute(db);
  await forgetPeaks(db);
  const { rows } = await sql`select from traffic_peaks`.execute(db);
  assert.deepEqual(rows, []);
});
