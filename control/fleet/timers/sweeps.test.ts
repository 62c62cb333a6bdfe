import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { LeaseCheck, startSweeps } from './sweeps.ts';
import { fakeSourceSets, serveEdges, TestEdge } from '../test-edge.ts';
import { SyncService } from '../sync/sync.ts';
import { insertEdge, silentEvents } from '../testing.ts';

const expire = async (): Promise<string[]> => ['fra1'];

function watchOf(state: { away: boolean }) {
  const left: string[] = [];
  const store = {
    async markLive() {
      if (state.away) throw new Error('the database is away');
      return [];
    },
    expire,
  };
  const events = { ...silentEvents(), edgeLeft: (name: string) => void left.push(name) };
  return { watch: new LeaseCheck(store, events, 60_000), left };
}

test('gives every edge a whole lease after a start', async () => {
  const { watch, left } = watchOf({ away: false });
  for (const at of [5_000, 30_000, 64_999]) await watch.check(at);
  assert.deepEqual(left, []);
  await watch.check(65_000);
  assert.deepEqual(left, ['fra1']);
});

test('restarts leases after the database was away', async () => {
  const state = { away: false };
  const { watch, left } = watchOf(state);
  await watch.check(0);
  state.away = true;
  await watch.check(59_000);
  state.away = false;
  for (const at of [70_000, 100_000, 129_000]) await watch.check(at);
  assert.deepEqual(left, []);
  await watch.check(130_000);
  assert.deepEqual(left, ['fra1']);
});

test('takes a silent edge out of service', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'one');
  await edge.join();
  const { promise: left, resolve } = Promise.withResolvers<string>();
  const sweeps = startSweeps({
    db,
    sync: new SyncService({ db, loadSourceSets: fakeSourceSets }),
    events: { ...silentEvents(), edgeLeft: resolve },
    otherSweeps: {},
    leaseMs: 50,
    leaseCheckMs: 5,
  });
  // The timers of the sweeps do not keep the process alive, nor does anything else here.
  const alive = setInterval(() => {}, 1_000);
  assert.equal(await left, 'fra1');
  clearInterval(alive);
  await sweeps.stop();
  const { rows } = await sql<{ in_service: boolean; instance: string | null }>`
    select in_service, instance from edges`.execute(db);
  assert.deepEqual(rows, [{ in_service: false, instance: null }]);
});
