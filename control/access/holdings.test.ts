import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { constraintOf } from '../db/failure.ts';
import { testDatabase } from '../db/testing.ts';
import { findHolding, listHeldPrefixes } from './reach.ts';
import { addHolding, addOrganisation, type TestOrganisation } from './test-organisation.ts';

let db: Db;
let acme: TestOrganisation;
let beta: TestOrganisation;

before(async (t) => {
  ({ db } = await testDatabase(t));
  acme = await addOrganisation(db, 'acme');
  beta = await addOrganisation(db, 'beta');
});

const whole = (of: TestOrganisation) => ({ organisationId: of.id, prefixes: null });
const bound = (of: TestOrganisation, ...prefixes: string[]) => ({
  organisationId: of.id,
  prefixes,
});

test('the database rejects equal holdings that overlap in time, for any holder', async () => {
  await addHolding(db, acme, '203.0.113.0/24', '2026-01-01', '2026-03-01');
  for (const holder of [acme, beta]) {
    await assert.rejects(
      addHolding(db, holder, '203.0.113.0/24', '2026-02-28', null),
      (error) => constraintOf(error) === 'holdings_one_holder',
    );
  }
  await addHolding(db, beta, '203.0.113.0/24', '2026-03-01', '2026-04-01');
  await addHolding(db, beta, '203.0.113.0/25', '2026-01-01', '2026-04-01');
});

test('rejects one of two concurrent transactions that assign the same prefix', async () => {
  const outcomes = await Promise.allSettled([
    addHolding(db, acme, '2001:db8:77::/48'),
    addHolding(db, beta, '2001:db8:77::/48'),
  ]);
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('counts a holding from its start to its end, and then the containing holding has the address', async () => {
  await addHolding(db, acme, '192.0.2.0/24');
  await addHolding(db, beta, '192.0.2.7/32', '2026-01-01', '2026-01-02');
  await addHolding(db, beta, '192.0.2.8/32', '9999-01-01', null);
  for (const ip of ['192.0.2.7', '192.0.2.8']) {
    assert.ok(await findHolding(db, whole(acme), ip));
    assert.equal(await findHolding(db, whole(beta), ip), null);
  }
});

test('treats a holding that ends while a transaction waits as ended in that transaction', async () => {
  await db.transaction().execute(async (tx) => {
    await sql`select now()`.execute(tx);
    await sql`select pg_sleep(0.01)`.execute(tx);
    // Ended after the start of this transaction and before this statement.
    await sql`
      insert into holdings (organisation_id, cidr, during, asn, owner)
      values (${acme.id}, '203.0.113.200/32', tstzrange('2026-01-01', clock_timestamp()), ${acme.asn}, 'portal')`.execute(
      tx,
    );
    const held = await findHolding(tx, whole(acme), '203.0.113.200');
    assert.equal(held, null);
  });
});

test('lets a key bound to prefixes read and change nothing else', async () => {
  const alone = await addOrganisation(db, 'bound');
  await addHolding(db, alone, '100.64.0.0/16');
  await addHolding(db, alone, '2001:db8:1::/48');
  const key = bound(alone, '100.64.1.0/24', '100.64.1.128/25', '2001:db8::/32', '10.0.0.0/8');
  assert.ok(await findHolding(db, key, '100.64.1.9'));
  assert.equal(await findHolding(db, key, '100.64.2.9'), null);
  assert.ok(await findHolding(db, key, '2001:db8:1::9'));
  const seen = (await listHeldPrefixes(db, key)).map(({ cidr }) => cidr);
  assert.deepEqual(seen, ['100.64.1.0/24', '2001:db8:1::/48']);
  const all = (await listHeldPrefixes(db, whole(alone))).map(({ cidr }) => cidr);
  assert.deepEqual(all, ['100.64.0.0/16', '2001:db8:1::/48']);
  assert.deepEqual(await listHeldPrefixes(db, bound(alone)), []);
});

/** Nested prefixes in a small address range, so that most addresses are in several. */
const prefix = fc
  .record({ bits: fc.integer({ min: 0, max: 255 }), length: fc.integer({ min: 24, max: 32 }) })
  .map(({ bits, length }) => ({ network: bits & (0xff << (32 - length)) & 0xff, length }));

test('SQL finds the same holding as the definition, for any holdings', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.record({ prefix, mine: fc.boolean(), ended: fc.boolean() }), {
        maxLength: 12,
        selector: ({ prefix: { network, length } }) => `${network}/${length}`,
      }),
      fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 5 }),
      async (holdings, hosts) => {
        await sql`delete from holdings where cidr <<= '10.9.8.0/24'`.execute(db);
        for (const { prefix: p, mine, ended } of holdings) {
          const cidr = `10.9.8.${p.network}/${p.length}`;
          await addHolding(db, mine ? acme : beta, cidr, '2026-01-01', ended ? '2026-01-02' : null);
        }
        for (const host of hosts) {
          const holder = holdings
            .filter(
              ({ prefix: p, ended }) =>
                !ended && host >> (32 - p.length) === p.network >> (32 - p.length),
            )
            .toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
          const found = await findHolding(db, whole(acme), `10.9.8.${host}`);
          const expected = holder?.mine
            ? `10.9.8.${holder.prefix.network}/${holder.prefix.length}`
            : null;
          assert.equal(found?.cidr ?? null, expected);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('finds a holding among many by an index, never by a table scan', async (t) => {
  const { db: many } = await testDatabase(t);
  const big = await addOrganisation(many, 'big');
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    select ${big.id}, set_masklen('10.0.0.0'::inet + n, 32)::cidr, tstzrange('2026-01-01', null), ${big.asn}, 'portal'
      from generate_series(1, 20000) n`.execute(many);
  await sql`analyze holdings`.execute(many);
  // As for any address: explain (generic_plan) is not before PostgreSQL 16.
  const { rows } = await many.transaction().execute(async (tx) => {
    await sql`set local plan_cache_mode = force_generic_plan`.execute(tx);
    await sql`
      prepare containing (inet) as select id from holdings
       where cidr >>= $1 and during @> statement_timestamp()
       order by masklen(cidr) desc limit 1`.execute(tx);
    return sql<{ 'QUERY PLAN': string }>`explain execute containing ('10.0.0.1')`.execute(tx);
  });
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  assert.match(plan, /Index.*holdings_(cidr|one_holder)/);
  assert.doesNotMatch(plan, /Seq Scan/);
});
