import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from './database.ts';
import { addHolding, addOrganisation } from '../access/test-organisation.ts';
import { testDatabase } from './testing.ts';

/** The SQL function live_generation(address), by the cases of decisions.md, "Propagation". */
let db: Db;

before(async (t) => {
  ({ db } = await testDatabase(t));
});

beforeEach(async () => {
  await sql`delete from edges`.execute(db);
  await sql`update fleet set generation = 100`.execute(db);
});

interface Edge {
  readonly name: string;
  readonly confirmed: number;
  /** Whether it has ever enforced; an edge that always observed has not. */
  readonly enrolled?: boolean;
  readonly inService?: boolean;
  readonly leftAt?: string;
  readonly serves?: string[];
}

async function addEdge(edge: Edge): Promise<number> {
  const { id } = await db
    .insertInto('edges')
    .values({
      name: edge.name,
      site: 'fra',
      devices: ['eth0'],
      serves: edge.serves ?? ['0.0.0.0/0', '::/0'],
      sees: 'both',
      fragments: 'reassemble',
      management: '[]',
      owner: 'fleet',
      confirmed_generation: edge.confirmed,
      enforcing_since: edge.enrolled === false ? null : new Date('2026-01-01'),
      in_service: edge.inService ?? true,
      left_service_at: edge.leftAt === undefined ? null : new Date(edge.leftAt),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

async function refuse(edge_id: number, target: string, good_generation: number): Promise<void> {
  const reason = 'a test';
  await db
    .insertInto('edge_refusals')
    .values({ edge_id, target, reason, good_generation })
    .execute();
}

async function live(address: string): Promise<number | undefined> {
  const { rows } = await sql<{ live: number }>`
    select live_generation(${address}::inet) as live`.execute(db);
  return rows[0]?.live;
}

test('without enrolled enforcing edges, the accepted generation is live', async () => {
  assert.equal(await live('203.0.113.1'), 100);
});

test('an observing edge never counts', async () => {
  await addEdge({ name: 'observer', confirmed: 3, enrolled: false });
  assert.equal(await live('203.0.113.1'), 100);
  await addEdge({ name: 'enforcer', confirmed: 40 });
  assert.equal(await live('203.0.113.1'), 40);
});

test('the slowest edge in service determines live, and edges out of service do not count', async () => {
  await addEdge({ name: 'fast', confirmed: 90 });
  await addEdge({ name: 'slow', confirmed: 70 });
  await addEdge({ name: 'gone', confirmed: 10, inService: false, leftAt: '2026-02-01' });
  assert.equal(await live('203.0.113.1'), 70);
});

test('with no edge in service, live stays at the generation of the last edge that left', async () => {
  await addEdge({ name: 'early', confirmed: 50, inService: false, leftAt: '2026-02-01' });
  await addEdge({ name: 'late', confirmed: 60, inService: false, leftAt: '2026-02-02' });
  assert.equal(await live('203.0.113.1'), 60);
});

test('the slowest of several edges that left at the same time counts', async () => {
  await addEdge({ name: 'one', confirmed: 60, inService: false, leftAt: '2026-02-02' });
  await addEdge({ name: 'two', confirmed: 55, inService: false, leftAt: '2026-02-02' });
  assert.equal(await live('203.0.113.1'), 55);
});

test('live stays at the confirmed generation of an enrolled edge that was never in service', async () => {
  await addEdge({ name: 'new', confirmed: 0, inService: false });
  assert.equal(await live('203.0.113.1'), 0);
});

test('a refused address stays at its last good generation, and all others advance', async () => {
  const edge = await addEdge({ name: 'fra1', confirmed: 80 });
  await refuse(edge, '203.0.113.1/32', 20);
  assert.equal(await live('203.0.113.1'), 20);
  assert.equal(await live('203.0.113.2'), 80);
  assert.equal(await live('2001:db8::1'), 80);
});

test('a refused prefix holds back the addresses that use its policy, by the oldest of nested refusals', async () => {
  const edge = await addEdge({ name: 'fra1', confirmed: 80 });
  await refuse(edge, '203.0.113.0/24', 30);
  await refuse(edge, '203.0.113.0/28', 25);
  assert.equal(await live('203.0.113.1'), 25);
  assert.equal(await live('203.0.113.99'), 30);
  assert.equal(await live('203.0.114.1'), 80);
});

test('a refused prefix does not hold back an address with its own policy', async () => {
  const edge = await addEdge({ name: 'fra1', confirmed: 80 });
  await refuse(edge, '203.0.113.0/24', 30);
  const organisation = await addOrganisation(db, 'acme');
  const holdingId = await addHolding(db, organisation, '203.0.113.0/24');
  await sql`
    insert into addresses (holding_id, ip, configured)
    values (${holdingId}, '203.0.113.1', true), (${holdingId}, '203.0.113.2', false)`.execute(db);
  await sql`
    with made as (
      insert into groups (organisation_id, name, owner) values (${organisation.id}, 'g', 'portal') returning id)
    insert into group_assignments (group_id, holding_id, target, created_generation)
    select id, ${holdingId}, '203.0.113.3/32', 1 from made`.execute(db);
  assert.equal(await live('203.0.113.1'), 80);
  assert.equal(await live('203.0.113.2'), 30);
  assert.equal(await live('203.0.113.3'), 80);
  await refuse(edge, '203.0.113.1/32', 20);
  assert.equal(await live('203.0.113.1'), 20);
});

test('a refusal on an edge out of service does not count while another serves', async () => {
  const gone = await addEdge({
    name: 'gone',
    confirmed: 80,
    inService: false,
    leftAt: '2026-02-01',
  });
  await addEdge({ name: 'here', confirmed: 85 });
  await refuse(gone, '203.0.113.1/32', 5);
  assert.equal(await live('203.0.113.1'), 85);
});

test('only edges that serve an address count for it', async () => {
  await addEdge({ name: 'v4', confirmed: 10, serves: ['203.0.113.0/24'] });
  await addEdge({ name: 'v6', confirmed: 20, serves: ['::/0'] });
  assert.equal(await live('203.0.113.1'), 10);
  assert.equal(await live('2001:db8::1'), 20);
  // No edge enforces for this address, so accepted is live.
  assert.equal(await live('198.51.100.1'), 100);
});
