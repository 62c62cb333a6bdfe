import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';
import { testDatabase } from '../../../db/testing.ts';
import { acceptRule, insertHolding, insertOrganisation } from '../../../fleet/testing.ts';
import { applyText } from '../../../operator/fleet-file/testing.ts';
import { WatchScopes } from './watch-scopes.ts';

const FILE = `
organisations:
  acme:
    name: Acme
    asns: [64500]
    thresholds: { pps: 10000, hold_seconds: 30 }
    safelist: [192.0.2.0/24]
    prefixes:
    - { cidr: 203.0.113.0/24, asn: 64500, thresholds: { mbps: 500 }, mitigation: observe }
    - { cidr: 203.0.113.128/25, asn: 64500, thresholds: { pps: 5000 } }
    services:
    - id: 1
      name: s
      thresholds: { pps: 2000, mbps: 100 }
      safelist: ["2001:db8:9::1"]
      addresses: [{ ip: 203.0.113.200, thresholds: { pps: 900 } }, { ip: 198.51.100.1, mitigation: off }]
  hive:
    name: Hive
    services: [{ id: 2, name: t, addresses: [{ ip: 203.0.113.7 }] }]
`;

async function loaded(db: Db): Promise<WatchScopes> {
  const scopes = new WatchScopes();
  await scopes.load(db);
  return scopes;
}

/** Counts the rows that queries of holdings return. */
function countHoldings(db: Db) {
  const queries = new WeakSet<object>();
  const counted = { rows: 0 };
  const counting = db.withPlugin({
    transformQuery({ node, queryId }) {
      if (JSON.stringify(node).includes('holdings')) queries.add(queryId);
      return node;
    },
    async transformResult({ result, queryId }) {
      if (queries.has(queryId)) counted.rows += result.rows.length;
      return result;
    },
  });
  return { counting, counted };
}

test('resolves settings from the address, its service, its prefixes and its organisation, never from others', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, FILE);
  const { scopes } = await loaded(db);
  const defaults = { holdMs: 30_000, safelist: ['192.0.2.0/24'], subject: true };
  const of = (scope: string) => scopes.find((one) => one.scope === scope);
  assert.equal(scopes.length, 5);
  assert.deepEqual(of('203.0.113.0/24'), {
    scope: '203.0.113.0/24',
    pps: 10_000,
    bps: 500_000_000,
    mitigation: 'observe',
    ...defaults,
  });
  assert.deepEqual(of('203.0.113.128/25'), {
    scope: '203.0.113.128/25',
    pps: 5000,
    bps: 500_000_000,
    mitigation: 'observe',
    ...defaults,
  });
  const own = { ...defaults, safelist: ['192.0.2.0/24', '2001:db8:9::1'] };
  assert.deepEqual(of('203.0.113.200'), {
    scope: '203.0.113.200',
    pps: 900,
    bps: 100_000_000,
    mitigation: 'observe',
    ...own,
  });
  assert.deepEqual(of('198.51.100.1'), {
    scope: '198.51.100.1',
    pps: 2000,
    bps: 100_000_000,
    mitigation: 'off',
    ...own,
  });
  // Inside acme's prefix, but held by another organisation.
  assert.deepEqual(of('203.0.113.7'), {
    scope: '203.0.113.7',
    pps: 20_000,
    bps: 1_000_000_000,
    holdMs: 60_000,
    mitigation: 'on',
    safelist: [],
    subject: true,
  });
});

test('changes the version only with the scopes, and omits ended holdings', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, FILE);
  const scopes = await loaded(db);
  const first = { version: scopes.version, count: scopes.scopes.length };
  assert.equal((await loaded(db)).version, first.version);
  await applyText(db, FILE.replace('name: Hive', 'name: Hive Games'));
  assert.equal(await scopes.load(db), false);
  await applyText(db, FILE.replace('pps: 900', 'pps: 901'));
  assert.equal(await scopes.load(db), true);
  const second = scopes.version;
  assert.notEqual(second, first.version);
  await sql`update holdings set during = tstzrange(lower(during), now()) where cidr = '203.0.113.200'`.execute(
    db,
  );
  assert.equal(await scopes.load(db), true);
  assert.equal(scopes.scopes.length, first.count - 1);
  assert.equal(scopes.of('203.0.113.200')?.scope, '203.0.113.128/25');
  assert.notEqual(scopes.version, second);
});

test('a rule write changes nothing, and a changed holding reads few of them', async (t) => {
  const { db } = await testDatabase(t);
  const organisation = await insertOrganisation(db, 'many');
  await sql`insert into services (id, organisation_id, name, owner) values (7, ${organisation}, 's', 'portal')`.execute(
    db,
  );
  await sql`
    insert into holdings (organisation_id, cidr, during, service_id, owner)
    select ${organisation}, ('10.0.' || n / 250 || '.' || n % 250)::cidr, '[2026-01-01,)', 7, 'portal'
      from generate_series(0, 1999) n`.execute(db);
  const holding = await insertHolding(db, organisation, '203.0.113.0/24');
  const scopes = new WatchScopes();
  const { counting, counted } = countHoldings(db);
  await scopes.load(counting);
  assert.ok(counted.rows > 2_000);
  // A transaction of another database may be older than these rows: they are read again until it ends.
  while (counted.rows >= 10) {
    counted.rows = 0;
    await scopes.load(counting);
  }
  const work = async () => {
    counted.rows = 0;
    const isOther = await scopes.load(counting);
    // A transaction of another database can hold the mark back: the last changes are then read again.
    assert.ok(counted.rows < 10, `${counted.rows} rows were read`);
    return isOther;
  };
  for (let port = 1; port < 5; port++) {
    await acceptRule(db, holding, '203.0.113.9', { port });
    assert.equal(await work(), false);
  }
  const set = (detection: object, cidr: string) =>
    sql`update holdings set detection = ${JSON.stringify(detection)}::jsonb where cidr = ${cidr}::cidr`.execute(
      db,
    );
  await set({ pps: 5 }, '10.0.3.7');
  assert.equal(await work(), true);
  assert.equal(scopes.of('10.0.3.7')?.pps, 5);
  // Written, but as it was.
  await set({ pps: 5 }, '10.0.3.7');
  assert.equal(await work(), false);
  await set({ pps: 6 }, '203.0.113.0/24');
  await sql`delete from holdings where cidr = '10.0.3.8'`.execute(db);
  assert.equal(await work(), true);
  assert.equal(scopes.of('10.0.3.8'), null);
  assert.equal((await loaded(db)).version, scopes.version);
});

test('holdings begin and end with time, without a write', async (t) => {
  const { db } = await testDatabase(t);
  const organisation = await insertOrganisation(db, 'acme');
  await insertHolding(db, organisation, '203.0.113.0/24');
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    select organisation_id, '203.0.113.9', tstzrange(clock_timestamp() + interval '1 second', null), asn, owner
      from holdings where cidr = '203.0.113.0/24'`.execute(db);
  const scopes = await loaded(db);
  const until = async (scope: string) => {
    while (scopes.of('203.0.113.9')?.scope !== scope) {
      await delay(20);
      await scopes.load(db);
    }
  };
  await until('203.0.113.9');
  await sql`
    update holdings set during = tstzrange(lower(during), clock_timestamp() + interval '1 second')
     where cidr = '203.0.113.9'`.execute(db);
  await scopes.load(db);
  await until('203.0.113.0/24');
  assert.equal(scopes.version, (await loaded(db)).version);
});

test('changes one by one lead to what loading everything does, whatever commits meanwhile', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, FILE);
  const scopes = await loaded(db);
  const rows = [
    '203.0.113.0/24',
    '203.0.113.128/25',
    '203.0.113.200',
    '198.51.100.1',
    '203.0.113.7',
  ];
  const change = fc.oneof(
    fc.record({
      table: fc.constant('organisations'),
      at: fc.nat(1),
      pps: fc.integer({ min: 1, max: 9 }),
    }),
    fc.record({
      table: fc.constant('services'),
      at: fc.nat(1),
      pps: fc.integer({ min: 1, max: 9 }),
    }),
    fc.record({
      table: fc.constant('holdings'),
      at: fc.nat(4),
      pps: fc.integer({ min: 0, max: 9 }),
    }),
  );
  const make = async ({ table, at, pps }: { table: string; at: number; pps: number }) => {
    const which =
      table === 'holdings'
        ? sql`cidr = ${rows[at]}::cidr`
        : sql`id = (select id from ${sql.table(table)} order by id offset ${at} limit 1)`;
    // 0 ends a holding, or begins it again.
    if (pps === 0) {
      await sql`
        update holdings set during = case when upper(during) is null then tstzrange(lower(during), now()) else tstzrange(lower(during), null) end
         where ${which}`.execute(db);
    } else {
      await sql`update ${sql.table(table)} set detection = jsonb_build_object('pps', ${pps}::int) where ${which}`.execute(
        db,
      );
    }
  };
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
      await Promise.all([...changes.map(make), scopes.load(db)]);
      await scopes.load(db);
      const whole = await loaded(db);
      assert.deepEqual(scopes.scopes, whole.scopes);
      assert.equal(scopes.version, whole.version);
    }),
    { numRuns: 40 },
  );
});

test('changes nothing when settings are applied again, and removes settings that the file drops', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, FILE);
  assert.deepEqual((await applyText(db, FILE)).changes, []);
  await applyText(db, FILE.replace('    thresholds: { pps: 10000, hold_seconds: 30 }\n', ''));
  const { scopes } = await loaded(db);
  assert.equal(scopes.find(({ scope }) => scope === '203.0.113.0/24')?.pps, 20_000);
});
