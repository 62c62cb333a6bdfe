import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { LeaseWatch, startSweeps } from './sweeps.ts';
import { fakeSourceSets, serveEdges, TestEdge } from '../test-edge.ts';
import { SyncDesk } from '../sync/sync.ts';
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
  return { watch: new LeaseWatch(store, events, 60_000), left };
}

test('after a start every edge gets a whole lease to be heard by this process', async () => {
  const { watch, left } = watchOf({ away: false });
  for (const at of [5_000, 30_000, 64_999]) await watch.look(at);
  assert.deepEqual(left, []);
  await watch.look(65_000);
  assert.deepEqual(left, ['fra1']);
});

test('while the database was away nobody could be heard, so leases begin again', async () => {
  const state = { away: false };
  const { watch, left } = watchOf(state);
  await watch.look(0);
  state.away = true;
  await watch.look(59_000);
  state.away = false;
  for (const at of [70_000, 100_000, 129_000]) await watch.look(at);
  assert.deepEqual(left, []);
  await watch.look(130_000);
  assert.deepEqual(left, ['fra1']);
});

test('a silent edge is taken out of service by itself', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'one');
  await edge.join();
  const { promise: left, resolve } = Promise.withResolvers<string>();
  const sweeps = startSweeps({
    db,
    desk: new SyncDesk({ db, loadSourceSets: fakeSourceSets }),
    events: { ...silentEvents(), edgeLeft: resolve },
    sweepAttacks: async () => 0,
    leaseMs: 50,
    leaseCheckMs: 5,
  });
  // The sweeps' own timers keep no process alive, and nothing else here does.
  const alive = setInterval(() => {}, 1_000);
  assert.equal(await left, 'fra1');
  clearInterval(alive);
  await sweeps.stop();
  const { rows } = await sql<{ in_service: boolean; instance: string | null }>`
    select in_service, instance from edges`.execute(db);
  assert.deepEqual(rows, [{ in_service: false, instance: null }]);
});
