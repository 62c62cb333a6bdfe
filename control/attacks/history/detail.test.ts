import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { DropEntry } from '@portcullis/core/firewall/drops.ts';
import type { OverlayAction } from '@portcullis/link/messages/attacks.ts';
import { recordDrops } from '../../fleet/edges/drops.ts';
import { assertRefused } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { recordOngoing, respondTo, activeKinds } from '../response/mitigations/testing.ts';
import { recordOutageAttacks } from '../detection/record/outage.ts';
import { outageAttack } from '../detection/watch/testing.ts';

const X1 = '/api/x1/attacks';

interface Counted {
  readonly packets: number;
  readonly bytes: number;
}
interface Detail {
  readonly data: {
    readonly attack: { readonly id: number; readonly destination_ip: string };
    readonly mitigations: readonly {
      readonly id: number | null;
      readonly edge: string | null;
      readonly since: string;
      readonly action: string;
      readonly mode: string;
      readonly until: string | null;
      readonly ended_because: string | null;
    }[];
    readonly dropped: Counted;
    readonly would_drop: Counted;
    readonly cancelled_at: string | null;
  };
}

test('describes the mitigations of a visible attack and allows withdrawing them', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const received = await recordOngoing(db, '203.0.113.10', 'dns_amplification');
  await respondTo(db, received);
  const path = `${X1}/${received.attackId}`;
  const read = (await acme.get(path)).body as Detail;
  assert.deepEqual(
    [read.data.attack.id, read.data.attack.destination_ip],
    [received.attackId, '203.0.113.10'],
  );
  assert.deepEqual(
    read.data.mitigations.map(({ action, mode, until }) => [action, mode, until]),
    [
      ['UDP from port 53 (dns) is dropped', 'enforce', null],
      ['later fragments of UDP datagrams are dropped', 'enforce', null],
    ],
  );
  const cancelled = await acme.delete(`${path}/mitigations`, undefined);
  assert.equal(cancelled.status, 200, cancelled.text);
  assert.deepEqual(await activeKinds(db, received.attackId), []);
  const after = (await acme.get(path)).body as Detail;
  assert.ok(after.data.cancelled_at !== null);
  assert.deepEqual(
    after.data.mitigations.map(({ ended_because: why }) => why),
    ['cancelled', 'cancelled'],
  );
});

test('shows the dropped and observed packets of an attack once, and of no other attack', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const single = await recordOngoing(db, '203.0.113.10', 'dns_amplification');
  const spread = await recordOngoing(db, '203.0.113.0/24', 'udp_flood');
  const nowMs = Date.now() + 1_000;
  const entryOf = (target: string, packets: number, stage = 'mitigations', reason = 'mitigated') =>
    ({ target, stage, reason, by: 'nftables', packets, bytes: packets * 100 }) as DropEntry;
  const tell = (sequence: number, entries: readonly DropEntry[]) => {
    const drops = { sinceMs: nowMs - 500, untilMs: nowMs, entries, samples: [] };
    const report = { kind: 'edge.drops', instance: 'i', sequence, atMs: nowMs, drops } as const;
    return recordDrops(db, { id: 1 }, report, nowMs);
  };
  const entries = [
    entryOf('203.0.113.10', 1_000),
    entryOf('203.0.113.10', 300, 'mitigations', 'observed'),
    // Drops by rules of the holder are not included.
    entryOf('203.0.113.10', 7, 'policy', 'denied'),
    entryOf('203.0.113.11', 20),
    entryOf('203.0.113.12', 3),
    entryOf('203.0.113.0/24', 100),
  ];
  await tell(1, entries);
  await tell(1, entries);
  await tell(2, [entryOf('203.0.113.10', 1)]);
  const read = async (id: number) => ((await acme.get(`${X1}/${id}`)).body as Detail).data;
  const { dropped, would_drop: wouldDrop } = await read(single.attackId);
  assert.deepEqual(dropped, { packets: 1_001, bytes: 100_100 });
  assert.deepEqual(wouldDrop, { packets: 300, bytes: 30_000 });
  assert.equal((await read(spread.attackId)).dropped.packets, 123);
  // Drops long after its end do not count.
  await sql`
    update attacks set started_at = started_at - interval '1 hour',
           ended_at = started_at - interval '1 hour'`.execute(db);
  await tell(3, [entryOf('203.0.113.10', 5_000)]);
  assert.equal((await read(single.attackId)).dropped.packets, 1_001);
});

test('shows the autonomous mitigations of an attack during an outage with edge name and time', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const startedAtMs = Date.now() - 60_000;
  const endedAtMs = startedAtMs + 9_000;
  const second = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
  const action = { kind: 'reflector', reflector: 'ntp' } as const;
  const sinceMs = startedAtMs + 1_000;
  const actions: OverlayAction[] = [{ action, mode: 'enforce', sinceMs, untilMs: null }];
  const attack = { ...outageAttack(startedAtMs, endedAtMs), actions };
  const [reported] = await recordOutageAttacks(db, 'fra1', [attack]);
  const read = (await acme.get(`${X1}/${reported?.attackId}`)).body as Detail;
  assert.deepEqual(read.data.mitigations, [
    {
      id: null,
      edge: 'fra1',
      action: 'UDP from port 123 (ntp) is dropped',
      mode: 'enforce',
      since: second(sinceMs),
      until: second(endedAtMs),
      ended_because: null,
    },
  ]);
});

test('answers 404 alike for an attack on another organisation, an unknown id and an invalid id', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const strange = await recordOngoing(db, '198.18.0.1', 'icmp_flood');
  for (const id of [strange.attackId, 4711, 0, '-1', 'x', '1e3', '99999999999999999999']) {
    assertRefused(await acme.get(`${X1}/${id}`), 404, 'not_found');
    assertRefused(await acme.delete(`${X1}/${id}/mitigations`, undefined), 404, 'not_found');
  }
});

test('shows the threshold and the error of sampled traffic, and neither where they are not known', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const { attackId } = await recordOngoing(db, '203.0.113.10', 'dns_amplification');
  const evidenceOf = async (evidence: object) => {
    await sql`delete from attack_evidence`.execute(db);
    await sql`insert into attack_evidence values (${attackId}, now(), ${JSON.stringify(evidence)})`.execute(
      db,
    );
    const { data } = (await acme.get(`${X1}/${attackId}`)).body as {
      data: { evidence: { threshold: unknown; series: object | null } };
    };
    return data.evidence;
  };
  const series = { startMs: 0, stepMs: 4000, pps: [10], bps: [80] };
  const sampled = { ...series, ppsVariance: [16], bpsVariance: [400] };
  const known = await evidenceOf({ limits: { pps: 5, bps: 50 }, series: sampled });
  assert.deepEqual(known.threshold, { pps: 5, bps: 50 });
  // Two standard errors of a mean over four seconds.
  const shown = { from: '1970-01-01T00:00:00+00:00', step_ms: 4000, pps: [10], bps: [80] };
  assert.deepEqual(known.series, { ...shown, pps_error: [4], bps_error: [20] });
  const old = await evidenceOf({ series });
  assert.deepEqual(old.threshold, null);
  assert.deepEqual(old.series, { ...shown, pps_error: null, bps_error: null });
});
