import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import { createMemoryRelays } from '@portcullis/link/testing/relay.ts';
import type { SampleRelay } from '@portcullis/link/transport/relay.ts';
import type { Db } from '../../db/database.ts';
import { testDatabase } from '../../db/testing.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../../fleet/testing.ts';
import { createRegistry } from '../../http/server/metrics.ts';
import { createLogger } from '../../log.ts';
import { createDetection, type Detection } from './index.ts';
import { renewLease } from './watch/leader.ts';
import { boundRequest, floodSample, PREFIX, SUBJECT } from './watch/testing.ts';

/** Neither is an attack by itself: the threshold is 20,000 packets per second. */
const HALF_PPS = 14_000;

interface Replica {
  readonly detection: Detection;
  readonly edge: string;
  /** 1 if it runs the detector. */
  leads(): Promise<number>;
  stop(): Promise<void>;
}

async function startReplica(
  t: TestContext,
  { db, edge, relay }: { readonly db: Db; readonly edge: string; readonly relay: SampleRelay },
): Promise<Replica> {
  const registry = createRegistry();
  const detection = createDetection({ db, log: createLogger({ level: 'silent' }), registry });
  await detection.start({ onAttack: () => {}, onScopes: () => {}, relay });
  let isRunning = true;
  const stop = async (): Promise<void> => {
    if (!isRunning) return;
    isRunning = false;
    await detection.stop();
  };
  t.after(stop);
  const leads = async (): Promise<number> => {
    const metric = await registry.getSingleMetric('portcullis_detector_leader')?.get();
    return metric?.values[0]?.value ?? 0;
  };
  return { detection, edge, leads, stop };
}

async function startFleet(t: TestContext) {
  const { db } = await testDatabase(t);
  await insertHolding(db, await insertOrganisation(db, 'acme'), PREFIX);
  for (const name of ['fra1', 'ams1']) await insertEdge(db, name);
  await sql`update edges set site = name`.execute(db);
  const [ours, theirs] = createMemoryRelays(2) as [SampleRelay, SampleRelay];
  const first = await startReplica(t, { db, edge: 'fra1', relay: ours });
  const second = await startReplica(t, { db, edge: 'ams1', relay: theirs });
  let sequence = 0;
  /** Each edge reports to the control plane that it is connected to. */
  const tell = (replicas: readonly Replica[], pps: number): Promise<ControlReply[]> => {
    const atMs = Date.now();
    sequence++;
    const samples = [floodSample(atMs, { [SUBJECT]: pps })];
    const message = { kind: 'watch.samples', instance: 'i', sequence, atMs, samples } as const;
    return Promise.all(
      replicas.map(async ({ detection, edge }) => {
        const from = { kind: 'edge', name: edge } as const;
        return detection.service.samples(from, await boundRequest(db, from, message));
      }),
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
  const isWhole = (pps: number): boolean => Math.abs(pps - 2 * HALF_PPS) < 0.1 * HALF_PPS;
  for (let bucket = 0; !isWhole((await recordsOf(db))[0]?.pps ?? 0); bucket++) {
    assert.ok(bucket < 240, JSON.stringify(await recordsOf(db)));
    await tell([first, second], HALF_PPS);
    await delay(250);
  }
  assert.equal((await recordsOf(db)).length, 1);
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

test('a killed control plane keeps the detector only until its lease expires', async (t) => {
  const { db, first, second } = await startFleet(t);
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

test('accepts no counts of an agent while no control plane takes them', async (t) => {
  const { db, second, tell } = await startFleet(t);
  await sql`update detector_lease set holder = 'killed', expires_at = now() + interval '1 minute'`.execute(
    db,
  );
  // Within a second both know that another process has the lease.
  for (let tries = 0; ; tries++) {
    const [reply] = await tell([second], HALF_PPS);
    if (reply?.kind === 'refused' && reply.code === 'unavailable') break;
    assert.ok(tries < 100, JSON.stringify(reply));
    await delay(50);
  }
});
