import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { Batch } from '../../fleet/batch.ts';
import { inSnapshot } from '../../fleet/policies/policies.ts';
import { Problem } from '../../problem.ts';
import { dataOf } from '../../testing/client.ts';
import { ACME, startEnvironment, type TestEnvironment } from '../../testing/fixture.ts';
import { previewGroup, type SavedGroup, saveGroup, type WantedGroup } from './index.ts';

const BASE = '/api/portal/organisations/acme';

class Undone extends Error {
  readonly saved: SavedGroup;

  constructor(saved: SavedGroup) {
    super('the oracle leaves nothing');
    this.saved = saved;
  }
}

interface Of {
  readonly organisationId: number;
  readonly groupId: number | null;
  readonly maxPorts: number;
}

async function saved(db: Db, of: Of, wanted: WantedGroup): Promise<SavedGroup> {
  try {
    return await db.transaction().execute(async (tx): Promise<never> => {
      throw new Undone(await saveGroup(new Batch(tx, 'portal'), of, wanted));
    });
  } catch (error) {
    if (error instanceof Undone) return error.saved;
    throw error;
  }
}

/** The id of a group that is stored nowhere says nothing. */
async function outcomeOf(made: Promise<SavedGroup>) {
  try {
    const { id, changes, conflicts } = await made;
    const named = conflicts.map((one) => ({
      ...one,
      groupId: one.groupId === id ? 'it' : 'other',
    }));
    return { changes, conflicts: named };
  } catch (error) {
    if (error instanceof Problem) return { refused: [error.code, error.detail] };
    throw error;
  }
}

/** Mostly what is good, now and then what is refused. */
const mostly = <T>(good: readonly T[], bad: T): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 14, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constant(bad) },
  );

const rule = fc.record({
  action: fc.constantFrom('allow', 'deny'),
  protocol: fc.constantFrom('tcp', 'udp'),
  destination_port: mostly(['80', '443', '80-81', null], '1-65535'),
  source_ip: mostly([null, '192.0.2.0/24', '2001:db8::/64'], '0.0.0.0/0'),
});
const filter = fc.record({
  type: mostly(['source', 'tcp-syn-proxy'], 'nothing'),
  port: fc.constantFrom(80, 27_015),
});
const wanted = fc.record({
  name: mostly(['new', 'newer', 'newest', 'web'], ' '),
  rules: fc.array(rule, { maxLength: 3 }),
  filters: fc.array(filter, { maxLength: 2 }),
  targets: fc.array(
    mostly(
      ['203.0.113.10', '203.0.113.11', '203.0.113.0/28', '198.51.100.10', '2001:db8::/64'],
      '192.0.2.1',
    ),
    { maxLength: 3 },
  ),
}) as fc.Arbitrary<WantedGroup>;

async function prepare({ acme, session, db }: TestEnvironment): Promise<readonly number[]> {
  const admin = session('admin');
  const own = { action: 'deny', protocol: 'udp', destination_port: '80' };
  for (const ip of ['203.0.113.10', '198.51.100.10']) {
    dataOf(await acme.post(`/api/v1/firewall/ips/${ip}/rules`, own));
  }
  dataOf(
    await acme.post('/api/v1/firewall/ips/203.0.113.10/filters', {
      type: 'source',
      port: '27015',
    }),
  );
  await sql`
    update services set managed_filters = '[{"type":"tcp-syn-proxy","ports":"25565"}]' where id = 501`.execute(
    db,
  );
  const groups = [
    { name: 'web', targets: ['203.0.113.11'], port: '443' },
    { name: 'other', targets: ['203.0.113.0/28'], port: '81' },
  ].map(async ({ name, targets, port: destination_port }) => {
    const rules = [{ action: 'allow', protocol: 'tcp', destination_port }];
    const made = await admin.post(`${BASE}/groups`, { name, rules, filters: [], targets });
    return dataOf<{ id: number }>(made).id;
  });
  return Promise.all(groups);
}

test('the preview of a group comes to what saving it would, and locks nothing', async (t) => {
  const environment = await startEnvironment(t);
  const { db } = environment;
  const ids = await prepare(environment);
  const outcomes = { plain: 0, conflicts: 0, refused: 0, limited: 0 };
  const check = async (groupId: number | null, group: WantedGroup): Promise<void> => {
    const of = { organisationId: ACME, groupId, maxPorts: 101 };
    const real = await outcomeOf(saved(db, of, group));
    // A lock would fail: the snapshot is read-only.
    const previewed = await outcomeOf(
      inSnapshot(db, (tx) => previewGroup(new Batch(tx, 'portal'), of, group)),
    );
    assert.deepEqual(previewed, real);
    const kind = 'refused' in real ? 'refused' : real.conflicts.length > 0 ? 'conflicts' : 'plain';
    outcomes[kind] += 1;
    if ('refused' in real && real.refused[0] === 'limit_exceeded') outcomes.limited += 1;
  };
  const property = fc.asyncProperty(mostly([null, ...ids], 999), wanted, check);
  await fc.assert(property, { numRuns: 100, seed: 40 });
  await sql`
    update organisations set configured_addresses = 4, rules_per_ip = 3 where id = ${ACME}`.execute(
    db,
  );
  await fc.assert(property, { numRuns: 100, seed: 41 });
  for (const count of [outcomes.plain, outcomes.conflicts, outcomes.refused]) {
    assert.ok(count > 15, JSON.stringify(outcomes));
  }
  assert.ok(outcomes.limited > 0, JSON.stringify(outcomes));
});
