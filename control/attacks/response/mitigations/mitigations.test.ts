import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Db } from '../../../db/database.ts';
import { testDatabase } from '../../../db/testing.ts';
import { currentGeneration } from '../../../fleet/generations.ts';
import { inSnapshot, loadPolicies } from '../../../fleet/policies/policies.ts';
import { serveEdges, TestEdge } from '../../../fleet/test-edge.ts';
import { insertEdge, insertHolding, insertOrganisation } from '../../../fleet/testing.ts';
import { cancelIn } from './cancel.ts';
import { recordConfirmed } from './confirm.ts';
import type { MitigationEvents } from './events.ts';
import { startMitigations } from './mitigations.ts';
import { mitigatedAt, recordOngoing, respondTo, activeKinds, sweepAll } from './testing.ts';

const SUBJECT = '203.0.113.10';
const OPERATOR = { kind: 'operator', name: 'root', source: null, requestId: null } as const;

async function fleet(t: TestContext): Promise<{ db: Db; organisation: number; holding: number }> {
  const { db } = await testDatabase(t);
  const organisation = await insertOrganisation(db, 'acme');
  const holding = await insertHolding(db, organisation, '203.0.113.0/24');
  return { db, organisation, holding };
}

async function set(db: Db, holding: number, change: Partial<ScopeSettings>): Promise<void> {
  await sql`update holdings set detection = ${JSON.stringify({ ...NOTHING_SET, ...change })}::jsonb
             where id = ${holding}`.execute(db);
}

async function policies(db: Db) {
  return inSnapshot(db, async (tx) => (await loadPolicies(tx, 'all')).policies);
}

test('creates a policy for an attacked address without one, and removes it at the end', async (t) => {
  const { db } = await fleet(t);
  const received = await recordOngoing(db, SUBJECT, 'dns_amplification');
  const responded = await respondTo(db, received);
  assert.deepEqual(responded, {
    attackId: received.attackId,
    subject: SUBJECT,
    generation: await currentGeneration(db),
    actions: 2,
  });
  const [policy, ...others] = await policies(db);
  assert.deepEqual(others, []);
  assert.equal(policy?.target, SUBJECT);
  assert.deepEqual(
    policy.mitigations.map(({ mode, protocol, sourcePort, fragment }) => [
      mode,
      protocol,
      sourcePort,
      fragment,
    ]),
    [
      ['enforce', 'udp', 53, 'any'],
      ['enforce', 'udp', null, 'later'],
    ],
  );
  // A repeated event changes nothing.
  assert.equal(await respondTo(db, { ...received, kind: 'changed' }), null);
  const ended = await respondTo(db, { ...received, kind: 'ended' });
  assert.equal(ended?.actions, 0);
  assert.deepEqual(await policies(db), []);
  const whole = await inSnapshot(db, (tx) => loadPolicies(tx, ['203.0.113.0/24']));
  assert.ok(whole.removed.includes(SUBJECT), 'an edge is informed that the policy is gone');
  // It continues: the same record with the same mitigations.
  assert.equal((await respondTo(db, { ...received, kind: 'continued' }))?.actions, 2);
});

test('mitigates an attacked prefix for its holder, but not for other holders inside it', async (t) => {
  const { db, organisation } = await fleet(t);
  const other = await insertOrganisation(db, 'hive');
  await insertHolding(db, other, '203.0.113.200/32', { service: 5 });
  await insertHolding(db, organisation, '203.0.113.128/26');
  await respondTo(db, await recordOngoing(db, '203.0.113.0/24', 'icmp_flood'));
  const found = await policies(db);
  assert.deepEqual(
    found.map(({ target, mitigations }) => [target, mitigations.length]),
    [
      ['203.0.113.0/24', 2],
      ['203.0.113.128/26', 0],
      ['203.0.113.200', 0],
    ],
  );
});

test('adds actions for new facts, keeps those whose facts are no longer reported, and ends those of a type that is gone', async (t) => {
  const { db } = await fleet(t);
  const port = (number: number) => ({
    sources: [],
    sourcePorts: [],
    destinationPorts: [{ port: number, packets: 9000 }],
  });
  const received = await recordOngoing(db, SUBJECT, 'tcp_syn_flood', port(80));
  await respondTo(db, received);
  assert.deepEqual(await activeKinds(db, received.attackId), ['enforce limit', 'enforce filter']);
  await respondTo(db, { ...received, kind: 'changed', tops: port(443) });
  const [policy] = await policies(db);
  assert.deepEqual(
    policy?.filters.map(({ type, port: at, managed }) => [type, at, managed]),
    [
      ['tcp-syn-proxy', 80, true],
      ['tcp-syn-proxy', 443, true],
    ],
  );
  assert.equal(await respondTo(db, { ...received, kind: 'changed', tops: null }), null);
  const { attack } = received;
  const presenting = (...present: readonly AttackType[]): Promise<unknown> =>
    respondTo(db, { ...received, kind: 'changed', attack: { ...attack, present }, tops: null });
  await presenting('icmp_flood', 'tcp_syn_flood');
  assert.equal((await activeKinds(db, received.attackId)).length, 4);
  await presenting('icmp_flood');
  assert.deepEqual(await activeKinds(db, received.attackId), ['enforce limit']);
});

test('applies changed modes and safelists: observe marks, off withdraws, on restores', async (t) => {
  const { db, holding } = await fleet(t);
  await set(db, holding, { mitigation: 'observe', safelist: ['192.0.2.0/24'] });
  const received = await recordOngoing(db, SUBJECT, 'icmp_flood');
  await respondTo(db, received);
  assert.deepEqual(await activeKinds(db, received.attackId), ['observe limit']);
  assert.deepEqual((await policies(db))[0]?.mitigations[0]?.safelist, ['192.0.2.0/24']);
  await set(db, holding, { mitigation: 'on' });
  assert.equal(await sweepAll(db), 1);
  assert.deepEqual(await activeKinds(db, received.attackId), ['enforce limit']);
  assert.deepEqual((await policies(db))[0]?.mitigations[0]?.safelist, []);
  assert.equal(await sweepAll(db), 0);
  await set(db, holding, { mitigation: 'off' });
  await sweepAll(db);
  assert.deepEqual(await activeKinds(db, received.attackId), []);
  await set(db, holding, {});
  await sweepAll(db);
  assert.deepEqual(await activeKinds(db, received.attackId), ['enforce limit']);
});

test('the next process mitigates an attack whose process was killed after recording it', async (t) => {
  const { db } = await fleet(t);
  const { attackId } = await recordOngoing(db, SUBJECT, 'ntp_amplification');
  assert.deepEqual(await activeKinds(db, attackId), []);
  assert.equal(await sweepAll(db, false), 1);
  assert.deepEqual(await activeKinds(db, attackId), ['enforce reflector', 'enforce fragments']);
  // And its end, which was not reported either.
  await sql`update ongoing_attacks set ended_at = now()`.execute(db);
  assert.equal(await sweepAll(db, false), 1);
  assert.deepEqual(await activeKinds(db, attackId), []);
  assert.equal(await sweepAll(db), 0);
});

test('withdraws mitigations of attacks that are no longer reported, with or without a record', async (t) => {
  const { db } = await fleet(t);
  const silent = await recordOngoing(db, SUBJECT, 'icmp_flood');
  const gone = await recordOngoing(db, '203.0.113.11', 'icmp_flood');
  for (const received of [silent, gone]) await respondTo(db, received);
  await sql`update attack_responses set expires_at = now() where attack_id = ${silent.attackId}`.execute(
    db,
  );
  await sql`update ongoing_attacks set seen_at = now() - interval '1 hour'`.execute(db);
  await sql`delete from ongoing_attacks where attack_id = ${gone.attackId}`.execute(db);
  assert.equal(await sweepAll(db, false), 2);
  const { rows } = await sql<{ why: string }>`
    select ended_because as why from mitigations order by attack_id`.execute(db);
  assert.deepEqual(
    rows.map(({ why }) => why),
    ['expired', 'over'],
  );
});

test('dates a mitigation when the first enforcing edge has it in its kernel', async (t) => {
  const { db } = await fleet(t);
  for (const name of ['a', 'b', 'c']) await insertEdge(db, name);
  const { link } = serveEdges(db);
  const [first, refusing, observing] = ['a', 'b', 'c'].map(
    (name) => new TestEdge(link, name, `${name}1`),
  );
  assert.ok(first && refusing && observing);
  await first.join();
  await refusing.join();
  await observing.hello('observe');
  const received = await recordOngoing(db, SUBJECT, 'icmp_flood');
  await respondTo(db, received);
  assert.deepEqual(await recordConfirmed(db), []);
  await observing.sync();
  await observing.confirm();
  assert.deepEqual(await recordConfirmed(db), [], 'an edge that observes mitigates nothing');
  await refusing.sync();
  const generation = refusing.generation;
  await refusing.confirm(generation, [
    { target: SUBJECT, reason: 'too much', goodGeneration: generation - 1 },
  ]);
  assert.deepEqual(await recordConfirmed(db), [], 'a refused target is not mitigated');
  assert.equal(await mitigatedAt(db, received.attackId), null);
  await first.sync();
  assert.equal(first.policies.get(SUBJECT)?.mitigations.length, 1);
  await first.confirm();
  assert.deepEqual(await recordConfirmed(db), [received.attackId]);
  assert.ok((await mitigatedAt(db, received.attackId)) instanceof Date);
  assert.deepEqual(await recordConfirmed(db), [], 'once');
});

test('an edge without replies does not date mitigations that only limit unknown sources', async (t) => {
  const { db } = await fleet(t);
  await insertEdge(db, 'a');
  await sql`update edges set sees = 'inbound'`.execute(db);
  const edge = new TestEdge(serveEdges(db).link, 'a', 'a1');
  await edge.join();
  const unanswered = await recordOngoing(db, SUBJECT, 'gre_flood');
  const everybody = await recordOngoing(db, '203.0.113.11', 'icmp_flood');
  for (const received of [unanswered, everybody]) await respondTo(db, received);
  await edge.sync();
  await edge.confirm();
  assert.deepEqual(await recordConfirmed(db), [everybody.attackId]);
  await sql`update edges set sees = 'both'`.execute(db);
  assert.deepEqual(await recordConfirmed(db), [unanswered.attackId]);
});

test('replicas of version 0.1 and of this one read what either stores', async (t) => {
  const { db } = await fleet(t);
  const received = await recordOngoing(db, SUBJECT, 'gre_flood');
  await respondTo(db, received);
  const { rows: stored } = await sql<{ before: MitigationAction; now: MitigationAction }>`
    select action as before, countermeasure as now from mitigations`.execute(db);
  const limits = stored.flatMap(({ before, now }) =>
    before.kind === 'limit' && now.kind === 'limit' ? [[before.limit, now.limit] as const] : [],
  );
  assert.ok(limits.length > 0);
  for (const [before, now] of limits) {
    const { unansweredOnly, ...rest } = now;
    assert.deepEqual(before, { ...rest, strangersOnly: unansweredOnly });
  }
  // As version 0.1 inserts them.
  await sql`
    insert into mitigations (attack_id, target, action, mode, safelist, created_generation)
    select attack_id, target, jsonb_set(action, '{port}', '7'), mode, safelist, created_generation
      from mitigations where action ->> 'kind' = 'limit'`.execute(db);
  const { rows: after } = await sql<{ same: boolean }>`
    select countermeasure = jsonb_set(action #- '{limit,strangersOnly}', '{limit,unansweredOnly}',
                                      action #> '{limit,strangersOnly}') as same
      from mitigations where action ->> 'kind' = 'limit'`.execute(db);
  assert.deepEqual(
    after.map(({ same }) => same),
    Array.from({ length: limits.length * 2 }, () => true),
  );
});

test('withdraws all actions of a cancelled attack, and audits the caller', async (t) => {
  const { db } = await fleet(t);
  const received = await recordOngoing(db, SUBJECT, 'icmp_flood');
  await respondTo(db, received);
  const cancel = (id: number) => db.transaction().execute((tx) => cancelIn(tx, id, OPERATOR));
  const cancelled = await cancel(received.attackId);
  assert.equal(cancelled?.generation, await currentGeneration(db));
  assert.deepEqual(await policies(db), []);
  await respondTo(db, { ...received, kind: 'changed' });
  await sweepAll(db);
  assert.deepEqual(await activeKinds(db, received.attackId), []);
  assert.equal((await cancel(received.attackId))?.generation, null);
  assert.equal(await cancel(4711), null);
  const { rows } = await sql<{ target: string }>`
    select target from audit where action = 'attack.cancel'`.execute(db);
  assert.deepEqual(rows, [
    { target: `attack:${received.attackId}` },
    { target: `attack:${received.attackId}` },
  ]);
});

test('plans nothing for an attack cancelled before its mitigation', async (t) => {
  const { db } = await fleet(t);
  const received = await recordOngoing(db, SUBJECT, 'icmp_flood');
  await db.transaction().execute((tx) => cancelIn(tx, received.attackId, OPERATOR));
  assert.equal(await respondTo(db, received), null);
  assert.equal(await sweepAll(db), 0);
  assert.deepEqual(await activeKinds(db, received.attackId), []);
});

test('applies concurrent events once, also of several processes', async (t) => {
  const { db } = await fleet(t);
  const received = await recordOngoing(db, SUBJECT, 'dns_amplification');
  await Promise.all(Array.from({ length: 8 }, () => respondTo(db, received)));
  assert.equal((await activeKinds(db, received.attackId)).length, 2);
  assert.equal(await currentGeneration(db), 1);
});

test('mitigates reported attacks, dates them when an edge confirms, and survives failures', async (t) => {
  const { db } = await fleet(t);
  await insertEdge(db, 'a');
  const edge = new TestEdge(serveEdges(db).link, 'a', 'a1');
  await edge.join();
  const mitigated = Promise.withResolvers<number>();
  const failures: string[] = [];
  const events: MitigationEvents = {
    responded: () => {},
    mitigated: (id) => mitigated.resolve(id),
    called: () => {},
    failed: (what) => failures.push(what),
  };
  const responder = startMitigations({ db, events, sweepMs: 200 });
  t.after(() => responder.stop());
  const received = await recordOngoing(db, SUBJECT, 'dns_amplification');
  const broken = { ...received.attack, subject: 'nowhere' };
  await responder.onAttack({ ...received, attackId: 4711, attack: broken });
  assert.deepEqual(failures, ['mitigating an attack']);
  await responder.onAttack(received);
  await edge.sync();
  await edge.confirm();
  assert.equal(await mitigated.promise, received.attackId);
});
