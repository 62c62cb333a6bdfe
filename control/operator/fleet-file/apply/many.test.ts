import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../../db/testing.ts';
import { applyFleet, FleetRefused } from './apply.ts';
import { insertOwnRule, mustParse, TEST_ACTOR } from '../testing.ts';

const COUNT = 1_500;
const address = (at: number): string => `10.0.${at >> 8}.${at & 255}`;

/** Groups of two rules, each on one address of a prefix, and as many addresses of a service. */
function manyGroups(): string {
  const groups = Array.from(
    { length: COUNT },
    (_, at) => `      - name: g${at}
        rules: [{ action: deny, protocol: udp, destination_port: "19,${1000 + at}" }]
        addresses: [${address(at)}]`,
  );
  const assigned = Array.from(
    { length: COUNT },
    (_, at) => `          - { ip: 172.16.${at >> 8}.${at & 255} }`,
  );
  return `organisations:
  acme:
    name: Acme
    asns: [64500]
    prefixes: [{ cidr: 10.0.0.0/16, asn: 64500 }]
    services:
      - id: 1
        name: s
        addresses:
${assigned.join('\n')}
    groups:
${groups.join('\n')}
`;
}

test('thousands of objects are applied in a few statements, and a conflict among them is found at its line', async (t) => {
  const { db } = await testDatabase(t);
  const text = manyGroups();
  const file = mustParse(text);
  const steps: number[] = [];
  const options = { allowLosses: false, actor: TEST_ACTOR };
  await applyFleet(db, file, { ...options, onProgress: ({ done }) => void steps.push(done) });
  assert.ok(steps.length < 20, `${steps.length} steps`);
  const { rows } = await sql<Record<string, number>>`
    select (select count(*) from holdings) as holdings, (select count(*) from group_rules) as rules,
           (select count(*) from group_assignments) as assigned, (select count(*) from audit) as audited,
           (select count(*) from generations) as generations`.execute(db);
  const changes = steps.at(-1);
  assert.deepEqual(rows, [
    { holdings: COUNT + 1, rules: 2 * COUNT, assigned: COUNT, audited: changes, generations: 1 },
  ]);
  assert.deepEqual((await applyFleet(db, file, options)).changes, []);
  await sql`delete from group_assignments`.execute(db);
  await insertOwnRule(db, address(1_234), { action: 'deny', protocol: 'udp', port: 19 });
  const refused = await applyFleet(db, file, options).catch((error: unknown) => error);
  assert.ok(refused instanceof FleetRefused);
  const line = text.split('\n').findIndex((one) => one.endsWith('- name: g1234')) + 1;
  assert.match(refused.message, new RegExp(`fleet.yaml:${line}:.*group g1234 .*deny udp 19`));
  const { rows: left } = await sql`select from group_assignments`.execute(db);
  assert.equal(left.length, 0);
});

test('hundreds of organisations are written in a few steps, and none is left when one fails', async (t) => {
  const { db } = await testDatabase(t);
  const organisations = Array.from(
    { length: 300 },
    (_, at) => `  org${at}:
    name: Organisation ${at}
    flags: [firewall_api]
    asns: [${64_500 + at}]
    prefixes: [{ cidr: 10.${at >> 8}.${at & 255}.0/24, asn: ${64_500 + at} }]
    services: [{ id: ${at + 1}, name: s, addresses: [{ ip: 172.16.${at >> 8}.${at & 255} }] }]
    thresholds: { pps: ${20_000 + at} }
    keys: [{ name: ci, abilities: [firewall.read] }]
`,
  );
  const file = mustParse(`organisations:\n${organisations.join('')}`);
  const steps: number[] = [];
  const options = { allowLosses: false, actor: TEST_ACTOR };
  await sql`alter table api_keys add constraint refused check (organisation_id <> 150)`.execute(db);
  await assert.rejects(applyFleet(db, file, options), /refused/);
  const { rows } = await sql<{ n: number }>`select count(*) as n from organisations`.execute(db);
  assert.equal(rows[0]?.n, 0);
  await sql`alter table api_keys drop constraint refused`.execute(db);
  const { createdKeys } = await applyFleet(db, file, {
    ...options,
    onProgress: ({ done }) => void steps.push(done),
  });
  assert.ok(steps.length < 20, `${steps.length} steps`);
  assert.deepEqual(
    createdKeys.map(({ organisation }) => organisation).toSorted(),
    file.objects.organisation.map(({ object: { slug } }) => slug).toSorted(),
  );
  assert.deepEqual((await applyFleet(db, file, options)).changes, []);
});
