import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import type { Db } from '../../db/database.ts';
import { listen } from '../../db/listen.ts';
import { testDatabase } from '../../db/testing.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../../fleet/testing.ts';
import { createRegistry } from '../../http/server/metrics.ts';
import { createLogger } from '../../log.ts';
import { createWatching, type Watching } from './index.ts';
import { forwardSamples, renewLease } from './leader.ts';
import { floodSample, PREFIX, SUBJECT } from './testing.ts';

/** Neither is an attack by itself: the threshold is 20,000 packets per second. */
const HALF_PPS = 14_000;

interface Replica {
  readonly watching: Watching;
  readonly edge: string;
  /** 1 if it runs the detector. */
  leads(): Promise<number>;
  stop(): Promise<void>;
}

async function startReplica(t: TestContext, db: Db, url: string, edge: string): Promise<Replica> {
  const registry = createRegistry();
  const watching = createWatching({ db, log: createLogger({ level: 'silent' }), registry });
  await watching.start({ onAttack: () => {}, onScopes: () => {} });
  const listener = listen(url, ['portcullis_samples'], () => watching.relayed());
  let isRunning = true;
  const stop = async (): Promise<void> => {
    if (!isRunning) return;
    isRunning = false;
    await listener.stop();
    await watching.stop();
  };
  t.after(stop);
  const leads = async (): Promise<number> => {
    const metric = await registry.getSingleMetric('portcullis_detector_leader')?.get();
    return metric?.values[0]?.value ?? 0;
  };
  return { watching, edge, leads, stop };
}

async function startFleet(t: TestContext) {
  const { db, url } = await testDatabase(t);
  await insertHolding(db, await insertOrganisation(db, 'acme'), PREFIX);
  for (const name of ['fra1', 'ams1']) await insertEdge(db, name);
  await sql`update edges set site = name`.execute(db);
  const first = await startReplica(t, db, url, 'fra1');
  const second = await startReplica(t, db, url, 'ams1');
  let sequence = 0;
  /** Each edge reports to the control plane that it is connected to. */
  const tell = (replicas: readonly Replica[], pps: number): Promise<ControlReply[]> => {
    const atMs = Date.now();
    sequence++;
    const samples = [floodSample(atMs, { [SUBJECT]: pps })];
    const message = { kind: 'watch.samples', instance: 'i', sequence, atMs, samples } as const;
    return Promise.all(
      replicas.map(({ watching, edge }) =>
        watching.detection.samples({ kind: 'edge', name: edge }, message),
      ),
    );
  };
  return { db, first, second, tell };
}

async function recordsOf(db: Db) {
  const { rows } = await sql<{ id: number; pps: number; ended: Date | null }>`
    select id, peak_pps as pps, ended_at as ended from attacks
     where until_revision = 9223372036854775807 order by id`.execute(db);
  return rows;
}

test('sums the halves of an attack at edges of two control planes into one attack', async (t) => {
  const { db, first, second, tell } = await startFleet(t);
  assert.deepEqual(await Promise.all([first.leads(), second.leads()]), [1, 0]);
  for (let bucket = 0; bucket < 24; bucket++) {
    for (const reply of await tell([first, second], HALF_PPS)) assert.equal(reply.kind, 'done');
    await delay(250);
  }
  const isWhole = (pps: number): boolean => Math.abs(pps - 2 * HALF_PPS) < 0.1 * HALF_PPS;
  for (let tries = 0; !isWhole((await recordsOf(db))[0]?.pps ?? 0); tries++) {
    assert.ok(tries < 400, JSON.stringify(await recordsOf(db)));
    await delay(50);
  }
  assert.equal((await recordsOf(db)).length, 1);
  for (let tries = 0; ; tries++) {
    const { rows } = await sql`select from relayed_samples`.execute(db);
    if (rows.length === 0) break;
    assert.ok(tries < 400, 'something is left lying');
    await delay(50);
  }
});

test('another control plane takes over the detector and continues the same attacks', async (t) => {
  const { db, first, second, tell } = await startFleet(t);
  const flood = async (until: () => Promise<boolean>, what: string): Promise<void> => {
    for (let bucket = 0; !(await until()); bucket++) {
      assert.ok(bucket < 120, what);
      await tell([second], 60_000);
      await delay(250);
    }
  };
  await flood(async () => (await recordsOf(db)).length > 0, 'nothing was recorded');
  const [before] = await recordsOf(db);
  await first.stop();
  await flood(async () => (await second.leads()) === 1, 'no replica runs the detector');
  const since = new Date();
  const isSeen = async (): Promise<boolean> => {
    const { rows } = await sql`
      select from ongoing_attacks where seen_at > ${since} and ended_at is null`.execute(db);
    return rows.length > 0;
  };
  await flood(isSeen, 'nobody goes on with it');
  const after = await recordsOf(db);
  assert.deepEqual(
    after.map(({ id, ended }) => [id, ended]),
    [[before?.id, null]],
  );
});

test('a killed control plane keeps the detector only until its lease expires, and a disconnected one forwards nothing', async (t) => {
  const { db, first, second, tell } = await startFleet(t);
  assert.equal(await first.leads(), 1);
  // Another process has it, as after a long stall; it is then killed and does not renew the lease.
  await sql`update detector_lease set holder = 'killed', expires_at = now() + interval '3 seconds'`.execute(
    db,
  );
  const became = async (replica: Replica, wanted: number): Promise<boolean> =>
    (await replica.leads()) === wanted;
  for (let tries = 0; !(await became(first, 0)); tries++) {
    assert.ok(tries < 100, 'it still runs the detector beside another');
    await delay(50);
  }
  for (let tries = 0; !(await became(first, 1)) && !(await became(second, 1)); tries++) {
    assert.ok(tries < 200, 'no replica runs the detector');
    await delay(50);
  }
  const other = (await became(first, 1)) ? second : first;
  await sql`alter table relayed_samples rename to gone`.execute(db);
  // The edge gets an error and acts autonomously.
  await assert.rejects(tell([other], HALF_PPS));
  await sql`alter table gone rename to relayed_samples`.execute(db);
});

test('one of many control planes runs the detector, also after a database crash lost the lease', async (t) => {
  const { db } = await testDatabase(t);
  const names = Array.from({ length: 8 }, (_, index) => `control-${index}`);
  const leads = async (): Promise<string[]> => {
    const had = await Promise.all(names.map((name) => renewLease(db, name)));
    return names.filter((_, index) => had[index] !== null);
  };
  const first = await leads();
  assert.equal(first.length, 1);
  assert.deepEqual(await leads(), first);
  await sql`delete from detector_lease`.execute(db);
  assert.equal((await leads()).length, 1);
});

test('accepts no counts of an agent while no control plane runs the detector or that one is far behind', async (t) => {
  const { db } = await testDatabase(t);
  const from = { kind: 'edge', name: 'fra1' } as const;
  const message = {
    kind: 'watch.samples',
    instance: 'i',
    sequence: 1,
    atMs: 1,
    samples: [],
  } as const;
  assert.equal(await forwardSamples(db, { from, message }), false);
  await sql`update detector_lease set holder = 'one', expires_at = now() + interval '1 hour'`.execute(
    db,
  );
  assert.equal(await forwardSamples(db, { from, message }), true);
  await sql`
    insert into relayed_samples (kind, name, message)
    select 'edge', 'fra1', '{}' from generate_series(1, 2000)`.execute(db);
  assert.equal(await forwardSamples(db, { from, message }), false);
});
