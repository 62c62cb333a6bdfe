import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import { overlaps } from '@portcullis/core/net/cidr.ts';
import type { Db } from '../../db/database.ts';
import { testDatabase } from '../../db/testing.ts';
import { takeGeneration } from '../generations.ts';
import { storedCidr } from './assembly.ts';
import { inSnapshot, type LoadedPolicies, loadAddressPolicy, loadPolicies } from './policies.ts';
import {
  acceptRule,
  assignGeo,
  assignGroup,
  deleteRule,
  insertBaseline,
  insertHolding,
  insertOrganisation,
} from '../testing.ts';

function load(db: Db, targets: readonly string[] | 'all'): Promise<LoadedPolicies> {
  return inSnapshot(db, (tx) => loadPolicies(tx, targets));
}
async function loadAll(db: Db): Promise<readonly Policy[]> {
  return (await load(db, 'all')).policies;
}
function refs(policy: Policy | null | undefined): string[] {
  if (policy === null || policy === undefined) return ['none'];
  return [...policy.baseline, ...policy.geo, ...policy.rules, ...policy.filters].map((o) => o.ref);
}
async function refsAt(db: Db, address: string): Promise<string[]> {
  return refs(createPolicyTable(await loadAll(db)).lookup(address));
}
function targets(policies: readonly Policy[]): string[] {
  return policies.map((policy) => policy.target);
}

test('assignments of one holding accumulate over nested prefixes, down to the address', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  const wide = await assignGroup(db, org, holding, ['203.0.113.0/24']);
  const near = await assignGroup(db, org, holding, ['203.0.113.0/28'], { port: 22 });
  const geo = await assignGeo(db, org, holding, ['203.0.113.0/25'], 'DE');
  const own = await acceptRule(db, holding, '203.0.113.1');
  const groups = [`group-rule:${wide.rule}`, `group-rule:${near.rule}`];
  const all = [`geo-rule:${geo.rule}`, ...groups];
  assert.deepEqual(new Set(await refsAt(db, '203.0.113.1')), new Set([...all, `rule:${own.id}`]));
  assert.deepEqual(await refsAt(db, '203.0.113.2'), all);
  assert.deepEqual(await refsAt(db, '203.0.113.100'), [all[0], groups[0]]);
  assert.deepEqual(await refsAt(db, '203.0.113.200'), [groups[0]]);
  assert.deepEqual(await refsAt(db, '198.51.100.1'), ['none']);
});

test("a prefix's policy does not apply to a more specific holding, even of the same organisation", async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const other = await insertOrganisation(db, 'other');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  await insertHolding(db, other, '203.0.113.64/26');
  const address = await insertHolding(db, org, '203.0.113.10/32', { service: 501 });
  const geo = await assignGeo(db, org, holding, ['203.0.113.0/24'], 'DE');
  assert.deepEqual(await refsAt(db, '203.0.113.1'), [`geo-rule:${geo.rule}`]);
  assert.deepEqual(await refsAt(db, '203.0.113.65'), []);
  assert.deepEqual(await refsAt(db, '203.0.113.10'), []);
  const own = await acceptRule(db, address, '203.0.113.10');
  assert.deepEqual(await refsAt(db, '203.0.113.10'), [`rule:${own.id}`]);
});

test('rules under the wider holding are not enforced while a more specific one has the address', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const other = await insertOrganisation(db, 'other');
  const wide = await insertHolding(db, org, '203.0.113.0/24');
  const covered = await acceptRule(db, wide, '203.0.113.10', { port: 1 });
  assert.deepEqual(await refsAt(db, '203.0.113.10'), [`rule:${covered.id}`]);
  const assigned = await insertHolding(db, other, '203.0.113.10/32', { service: 7 });
  assert.deepEqual(await refsAt(db, '203.0.113.10'), ['none']);
  const own = await acceptRule(db, assigned, '203.0.113.10', { port: 2 });
  assert.deepEqual(await refsAt(db, '203.0.113.10'), [`rule:${own.id}`]);
  await sql`update holdings set during = tstzrange(lower(during), now()) where id = ${assigned}`.execute(
    db,
  );
  assert.deepEqual(await refsAt(db, '203.0.113.10'), [`rule:${covered.id}`]);
});

test('every policy has the baseline of all its containing prefixes, whatever the holdings', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  const wide = await insertBaseline(db, '203.0.0.0/16', 1900);
  const near = await insertBaseline(db, '203.0.113.0/25', 19);
  const own = await acceptRule(db, holding, '203.0.113.1');
  const baseline = [`baseline:${wide}`, `baseline:${near}`];
  assert.deepEqual(await refsAt(db, '203.0.113.1'), [...baseline, `rule:${own.id}`]);
  assert.deepEqual(await refsAt(db, '203.0.113.2'), baseline);
  assert.deepEqual(await refsAt(db, '203.0.113.200'), baseline.slice(0, 1));
  assert.deepEqual(await refsAt(db, '203.1.0.1'), ['none']);
  assert.deepEqual(targets(await loadAll(db)), ['203.0.0.0/16', '203.0.113.0/25', '203.0.113.1']);
});

test('managed filters with explicit ports apply to the addresses of the service', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  await insertHolding(db, org, '198.51.100.10/32', {
    service: 501,
    managedFilters: [
      { type: 'udp-stateful', ports: '27015-27016' },
      { type: 'tcp-syn-proxy', ports: null },
    ],
  });
  const [policy] = await loadAll(db);
  assert.deepEqual(
    policy?.filters.map(({ type, port, managed }) => [type, port, managed]),
    [
      ['udp-stateful', 27015, true],
      ['udp-stateful', 27016, true],
    ],
  );
});

test('addresses get the group rules of their own family', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const v4 = await insertHolding(db, org, '203.0.113.0/24');
  const v6 = await insertHolding(db, org, '2001:db8::/48');
  const four = await assignGroup(db, org, v4, ['203.0.113.1'], { source: '198.51.100.0/24' });
  await sql`
    insert into group_assignments (group_id, holding_id, target, created_generation)
    values (${four.group}, ${v6}, '2001:db8::1', ${four.generation})`.execute(db);
  const six = await acceptRule(db, v6, '2001:db8::1');
  assert.deepEqual(await refsAt(db, '203.0.113.1'), [`group-rule:${four.rule}`]);
  assert.deepEqual(await refsAt(db, '2001:db8::1'), [`rule:${six.id}`]);
});

test('a requested prefix includes everything inside it, also removed policies', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  const kept = await acceptRule(db, holding, '203.0.113.1');
  const gone = await acceptRule(db, holding, '203.0.113.2');
  await acceptRule(db, holding, '203.0.113.200');
  await deleteRule(db, gone.id);
  const { policies, removed } = await load(db, ['203.0.113.0/25']);
  assert.deepEqual(policies.map(refs), [[`rule:${kept.id}`]]);
  assert.deepEqual(removed, ['203.0.113.0/25', '203.0.113.2']);
  assert.deepEqual(await load(db, ['203.0.113.2', '203.0.113.2/32']), {
    policies: [],
    removed: ['203.0.113.2'],
  });
  assert.deepEqual(await load(db, []), { policies: [], removed: [] });
});

test('policies of a part equal those of the whole fleet', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const other = await insertOrganisation(db, 'other');
  const wide = await insertHolding(db, org, '203.0.0.0/16');
  const inner = await insertHolding(db, other, '203.0.113.0/24');
  await insertHolding(db, org, '203.0.113.128/25');
  await insertHolding(db, other, '203.0.113.130/32', { service: 3 });
  await assignGeo(db, org, wide, ['203.0.0.0/16', '203.0.113.128/25'], 'DE');
  await assignGroup(db, other, inner, ['203.0.113.0/26', '203.0.113.5']);
  await insertBaseline(db, '203.0.113.0/27', 53);
  const first = await acceptRule(db, inner, '203.0.113.1');
  for (const ip of ['203.0.113.5', '203.0.113.130']) await acceptRule(db, inner, ip);
  const all = await loadAll(db);
  assert.ok(all.length >= 8, targets(all).join(' '));
  for (const policy of all) {
    const { policies } = await load(db, [policy.target]);
    assert.deepEqual(
      policies.find((p) => p.target === policy.target),
      policy,
    );
  }
  assert.deepEqual((await load(db, ['0.0.0.0/0', '::/0'])).policies, all);
  // However the addresses are cut: prefixes reach into other slices.
  await insertBaseline(db, '2001:db8::/32', 53);
  await deleteRule(db, first.id);
  const whole = await load(db, 'all');
  const part = await load(db, ['203.0.0.0/16', '2001:db8::/33']);
  assert.deepEqual(part.removed, ['2001:db8::/33', '203.0.113.1']);
  for (const sliceWeight of [1, 2, 3, 5]) {
    const cut = (wanted: readonly string[] | 'all') =>
      inSnapshot(db, (tx) => loadPolicies(tx, wanted, { sliceWeight }));
    assert.deepEqual(await cut('all'), whole);
    assert.deepEqual(await cut(['203.0.0.0/16', '2001:db8::/33']), part);
    const served = ['203.0.113.4/30', '203.0.113.128/26', '2001:db8:1::/48'].map(storedCidr);
    assert.deepEqual(
      await inSnapshot(db, (tx) => loadPolicies(tx, 'all', { sliceWeight, networks: served })),
      {
        policies: whole.policies.filter(({ target }) =>
          served.some((network) => overlaps(network, storedCidr(target))),
        ),
        removed: [],
      },
    );
  }
});

test('loads an address as of a generation, with the current holdings', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  const first = await acceptRule(db, holding, '203.0.113.1', { port: 1 });
  const second = await acceptRule(db, holding, '203.0.113.1', { port: 2 });
  const third = await deleteRule(db, first.id);
  const at = (generation?: number) =>
    inSnapshot(db, (tx) =>
      loadAddressPolicy(tx, '203.0.113.1', generation === undefined ? {} : { generation }),
    );
  assert.deepEqual(refs(await at(0)), []);
  assert.deepEqual(refs(await at(first.generation)), [`rule:${first.id}`]);
  assert.deepEqual(refs(await at(second.generation)), [`rule:${first.id}`, `rule:${second.id}`]);
  assert.deepEqual(refs(await at(third)), [`rule:${second.id}`]);
  assert.deepEqual(await at(), await at(third));
  assert.deepEqual(refs(await inSnapshot(db, (tx) => loadAddressPolicy(tx, '192.0.2.1'))), []);
});

test('a snapshot with the generation that ends a holding never has the old holder', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const end = new Date(Date.now() + 60_000).toISOString();
  const holding = await insertHolding(db, org, '203.0.113.0/24', { until: end });
  await acceptRule(db, holding, '203.0.113.1');
  // As if a control plane with a clock one minute ahead had moved the holdings.
  await db.transaction().execute(async (tx) => {
    await takeGeneration(tx, { cause: 'holding', targets: ['203.0.113.0/24'] });
    await sql`update fleet set holdings_until = ${end}::timestamptz`.execute(tx);
  });
  assert.deepEqual(await loadAll(db), []);
});

test('loads 10,000 addresses of 10 rules in few statements', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '10.0.0.0/8');
  await sql`
    insert into addresses (holding_id, ip, configured)
    select ${holding}, '10.0.0.0'::inet + n, true from generate_series(1, 10000) n`.execute(db);
  await sql`
    insert into rules (address_id, action, protocol, source, port, created_generation)
    select a.id, case when n % 2 = 0 then 'allow' else 'deny' end, 'udp',
           case when n % 3 = 0 then set_masklen('198.51.100.0'::cidr, 24) end, 1000 + n, 1
      from addresses a, generate_series(1, 10) n`.execute(db);
  await sql`analyze`.execute(db);
  let statements = 0;
  const counting = db.withPlugin({
    transformQuery({ node }) {
      statements++;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const policies = await loadAll(counting);
  assert.equal(policies.length, 10_000);
  assert.ok(policies.every((policy) => policy.rules.length === 10));
  assert.ok(statements < 150, `${statements} statements`);
});
