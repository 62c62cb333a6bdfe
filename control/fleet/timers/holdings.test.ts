import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { type Channel, listen } from '../../db/listen.ts';
import { testDatabase } from '../../db/testing.ts';
import { currentGeneration } from '../generations.ts';
import { inSnapshot, loadPolicies } from '../policies/policies.ts';
import { advanceHoldings, startHoldingScheduler } from './holdings.ts';
import { acceptRule, insertHolding, insertOrganisation, silentEvents } from '../testing.ts';

const IP = '203.0.113.10';

const ago = (s: number): string => new Date(Date.now() - s * 1000).toISOString();

interface Row {
  readonly generation: number;
  readonly cause: string;
  readonly target: string;
  readonly lateMs: number;
}

/** Generations that the scheduler made, and how long after `moment`. */
async function scheduled(db: Db, moment: Date): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select generation, cause, target,
           (extract(epoch from created_at - ${moment.toISOString()}::timestamptz) * 1000)::float8 as "lateMs"
      from generations left join changes using (generation)
     where cause = 'holding' order by generation, target`.execute(db);
  return rows;
}

/** Resolves at the next notification that satisfies `done`. */
async function received(url: string, done: () => Promise<boolean>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    if (await done()) resolve();
  };
  const channels: readonly Channel[] = ['portcullis_generation'];
  const listener = listen(url, channels, () => {
    look().catch(reject);
  });
  try {
    await promise;
  } finally {
    await listener.stop();
  }
}

/** A check without a reason comes after 30 s. The bound leaves time to a loaded machine. */
const WOKEN_MS = 10_000;

test("takes a generation at a holding's end, not at the next check; the new holder starts without rules", async (t) => {
  const { db, url } = await testDatabase(t);
  const old = await insertOrganisation(db, 'old');
  const next = await insertOrganisation(db, 'next');
  // What comes before it is done by then on a busy machine too.
  const end = new Date(Date.now() + 4_000);
  const held = await insertHolding(db, old, '203.0.113.0/24', { until: end.toISOString() });
  await insertHolding(db, next, '203.0.113.0/24', { from: end.toISOString() });
  await advanceHoldings(db, silentEvents());
  await acceptRule(db, held, IP, { port: 53 });
  const before = await inSnapshot(db, (tx) => loadPolicies(tx, [IP]));
  assert.equal(before.policies[0]?.rules.length, 1);
  const taken = await currentGeneration(db);

  const scheduler = startHoldingScheduler({ db, events: silentEvents() });
  await received(url, async () => (await currentGeneration(db)) > taken);
  await scheduler.stop();

  const made = (await scheduled(db, end)).filter((row) => row.generation > taken);
  assert.deepEqual(
    made.map(({ generation, target }) => [generation, target]),
    [[taken + 1, '203.0.113.0/24']],
  );
  const lateMs = made[0]?.lateMs ?? Number.NaN;
  assert.ok(lateMs >= 0 && lateMs < WOKEN_MS, `${lateMs} ms after the moment`);
  const after = await inSnapshot(db, (tx) => loadPolicies(tx, ['203.0.113.0/24']));
  assert.deepEqual(after, { policies: [], removed: ['203.0.113.0/24', IP] });
});

test('catches up at the start, in one generation', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  await sql`update fleet set holdings_until = now() - interval '1 minute'`.execute(db);
  await insertHolding(db, org, '192.0.2.0/24', { from: ago(1000), until: ago(30) });
  await insertHolding(db, org, '198.51.100.0/24', { from: ago(20) });
  await insertHolding(db, org, '203.0.113.0/24', { from: ago(1000), until: ago(500) });
  await insertHolding(db, org, '2001:db8::/32', { from: ago(1000) });
  await advanceHoldings(db, silentEvents());
  const made = await scheduled(db, new Date());
  assert.deepEqual(
    made.map((row) => [row.generation, row.target]),
    [
      [1, '192.0.2.0/24'],
      [1, '198.51.100.0/24'],
    ],
  );
  assert.equal(await advanceHoldings(db, silentEvents()), null);
  assert.equal(await currentGeneration(db), 1, 'nothing is done twice');
});

test('replicas take one generation for one moment', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  await sql`update fleet set holdings_until = now() - interval '1 minute'`.execute(db);
  const until = new Date(Date.now() - 1000).toISOString();
  for (let n = 0; n < 20; n += 1) await insertHolding(db, org, `192.0.2.${n}/32`, { until });
  await Promise.all(Array.from({ length: 8 }, () => advanceHoldings(db, silentEvents())));
  assert.equal(await currentGeneration(db), 1);
});

test('sees new holdings when woken', async (t) => {
  const { db, url } = await testDatabase(t);
  const scheduler = startHoldingScheduler({ db, events: silentEvents(), maxWaitMs: 600_000 });
  const org = await insertOrganisation(db, 'org');
  // The first check is done when it has stored its position.
  await received(url, async () => {
    for (let tries = 0; tries < 1000; tries += 1) {
      const { rows } = await sql<{ n: number }>`
        select count(*) as n from fleet where holdings_until > '-infinity'`.execute(db);
      if (rows[0]?.n === 1) return true;
    }
    return false;
  });
  const end = new Date(Date.now() + 300);
  await insertHolding(db, org, '192.0.2.0/24', { until: end.toISOString() });
  scheduler.wake();
  await received(url, async () => (await currentGeneration(db)) === 1);
  await scheduler.stop();
  const lateMs = (await scheduled(db, end))[0]?.lateMs ?? Number.NaN;
  assert.ok(lateMs >= 0 && lateMs < WOKEN_MS, `${lateMs} ms after the moment`);
});
