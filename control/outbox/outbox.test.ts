import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { testDatabase } from '../db/testing.ts';
import { type Attempt, claimAttempts, releaseAttempt, storeResult } from './attempts.ts';
import { type OutboxTable, type Sender, startOutbox } from './index.ts';

const LEASE_SECONDS = 600;
/** The columns of a settled row, by table. */
const DONE = {
  webhook_deliveries: sql`state = 'delivered'`,
  responder_calls: sql`succeeded = true`,
} as const;
const TABLES = Object.keys(DONE) as OutboxTable[];

/** Inserts a row that is due. */
async function insertDue(db: Db, table: OutboxTable): Promise<void> {
  if (table === 'webhook_deliveries') {
    await sql`
      with o as (insert into organisations (slug, name, owner) values ('acme', 'Acme', 'portal') returning id),
           w as (insert into webhooks (organisation_id, name, url, kinds, secret)
                 select id, 'hook', 'https://example.net/', '{attack.opened}', sha256('x') from o returning id),
           e as (insert into events (organisation_id, kind, target) select id, 'webhook.test', 'x' from o returning id)
      insert into webhook_deliveries (webhook_id, event_id) select w.id, e.id from w, e`.execute(
      db,
    );
    return;
  }
  await sql`
    with a as (insert into attack_responses (attack_id, target, facts, started_at, expires_at)
               values (1, '203.0.113.10', '{}', now(), now() + interval '1 hour') returning attack_id),
         r as (insert into responder_runs (attack_id, responder, spec, expires_at)
               select attack_id, 'a', '{}', now() + interval '1 hour' from a returning id)
    insert into responder_calls (run_id, kind) select id, 'start' from r`.execute(db);
}

function claim(db: Db, table: OutboxTable): Promise<Attempt[]> {
  const chosen = sql`chosen as (
    select id, ${LEASE_SECONDS}::integer as lease_seconds from ${sql.table(table)}
     where settled_at is null and due_at <= now() for update skip locked)`;
  return claimAttempts(db, table, { chosen, columns: sql`c.due_at`, joins: sql`` });
}

async function claimOne(db: Db, table: OutboxTable): Promise<Attempt> {
  const [claimed, ...others] = await claim(db, table);
  assert.ok(claimed !== undefined && others.length === 0);
  return claimed;
}

async function endLease(db: Db, table: OutboxTable, afterMs = 0): Promise<void> {
  const until = sql`clock_timestamp() + ${afterMs} * interval '1 millisecond'`;
  await sql`update ${sql.table(table)} set due_at = ${until}, claimed_until = ${until}`.execute(db);
}

async function stored(db: Db, table: OutboxTable): Promise<unknown> {
  return (await sql`select * from ${sql.table(table)}`.execute(db)).rows;
}

for (const table of TABLES) {
  const done = { set: DONE[table], retryMs: null };

  describe(`the outbox of ${table}`, () => {
    it('gives due work to one of many processes', async (t) => {
      const { db } = await testDatabase(t);
      await insertDue(db, table);
      const claims = await Promise.all(Array.from({ length: 8 }, () => claim(db, table)));
      assert.equal(claims.flat().length, 1);
      assert.deepEqual(await claim(db, table), [], 'the lease has not ended');
    });

    it('stores nothing of an attempt whose lease was taken over', async (t) => {
      const { db } = await testDatabase(t);
      await insertDue(db, table);
      const slow = await claimOne(db, table);
      await endLease(db, table);
      const next = await claimOne(db, table);
      const before = await stored(db, table);
      assert.equal(await storeResult(db, table, slow, done), false);
      await releaseAttempt(db, table, slow);
      assert.deepEqual(await stored(db, table), before);
      assert.equal(await storeResult(db, table, next, done), true);
      assert.equal(await storeResult(db, table, next, done), false, 'it is settled');
    });

    it('gives back what a stop aborted, uncounted, without using the number of its claim again', async (t) => {
      const { db } = await testDatabase(t);
      await insertDue(db, table);
      const slow = await claimOne(db, table);
      await endLease(db, table);
      const aborted = await claimOne(db, table);
      assert.deepEqual([slow.attempts, aborted.attempts], [1, 2]);
      await releaseAttempt(db, table, aborted);
      const before = await stored(db, table);
      assert.equal(await storeResult(db, table, slow, done), false);
      assert.deepEqual(await stored(db, table), before);
      const next = await claimOne(db, table);
      assert.equal(next.attempts, 2);
      assert.equal(await storeResult(db, table, next, done), true);
    });

    it('repeats the attempt of a killed process at the end of its lease, without a notification', async (t) => {
      const { db } = await testDatabase(t);
      await insertDue(db, table);
      await claimOne(db, table);
      await endLease(db, table, 1_000);
      const sent = Promise.withResolvers<Attempt>();
      const sender: Sender<Attempt, undefined> = {
        table,
        work: 'work',
        atATime: 1,
        longestWaitMs: 3_600_000,
        claim: () => claim(db, table),
        send: async () => undefined,
        settle: async (due) => {
          await storeResult(db, table, due, done);
          sent.resolve(due);
        },
        failed: (what, error) => sent.reject(new Error(what, { cause: error })),
      };
      const outbox = startOutbox(db, sender);
      t.after(() => outbox.stop());
      assert.equal((await sent.promise).attempts, 2);
    });
  });
}
