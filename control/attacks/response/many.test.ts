import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../../fleet/testing.ts';
import type { ReportedAttack } from '../detection/index.ts';
import type { MitigationEvents } from './mitigations/events.ts';
import { startMitigations } from './mitigations/mitigations.ts';
import { respondToReports } from './mitigations/respond.ts';
import { recordOngoing } from './mitigations/testing.ts';
import type { Seen } from '../detection/record/plan.ts';
import { TestWatch } from '../detection/watch/testing.ts';

const ATTACKS = 1_000;
/** Recorded in batches; events received meanwhile are planned together. */
const MOST_GENERATIONS = 10;

async function attacked(t: TestContext) {
  const { db } = await testDatabase(t);
  const organisation = await insertOrganisation(db, 'acme');
  await insertHolding(db, organisation, '10.0.0.0/16');
  // Every attack also calls a responder.
  const spec = {
    call: { kind: 'command', command: ['/bin/true'] },
    prefixes: null,
    pps: null,
    mbps: null,
    timeoutSeconds: 5,
    expiresSeconds: 600,
  };
  await sql`insert into responders (name, spec, owner)
            values ('router', ${JSON.stringify(spec)}::jsonb, 'fleet')`.execute(db);
  await insertEdge(db, 'fra1');
  await sql`
    update edges set mode = 'enforce', in_service = true, confirmed_generation = 1000000`.execute(
    db,
  );
  return db;
}

function seenOf(index: number, endedAtMs: number | null): Seen {
  const measured = { value: 90_000, low: 90_000, high: 90_000 };
  const startedAtMs = Date.now() - 1_000;
  const attack = {
    id: String(index),
    subject: `10.0.${index >> 8}.${index & 255}`,
    type: 'dns_amplification',
    shares: [{ type: 'dns_amplification', share: 1 }],
    peakPps: measured,
    peakBps: measured,
    startedAtMs,
    endedAtMs,
  } as const;
  return {
    attack,
    openedAtMs: startedAtMs,
    busyAtMs: startedAtMs,
    tops: null,
    isClaimed: false,
    snapshot: null,
    isNews: true,
    isPart: false,
  };
}

test('records, mitigates, dates and ends a thousand concurrent attacks in few generations', async (t) => {
  const db = await attacked(t);
  const failures: unknown[] = [];
  const dated = new Set<number>();
  const events: MitigationEvents = {
    responded() {},
    mitigated: (id) => void dated.add(id),
    called() {},
    failed: (_, error) => void failures.push(error),
  };
  const mitigations = startMitigations({ db, events });
  t.after(() => mitigations.stop());
  const watch = new TestWatch(
    db,
    Date.now(),
    'one',
    (received) => void mitigations.onAttack(received),
  );
  const standing = async (): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(distinct attack_id)::int as count from mitigations
       where deleted_generation is null`.execute(db);
    return rows[0]?.count ?? 0;
  };
  const until = async (isDone: () => Promise<boolean> | boolean): Promise<void> => {
    for (let looks = 0; !(await isDone()); looks++) {
      assert.ok(looks < 1_200, `${dated.size} dated, ${await standing()} stand`);
      await delay(50);
    }
  };
  const before = await currentGeneration(db);
  const beganMs = performance.now();
  for (let index = 0; index < ATTACKS; index++) watch.recorder.note(seenOf(index, null));
  await until(() => dated.size === ATTACKS);
  const tookMs = Math.round(performance.now() - beganMs);
  t.diagnostic(`${ATTACKS} attacks recorded, mitigated and dated in ${tookMs} ms`);
  const after = await currentGeneration(db);
  assert.ok(after - before <= MOST_GENERATIONS, `${after - before} generations`);
  assert.equal(await standing(), ATTACKS);
  for (let index = 0; index < ATTACKS; index++) watch.recorder.note(seenOf(index, Date.now()));
  await until(async () => (await standing()) === 0);
  assert.ok((await currentGeneration(db)) - after <= MOST_GENERATIONS);
  const { rows } = await sql<{ runs: number; withdrawn: number }>`
    select count(*)::int as runs, count(withdrawn_at)::int as withdrawn from responder_runs`.execute(
    db,
  );
  assert.deepEqual(rows, [{ runs: ATTACKS, withdrawn: ATTACKS }]);
  assert.deepEqual([failures, watch.failures], [[], []]);
});

test('an attack whose plan fails does not delay the others of its batch', async (t) => {
  const db = await attacked(t);
  const received: ReportedAttack[] = [];
  for (let last = 1; last <= 20; last++) {
    received.push(await recordOngoing(db, `10.0.0.${last}`, 'dns_amplification'));
  }
  await sql`alter table mitigations add check (target <> '10.0.0.7')`.execute(db);
  const failed: string[] = [];
  let reported = 0;
  await respondToReports(db, received, {
    responded: () => void reported++,
    failed: (what) => void failed.push(what),
  });
  assert.deepEqual([reported, failed], [19, ['mitigating an attack']]);
});
