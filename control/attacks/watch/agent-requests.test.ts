import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples, WireAttack } from '@portcullis/link/messages/attacks.ts';
import { testDatabase } from '../../db/testing.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../../fleet/testing.ts';
import { createDetectionService } from './agent-requests.ts';
import type { Refused } from './events.ts';
import { ScopeTable } from './scopes.ts';
import {
  floodSample,
  PREFIX,
  silentWatchEvents,
  SUBJECT,
  TestWatch,
  wireAttack,
} from './testing.ts';

const FRA1: AgentRef = { kind: 'edge', name: 'fra1' };
const MINUTE = 60_000;
const YEAR = 365 * 86_400_000;

/** A detection service where the edge fra1 serves the lower half of a held prefix. */
async function startDesk(t: TestContext, serves = '{203.0.113.0/25}') {
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
  const open = () =>
    createDetectionService({
      db,
      scopes,
      judge: evaluate,
      events: { ...silentWatchEvents(), refused: (one) => void refused.push(one) },
      onAttack: () => {},
    });
  const desk = open();
  /** Of another control plane instance. */
  const another = open();
  const tellAttacks = (
    attacks: readonly WireAttack[],
    from = FRA1,
    to = desk,
  ): Promise<ControlReply> =>
    to.attacks(from, {
      kind: 'edge.attacks',
      instance: 'i',
      sequence: 1,
      atMs: Date.now(),
      attacks,
    });
  const subjects = async (): Promise<string[]> => {
    const { rows } = await sql<{ subject: string }>`
      select subject::text from attacks where until_revision = 9223372036854775807
       order by subject`.execute(db);
    return rows.map(({ subject }) => subject);
  };
  const why = () => refused.map((one) => [one.why, one.first]);
  return {
    db,
    desk,
    watch,
    refused,
    why,
    tellAttacks,
    subjects,
    another,
    pass: (ms: number) =>
      sql`update late_budgets set at = at - ${ms} * interval '1 millisecond'`.execute(db),
  };
}

const on = (subject: string, attack: WireAttack): WireAttack => ({ ...attack, subject });
const minutesAgo = (minutes: number): number => Date.now() - minutes * MINUTE;

test('tells an edge about a lost database, so that it acts autonomously, and still evaluates its counts', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  let nowMs = 0;
  const scopes = new ScopeTable(db, () => nowMs);
  let accepted = 0;
  const evaluate = {
    async accept() {
      accepted++;
      return true;
    },
  };
  const desk = createDetectionService({
    db,
    scopes,
    judge: evaluate,
    events: silentWatchEvents(),
    onAttack: () => {},
  });
  const answer = async (): Promise<string> => {
    const message: WatchSamples = {
      kind: 'watch.samples',
      instance: 'one',
      sequence: accepted + 1,
      atMs: 1,
      samples: [],
    };
    const reply = await desk.samples(FRA1, message);
    return reply.kind === 'refused' ? reply.code : reply.kind;
  };
  assert.equal(await answer(), 'done');
  nowMs += 11_000;
  assert.equal(await answer(), 'done');
  nowMs += 2_000;
  assert.equal(await answer(), 'unavailable');
  await scopes.load();
  assert.equal(await answer(), 'done');
  assert.equal(accepted, 4);
});

test('accepts delayed reports of an edge only for the prefixes it serves, and counts the others', async (t) => {
  const { tellAttacks, subjects, why } = await startDesk(t);
  const flood = wireAttack(minutesAgo(20), minutesAgo(15));
  const reported = ['203.0.113.200', '198.51.100.1', '8.8.8.8', SUBJECT, '198.51.100.0/24', PREFIX];
  const reply = await tellAttacks(reported.map((subject) => on(subject, flood)));
  assert.deepEqual(reply, { kind: 'done' });
  // It serves and counts a part of the prefix.
  assert.deepEqual(await subjects(), [PREFIX, `${SUBJECT}/32`]);
  assert.deepEqual(why(), [
    ['not_served', '203.0.113.200'],
    ['not_served', '198.51.100.1'],
    ['not_held', '8.8.8.8'],
    ['not_served', '198.51.100.0/24'],
  ]);
});

test('rejects delayed reports from the future or before all retention, and accepts those that reach into it', async (t) => {
  const { db, tellAttacks, why } = await startDesk(t);
  const hour = 60 * MINUTE;
  await tellAttacks([
    wireAttack(Date.now() - 99 * YEAR, Date.now() - 98 * YEAR),
    wireAttack(Date.now() - 91 * 24 * hour, Date.now() - 90.5 * 24 * hour),
    wireAttack(minutesAgo(5), Date.now() + hour),
    wireAttack(Date.now() + hour, null),
    { ...wireAttack(minutesAgo(5), null), mitigatedAtMs: Date.now() + hour },
  ]);
  assert.deepEqual(
    why().map(([one]) => one),
    ['too_old', 'too_old', 'future', 'future', 'future'],
  );
  await tellAttacks([wireAttack(Date.now() - 99 * YEAR, Date.now() - 89 * 24 * hour)]);
  const { rows } = await sql<{ days: number }>`
    select extract(epoch from now() - started_at)::float8 / 86400 as days from attacks`.execute(db);
  assert.equal(rows.length, 1);
  assert.ok(Math.abs((rows[0]?.days ?? 0) - 90) < 0.01, JSON.stringify(rows));
});

test('limits the delayed reports of an edge to its journal capacity across all control planes, without delaying other edges', async (t) => {
  const { tellAttacks, desk, another, refused, pass } = await startDesk(t, '{0.0.0.0/0}');
  const flood = wireAttack(minutesAgo(20), minutesAgo(15));
  const many = Array.from({ length: 64 }, () => flood);
  // All at once, like an attacker.
  const replies = await Promise.all(
    Array.from({ length: 18 }, (_, index) => tellAttacks(many, FRA1, index % 2 ? desk : another)),
  );
  const taken = replies.filter(({ kind }) => kind === 'done').length;
  assert.equal(taken, 16);
  assert.deepEqual(
    refused.map(({ why, count }) => [why, count]),
    [
      ['too_many', 64],
      ['too_many', 64],
    ],
  );
  assert.equal((await tellAttacks(many, { kind: 'edge', name: 'fra2' })).kind, 'done');
  await pass(-60 * MINUTE);
  assert.equal((await tellAttacks(many)).kind, 'refused', 'a clock set back gives nothing back');
  await pass(70 * MINUTE);
  assert.equal((await tellAttacks(many)).kind, 'done');
});

test('an attack that the database rejects does not block the others of its report', async (t) => {
  const { db, tellAttacks, subjects, why } = await startDesk(t);
  await sql`alter table attacks add check (peak_pps < 1000000)`.execute(db);
  const flood = wireAttack(minutesAgo(20), minutesAgo(15));
  const impossible = { ...flood, peakPps: { value: 1e9, low: 1e9, high: 1e9 } };
  const reply = await tellAttacks([on('203.0.113.1', impossible), flood]);
  assert.deepEqual(reply, { kind: 'done' });
  assert.deepEqual(await subjects(), [`${SUBJECT}/32`]);
  assert.deepEqual(why(), [['unrecordable', '203.0.113.1']]);
});

test('evaluates counts and senders of an agent only for the prefixes it serves', async (t) => {
  const { desk, watch, refused, subjects } = await startDesk(t);
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
    assert.deepEqual(await desk.samples(FRA1, message), { kind: 'done' });
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
  assert.equal(watch.host.trails.topsOf('203.0.113.200'), null);
  assert.notEqual(watch.host.trails.topsOf('203.0.113.20'), null);
});
