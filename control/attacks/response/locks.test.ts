import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { endOtherConnections, testDatabase } from '../../db/testing.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../../fleet/testing.ts';
import { recordConfirmed } from './mitigations/confirm.ts';
import type { ReportedAttack } from '../detection/index.ts';
import { recordOngoing, respondToAll, sweepAll } from './mitigations/testing.ts';
import { recordOutageAttacks } from '../detection/record/outage.ts';
import { recordBatch } from '../detection/record/recorder.ts';
import { outageAttack } from '../detection/watch/testing.ts';

const ATTACKS = 60;
const ROUNDS = 12;

/** A plan like with many attacks: rows are locked in the order of the list, not in table order. */
async function planAsWithMany(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db);
  for (const way of ['seqscan', 'hashjoin', 'mergejoin', 'bitmapscan']) {
    await sql`alter database ${sql.id(rows[0]?.name ?? '')} set ${sql.raw(`enable_${way}`)} = off`.execute(
      db,
    );
  }
  // The setting applies to connections opened from now on.
  await endOtherConnections(db);
}

test('concurrent recording, dating and mitigation of the same attacks never deadlock', async (t) => {
  const { db } = await testDatabase(t);
  await planAsWithMany(db);
  const organisation = await insertOrganisation(db, 'acme');
  await insertHolding(db, organisation, '203.0.113.0/24');
  await insertEdge(db, 'fra1');
  await sql`
    update edges set mode = 'enforce', in_service = true, confirmed_generation = 1000000`.execute(
    db,
  );
  const received: ReportedAttack[] = [];
  for (let last = 1; last <= ATTACKS; last++) {
    received.push(await recordOngoing(db, `203.0.113.${last}`, 'dns_amplification'));
  }
  await respondToAll(db, received);
  const backwards = received.toReversed();
  let rate = 1e9;
  const records = async (): Promise<void> => {
    // The values grow each time, so that all rows are written each time.
    rate += 1e6;
    const batch = backwards.map(({ attack }) => {
      const peak = { value: rate, low: rate, high: rate };
      const seen = { id: '', endedAtMs: null, peakPps: peak, peakBps: peak };
      return {
        attack: { ...attack, ...seen },
        openedAtMs: attack.startedAtMs,
        busyAtMs: attack.startedAtMs,
        tops: null,
        isClaimed: false,
        snapshot: null,
        isNews: true,
        isPart: false,
      };
    });
    await db.transaction().execute((tx) => recordBatch(tx, batch));
  };
  const outage = async (round: number): Promise<void> => {
    const { attack } = backwards[round % ATTACKS] ?? assert.fail();
    const { startedAtMs, subject } = attack;
    await recordOutageAttacks(db, 'fra1', [
      { ...outageAttack(startedAtMs - round, startedAtMs), id: `${round}`, subject },
    ]);
  };
  // Each round has a new date.
  const date = async (): Promise<void> => {
    await recordConfirmed(db);
    await sql`
      update attack_responses set mitigated_at = null where attack_id in (
        select attack_id from attack_responses order by attack_id for update)`.execute(db);
  };
  const rounds = async (work: (round: number) => Promise<unknown>): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) await work(round);
  };
  // The database reports a deadlock, and the round rejects.
  await Promise.all([
    rounds(records),
    rounds(records),
    rounds(date),
    rounds(date),
    rounds(outage),
    rounds(() => respondToAll(db, received)),
    rounds(() => respondToAll(db, backwards)),
    rounds(() => sweepAll(db)),
  ]);
  const { rows } = await sql<{ dated: number; records: number }>`
    select count(mitigated_at)::int as dated, count(*)::int as records from attacks
     where until_revision = 9223372036854775807 and reported_as is null`.execute(db);
  assert.deepEqual(rows, [{ dated: ATTACKS, records: ATTACKS }]);
});
