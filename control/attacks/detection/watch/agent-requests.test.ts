import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples, OutageAttack } from '@portcullis/link/messages/attacks.ts';
import { testDatabase } from '../../../db/testing.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../../../fleet/testing.ts';
import { createDetectionService } from './agent-requests.ts';
import type { Refused } from './events.ts';
import { ScopeTable } from '../scopes/scope-table.ts';
import {
  boundRequest,
  floodSample,
  PREFIX,
  silentWatchEvents,
  SUBJECT,
  TestWatch,
  outageAttack,
} from './testing.ts';

const FRA1: AgentRef = { kind: 'edge', name: 'fra1' };
const MINUTE = 60_000;
const YEAR = 365 * 86_400_000;

/** A detection service where the edge fra1 serves the lower half of a held prefix. */
async function startService(t: TestContext, serves = '{203.0.113.0/25}') {
  const { db } = await testDatabase(t);
  const organisation = await insertOrganisation(db, 'acme');
  await insertHolding(db, organisation, PREFIX, {
    from: new Date(Date.now() - YEAR).toISOString(),
  });
  await insertHolding(db, organisation, '198.51.100.0/24');
  for (const name of ['fra1', 'fra2']) await insertEdge(db, name);
  await sql`update edges set serves = ${serves}::cidr[]`.execute(db);
  const watch = new TestWatch(db, Date.now());
  const refused: Refused[] = [];
  const { scopes, evaluate } = watch;
  const service = createDetectionService({
    db,
    scopes,
    leader: evaluate,
    events: { ...silentWatchEvents(), refused: (one) => void refused.push(one) },
  });
  const reportAttacks = async (
    attacks: readonly OutageAttack[],
    atMs = Date.now(),
  ): Promise<ControlReply> => {
    const message = { kind: 'edge.attacks', instance: 'i', atMs, attacks } as const;
    return service.attacks(FRA1, await boundRequest(db, FRA1, message));
  };
  const subjects = async (): Promise<string[]> => {
    const { rows } = await sql<{ subject: string }>`
      select subject::text from attacks where until_revision = 9223372036854775807
       order by subject`.execute(db);
    return rows.map(({ subject }) => subject);
  };
  const why = () => refused.map((one) => [one.why, one.first]);
  return { db, service, watch, refused, why, reportAttacks, subjects };
}

const on = (subject: string, attack: OutageAttack): OutageAttack => ({ ...attack, subject });
const minutesAgo = (minutes: number): number => Date.now() - minutes * MINUTE;

test('tells an edge about a lost database, so that it acts autonomously, and still evaluates its counts', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const scopes = new ScopeTable(db);
  let accepted = 0;
  const evaluate = {
    silentMs: 0,
    async accept() {
      accepted++;
      return true;
    },
  };
  const service = createDetectionService({
    db,
    scopes,
    leader: evaluate,
    events: silentWatchEvents(),
  });
  const answer = async (): Promise<string> => {
    const message: WatchSamples = {
      kind: 'watch.samples',
      instance: 'one',
      sequence: accepted + 1,
      atMs: 1,
      samples: [],
    };
    const reply = await service.samples(FRA1, await boundRequest(db, FRA1, message));
    return reply.kind === 'refused' ? reply.code : reply.kind;
  };
  assert.equal(await answer(), 'done');
  evaluate.silentMs = 11_000;
  assert.equal(await answer(), 'done');
  evaluate.silentMs = 13_000;
  assert.equal(await answer(), 'unavailable');
  evaluate.silentMs = 0;
  assert.equal(await answer(), 'done');
  assert.equal(accepted, 4);
});

test('accepts attacks of an outage from an edge only for the prefixes it serves, and counts the others', async (t) => {
  const { db, reportAttacks, subjects, why, refused } = await startService(t);
  const flood = outageAttack(minutesAgo(20), minutesAgo(15));
  await sql`update edges set serves = serves || '{8.8.8.8/32}'::cidr[]`.execute(db);
  const reported = ['203.0.113.200', '198.51.100.1', '8.8.8.8', SUBJECT, '198.51.100.0/24', PREFIX];
  const reply = await reportAttacks(reported.map((subject) => on(subject, flood)));
  assert.deepEqual(reply, { kind: 'done' });
  // It serves and counts a part of the prefix.
  assert.deepEqual(await subjects(), [PREFIX, `${SUBJECT}/32`]);
  assert.deepEqual(why(), [
    ['not_served', '203.0.113.200'],
    ['not_held', '8.8.8.8'],
  ]);
  assert.equal(refused[0]?.count, 3);
});

test('dates a reported attack by its age: the clock of the edge may be wrong', async (t) => {
  const { db, reportAttacks, why } = await startService(t);
  const offMs = YEAR;
  const nowMs = Date.now();
  const attack = {
    ...outageAttack(minutesAgo(20) + offMs, minutesAgo(15) + offMs),
    mitigatedAtMs: minutesAgo(19) + offMs,
  };
  await reportAttacks([attack], nowMs + offMs);
  await reportAttacks([outageAttack(minutesAgo(20) - 99 * YEAR, minutesAgo(15))], nowMs);
  assert.deepEqual(why(), [['too_old', SUBJECT]]);
  const { rows } = await sql<{ started: number; mitigated: number; ended: number }>`
    select extract(epoch from now() - started_at)::float8 / 60 as started,
           extract(epoch from now() - mitigated_at)::float8 / 60 as mitigated,
           extract(epoch from now() - ended_at)::float8 / 60 as ended from attacks`.execute(db);
  assert.deepEqual(
    rows.map((row) => Object.values(row).map(Math.round)),
    [[20, 19, 15]],
  );
});

test('evaluates counts and senders of an agent only for the prefixes it serves', async (t) => {
  const { db, service, watch, refused, subjects } = await startService(t);
  const rates = { '203.0.113.20': 90_000, '203.0.113.200': 90_000, '198.51.100.1': 90_000 };
  for (let sequence = 1; sequence <= 40; sequence++) {
    watch.nowMs += 250;
    const { addresses, ...flood } = floodSample(watch.nowMs, rates);
    // A prefix that does not contain it: its traffic would be subtracted from that prefix.
    const astray = addresses.map((one) => ({
      ...one,
      subject: '203.0.113.30',
      prefix: '198.51.100.0/24',
    }));
    const samples = [{ ...flood, addresses: [...addresses, ...astray.slice(0, 1)] }];
    const message = {
      kind: 'watch.samples',
      instance: 'i',
      sequence,
      atMs: watch.nowMs,
      samples,
    } as const;
    const bound = await boundRequest(db, FRA1, message);
    assert.deepEqual(await service.samples(FRA1, bound), { kind: 'done' });
  }
  await watch.recorder.settled();
  assert.deepEqual(await subjects(), ['203.0.113.20/32']);
  assert.deepEqual(refused[0], {
    from: FRA1,
    what: 'samples',
    why: 'not_served',
    count: 5,
    first: '203.0.113.200',
  });
  assert.equal(watch.host.evidence.topsOf('203.0.113.200'), null);
  assert.notEqual(watch.host.evidence.topsOf('203.0.113.20'), null);
});
