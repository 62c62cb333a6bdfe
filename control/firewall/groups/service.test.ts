import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import { testDatabase } from '../../db/testing.ts';
import { Batch } from '../../fleet/batch.ts';
import { insertOwnRule } from '../../operator/fleet-file/testing.ts';
import { Problem } from '../../problem.ts';
import { assignGeoRule, createGeoRule, deleteGeoRule, saveGeoRule } from '../geo/service.ts';
import type { RuleContent } from '@portcullis/core/firewall/rules/content.ts';
import { expandEntry, readEntry } from '@portcullis/core/firewall/rules/entry.ts';
import { findAssignableHolding } from './holdings.ts';
import { saveGroup } from './save.ts';
import { assignGroups, createGroups, deleteGroup, editGroups } from './service.ts';

interface Fixture {
  readonly db: Db;
  readonly organisationId: number;
}

/** acme holds 203.0.113.0/24 and 2001:db8::/48; hive holds the address .200 in it by a service. */
async function setUp(
  t: TestContext,
  limits: { rules?: number; configured?: number } = {},
): Promise<Fixture> {
  const { db } = await testDatabase(t);
  const { rows } = await sql<{ id: number }>`
    insert into organisations (slug, name, owner, rules_per_ip, configured_addresses)
    values ('acme', 'Acme', 'portal', ${limits.rules ?? 5}, ${limits.configured ?? 100}),
           ('hive', 'Hive', 'portal', 5, 100) returning id`.execute(db);
  const [acme, hive] = rows.map(({ id }) => id);
  assert.ok(acme !== undefined && hive !== undefined);
  await sql`insert into asns values (64500, ${acme}, 'portal')`.execute(db);
  await sql`insert into services (id, organisation_id, name, owner) values (1, ${hive}, 's', 'portal')`.execute(
    db,
  );
  await sql`insert into holdings (organisation_id, cidr, during, asn, service_id, owner) values
    (${acme}, '203.0.113.0/24', '[2026-01-01,)', 64500, null, 'portal'),
    (${acme}, '2001:db8::/48', '[2026-01-01,)', 64500, null, 'portal'),
    (${hive}, '203.0.113.200/32', '[2026-01-01,)', null, 1, 'portal')`.execute(db);
  return { db, organisationId: acme };
}

/** Assigns a group to a target that its organisation holds. */
async function assignGroup(batch: Batch, groupId: number, target: string): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    select organisation_id as id from groups where id = ${groupId}`.execute(batch.tx);
  const holdingId = await findAssignableHolding(batch.tx, rows[0]?.id ?? 0, target);
  await assignGroups(batch, [{ groupId, holdingId, target }]);
}

async function inBatch<T>(
  db: Db,
  work: (batch: Batch) => Promise<T>,
  owner: Owner = 'portal',
): Promise<T> {
  return db.transaction().execute(async (tx) => {
    const batch = new Batch(tx, owner);
    const result = await work(batch);
    await batch.takeGeneration('test');
    return result;
  });
}

function rule(
  text: Partial<Record<'action' | 'protocol' | 'port' | 'source', string>>,
): RuleContent {
  const read = readEntry(
    {
      action: text.action === 'allow' ? 'allow' : 'deny',
      protocol: text.protocol === 'any' ? 'any' : 'tcp',
      destination_port: text.port ?? null,
      source_ip: text.source ?? null,
    },
    { family: null, maxPorts: 10, now: new Date() },
  );
  assert.ok(read.ok);
  const [first] = expandEntry(read.value);
  assert.ok(first !== undefined);
  return first;
}

async function problemOf(work: Promise<unknown>): Promise<Problem> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Problem, `no problem: ${String(error)}`);
  return error;
}

async function newGroup(
  { db, organisationId }: Fixture,
  name: string,
  rules: RuleContent[],
): Promise<number> {
  return inBatch(db, (batch) =>
    createGroups(batch, [{ organisationId, name, rules, filters: [] }]).then(first),
  );
}

test('rejects a group on a prefix that duplicates an own rule and lists the conflicts', async (t) => {
  const fixture = await setUp(t);
  const { db } = fixture;
  for (const ip of ['203.0.113.7', '203.0.113.9'])
    await insertOwnRule(db, ip, { action: 'deny', port: 80 });
  const group = await newGroup(fixture, 'web', [rule({ port: '80' })]);
  const problem = await problemOf(inBatch(db, (b) => assignGroup(b, group, '203.0.113.0/24')));
  assert.equal(problem.code, 'rule_exists');
  assert.match(
    problem.detail,
    /203\.0\.113\.7: it has the rule "deny tcp 80" of its own; 203\.0\.113\.9: /,
  );
  const { rows } = await sql`select from group_assignments`.execute(db);
  assert.equal(rows.length, 0);
});

test('bounds the list of conflicts', async (t) => {
  const fixture = await setUp(t);
  for (let host = 1; host < 60; host += 1) {
    await insertOwnRule(fixture.db, `203.0.113.${host}`, { action: 'deny', port: 80 });
  }
  const group = await newGroup(fixture, 'web', [rule({ port: '80' })]);
  const problem = await problemOf(
    inBatch(fixture.db, (b) => assignGroup(b, group, '203.0.113.0/24')),
  );
  assert.equal(problem.detail.split(';').length, 21);
  assert.match(problem.detail, /and more\.$/);
});

test('rejects equal groups, or one group twice, on one address', async (t) => {
  const fixture = await setUp(t);
  const { db } = fixture;
  const one = await newGroup(fixture, 'one', [rule({ port: '80' })]);
  const two = await newGroup(fixture, 'two', [rule({ port: '80' }), rule({ port: '81' })]);
  await inBatch(db, (b) => assignGroup(b, one, '203.0.113.0/24'));
  const equal = await problemOf(inBatch(db, (b) => assignGroup(b, two, '203.0.113.4')));
  assert.match(equal.detail, /203\.0\.113\.4: the group one has the rule "deny tcp 80" too/);
  const twice = await problemOf(inBatch(db, (b) => assignGroup(b, one, '203.0.113.4')));
  assert.match(twice.detail, /already on it through a prefix around it/);
});

test('rejects an assignment, or an edit of an assigned group, that exceeds a limit on any address', async (t) => {
  const fixture = await setUp(t);
  const { db } = fixture;
  for (const port of [1, 2, 3, 4]) await insertOwnRule(db, '203.0.113.9', { port });
  const group = await newGroup(fixture, 'g', [rule({ port: '80' })]);
  await inBatch(db, (b) => assignGroup(b, group, '203.0.113.0/24'));
  const edit = { addRules: [rule({ port: '81' })], name: 'h' };
  const problem = await problemOf(inBatch(db, (b) => editGroups(b, [{ ...edit, groupId: group }])));
  assert.equal(problem.code, 'limit_exceeded');
  assert.match(problem.detail, /203\.0\.113\.9: it would have 6 rules, and at most 5/);
  const { rows } = await sql<{ name: string }>`select name from groups`.execute(db);
  assert.equal(rows[0]?.name, 'g');
});

test('rules with a source of the other family neither count nor conflict', async (t) => {
  const fixture = await setUp(t, { rules: 1 });
  const group = await newGroup(fixture, 'g', [
    rule({ protocol: 'any', source: '192.0.2.0/24' }),
    rule({ protocol: 'any', source: '2001:db8:f::/48' }),
  ]);
  await inBatch(fixture.db, (b) => assignGroup(b, group, '203.0.113.0/24'));
  await inBatch(fixture.db, (b) => assignGroup(b, group, '2001:db8::/48'));
});

test('refuses a group with a filter that the service manages', async (t) => {
  const { db } = await setUp(t);
  const { rows } = await sql<{
    id: number;
  }>`select id from organisations where slug = 'hive'`.execute(db);
  const filters = [{ type: 'udp-stateful', port: 7 }];
  const group = await inBatch(db, (b) =>
    createGroups(b, [{ organisationId: rows[0]?.id ?? 0, name: 'g', rules: [], filters }]).then(
      first,
    ),
  );
  const problem = await problemOf(inBatch(db, (b) => assignGroup(b, group, '203.0.113.200')));
  assert.equal(problem.code, 'filter_unavailable');
});

test('assigns only to targets that the organisation itself holds most specifically', async (t) => {
  const fixture = await setUp(t);
  const group = await newGroup(fixture, 'g', []);
  for (const target of ['203.0.113.200', '198.51.100.1', '203.0.112.0/23']) {
    const problem = await problemOf(inBatch(fixture.db, (b) => assignGroup(b, group, target)));
    assert.equal(problem.code, 'not_found');
  }
});

test('the fleet file cannot change groups of the portal', async (t) => {
  const fixture = await setUp(t);
  const group = await newGroup(fixture, 'g', []);
  const problem = await problemOf(inBatch(fixture.db, (b) => deleteGroup(b, group), 'fleet'));
  assert.match(problem.detail, /belongs to whoever made it by hand/);
});

test('rows start and end with the generation of their batch, and deleted rows are kept', async (t) => {
  const fixture = await setUp(t);
  const { db } = fixture;
  const group = await newGroup(fixture, 'g', [rule({ port: '80' })]);
  await inBatch(db, (b) => assignGroup(b, group, '203.0.113.0/24'));
  const text = {
    action: 'deny',
    protocol: 'tcp',
    destination_port: '80',
    source_ip: null,
  } as const;
  const unassigned = { name: 'g', rules: [text], filters: [], targets: [] };
  const of = { organisationId: fixture.organisationId, groupId: group, maxPorts: 10 };
  await inBatch(db, (b) => saveGroup(b, of, unassigned));
  await inBatch(db, (b) => deleteGroup(b, group));
  const spans = await sql<{ born: number; died: number }>`
    select created_generation as born, deleted_generation as died from group_rules
    union all select created_generation, deleted_generation from group_assignments`.execute(db);
  assert.deepEqual(spans.rows, [
    { born: 1, died: 4 },
    { born: 2, died: 3 },
  ]);
  const targets = await sql<{ generation: number }>`
    select generation from changes where target = '203.0.113.0/24' order by 1`.execute(db);
  assert.deepEqual(
    targets.rows.map(({ generation }) => generation),
    [2, 3],
  );
});

test('a concurrent rule and assignment never exceed a limit together', async (t) => {
  const fixture = await setUp(t);
  const { db } = fixture;
  await insertOwnRule(db, '203.0.113.9', { port: 1 });
  const four = ['80', '81', '82', '83'].map((port) => rule({ port }));
  const group = await newGroup(fixture, 'g', four);
  // What a rule creation does: its holding FOR SHARE, count, insert.
  const counted = Promise.withResolvers<void>();
  const mayInsert = Promise.withResolvers<void>();
  const creation = db.transaction().execute(async (tx) => {
    await sql`select from holdings where cidr = '203.0.113.0/24' for share`.execute(tx);
    counted.resolve();
    await mayInsert.promise;
    await sql`insert into rules (address_id, action, protocol, port, created_generation)
      select id, 'deny', 'udp', 9, 1 from addresses`.execute(tx);
  });
  await counted.promise;
  const assignment = problemOf(inBatch(db, (b) => assignGroup(b, group, '203.0.113.0/24')));
  mayInsert.resolve();
  await creation;
  assert.equal((await assignment).code, 'limit_exceeded');
});

test('concurrent assignments never exceed a limit together', async (t) => {
  const fixture = await setUp(t);
  const names = ['a', 'b', 'c'];
  const groups = await Promise.all(
    names.map((name, at) =>
      newGroup(
        fixture,
        name,
        [0, 1].map((n) => rule({ port: `${at * 2 + n + 1}` })),
      ),
    ),
  );
  const results = await Promise.allSettled(
    groups.map((group) => inBatch(fixture.db, (b) => assignGroup(b, group, '203.0.113.0/24'))),
  );
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 2);
});

test('assigned targets count against the configured addresses', async (t) => {
  const fixture = await setUp(t, { configured: 2 });
  const group = await newGroup(fixture, 'g', []);
  await insertOwnRule(fixture.db, '203.0.113.9', {});
  await inBatch(fixture.db, (b) => assignGroup(b, group, '203.0.113.9'));
  await inBatch(fixture.db, (b) => assignGroup(b, group, '203.0.113.10'));
  const problem = await problemOf(
    inBatch(fixture.db, (b) => assignGroup(b, group, '203.0.113.11')),
  );
  assert.equal(problem.code, 'limit_exceeded');
});

test('assigns, unassigns and deletes geo rules, each in a generation with its targets', async (t) => {
  const { db, organisationId } = await setUp(t);
  const content = { action: 'deny', countries: ['US', 'DE', 'US'], asns: [64497, 64496] } as const;
  const id = await inBatch(db, (b) => createGeoRule(b, organisationId, content));
  const { rows } = await sql`select countries, asns from geo_rules`.execute(db);
  assert.deepEqual(rows, [{ countries: ['DE', 'US'], asns: [64496, 64497] }]);
  await inBatch(db, (b) => assignGeoRule(b, id, ['203.0.113.0/24']));
  const twice = await problemOf(inBatch(db, (b) => assignGeoRule(b, id, ['203.0.113.0/24'])));
  assert.equal(twice.code, 'rule_exists');
  const unassigned = { ...content, targets: [] };
  assert.equal(await inBatch(db, (b) => saveGeoRule(b, organisationId, id, unassigned)), id);
  const left = await sql`select from geo_assignments where deleted_generation is null`.execute(db);
  assert.equal(left.rows.length, 0);
  await inBatch(db, (b) => deleteGeoRule(b, id));
  const gone = await problemOf(inBatch(db, (b) => assignGeoRule(b, id, ['203.0.113.0/24'])));
  assert.equal(gone.code, 'not_found');
  for (const bad of [{ countries: ['UK'] }, { countries: [] }, { asns: [0] }]) {
    const wrong = { action: 'only', countries: [], asns: [], ...bad } as const;
    const problem = await problemOf(inBatch(db, (b) => createGeoRule(b, organisationId, wrong)));
    assert.equal(problem.code, 'invalid_request');
  }
});

test('a lowered limit does not prevent removing rules from a group', async (t) => {
  const { db, organisationId } = await setUp(t, { rules: 5 });
  const rules = ['1', '2', '3', '4', '5'].map((port) => rule({ port }));
  const group = await inBatch(db, (batch) =>
    createGroups(batch, [{ organisationId, name: 'g', rules, filters: [] }]).then(first),
  );
  await inBatch(db, (batch) => assignGroup(batch, group, '203.0.113.0/24'));
  await sql`update organisations set rules_per_ip = 2`.execute(db);
  const { rows } = await sql<{ id: number }>`select id from group_rules order by id`.execute(db);
  const removeRules = rows.slice(0, 1).map(({ id }) => id);
  await inBatch(db, (batch) => editGroups(batch, [{ groupId: group, name: 'h', removeRules }]));
  const more = { addRules: [rule({ port: '9' })] };
  const refused = await problemOf(
    inBatch(db, (batch) => editGroups(batch, [{ ...more, groupId: group }])),
  );
  assert.equal(refused.code, 'limit_exceeded');
});

function first(ids: readonly number[]): number {
  const [id] = ids;
  assert.ok(id !== undefined);
  return id;
}
