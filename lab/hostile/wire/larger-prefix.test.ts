import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import {
  insertEdge,
  insertHolding,
  insertOrganisation,
} from '@portcullis/control/fleet/testing.ts';
import { respondTo } from '@portcullis/control/attacks/response/mitigations/testing.ts';
import { createDetectionService } from '@portcullis/control/attacks/detection/watch/agent-requests.ts';
import {
  boundRequest,
  floodSample,
  outageAttack,
  silentWatchEvents,
  TestWatch,
} from '@portcullis/control/attacks/detection/watch/testing.ts';
import type { AgentRef, AgentRequest } from '@portcullis/link/messages/messages.ts';

type Samples = Extract<AgentRequest, { kind: 'watch.samples' }>;

const EVIL: AgentRef = { kind: 'edge', name: 'evil' };
/** A network of `big`; 203.0.113.0/24 in it is of `acme`, and 203.0.128.0/24 of nobody else. */
const LARGE = '203.0.0.0/16';
/** Longer than a prefix is learned, and the end in which the edge claims a flood. */
const QUIET_BUCKETS = 140;
const FLOOD_BUCKETS = 60;

for (const [serves, addresses, expected] of [
  ['203.0.113.0/25', '203.0.113', []],
  ['203.0.128.0/25', '203.0.128', [LARGE]],
] as const) {
  test(`an edge that serves ${serves} reports ${expected.length === 0 ? 'nothing' : 'its part'} of a larger prefix`, async (t) => {
    const { db } = await testDatabase(t);
    const [big, acme] = [await insertOrganisation(db, 'big'), await insertOrganisation(db, 'acme')];
    await insertHolding(db, big, LARGE);
    await insertHolding(db, acme, '203.0.113.0/24');
    await insertEdge(db, 'evil', [serves]);
    const watch = new TestWatch(db, Date.now());
    await watch.scopes.load();
    const service = createDetectionService({
      db,
      scopes: watch.scopes,
      leader: watch.evaluate,
      events: silentWatchEvents(),
    });
    for (let sequence = 1; sequence <= QUIET_BUCKETS + FLOOD_BUCKETS; sequence += 1) {
      watch.nowMs += 250;
      const isFlood = sequence > QUIET_BUCKETS;
      const flood = Array.from({ length: isFlood ? 100 : 0 }, (_, index) => [
        `${addresses}.${index + 1}`,
        4_000,
      ]);
      const sample = floodSample(watch.nowMs, Object.fromEntries(flood));
      const whole = floodSample(watch.nowMs, { [LARGE]: isFlood ? 400_000 : 100 });
      const message: Samples = {
        kind: 'watch.samples',
        instance: 'i',
        sequence,
        atMs: watch.nowMs,
        samples: [
          {
            ...sample,
            addresses: sample.addresses.map((one) => ({ ...one, prefix: LARGE })),
            prefixes: whole.addresses.map((one) => ({ ...one, prefix: null })),
            tops: whole.tops,
          },
        ],
      };
      await service.samples(EVIL, await boundRequest(db, EVIL, message));
    }
    await watch.recorder.settled();
    for (const received of watch.received) await respondTo(db, received);
    const { rows } = await sql<{ target: string }>`
      select distinct target::text from mitigations where deleted_generation is null`.execute(db);
    assert.deepEqual(
      rows.map(({ target }) => target),
      expected,
    );

    // Nor does it write into the history of another organisation.
    const nowMs = Date.now();
    const attacks = [{ ...outageAttack(nowMs - 9e5, nowMs - 8e5), subject: LARGE }];
    const outage = { kind: 'edge.attacks', instance: 'i', atMs: nowMs, attacks } as const;
    const before = await recorded();
    await service.attacks(EVIL, await boundRequest(db, EVIL, outage));
    assert.equal((await recorded()) > before, expected.length > 0);

    async function recorded(): Promise<number> {
      const found = await sql<{ n: number }>`
        select count(*)::integer as n from attacks`.execute(db);
      return found.rows[0]?.n ?? 0;
    }
  });
}
