import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { sql } from 'kysely';
import { parseKey } from '@portcullis/core/access/key-format.ts';
import { generateSecret, hashSecret, revokeKey } from '../../../access/index.ts';
import type { Db } from '../../../db/database.ts';
import { testDatabase } from '../../../db/testing.ts';
import { applyFleet, FleetRefused, planFleet } from './apply.ts';
import { applyText, insertOwnRule, mustParse, TEST_ACTOR } from '../testing.ts';
import { renderPlan } from '../plan/plan.ts';

const EXAMPLE = await readFile(new URL('../../../../examples/fleet.yaml', import.meta.url), 'utf8');

const ACME = (body: string, rest = '') => `
organisations:
  acme:
    name: Acme
    flags: [firewall_api]
    asns: [64500]
${body}
${rest}`;
const PREFIX = `    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }]`;

async function one<T>(db: Db, query: ReturnType<typeof sql<T>>): Promise<T> {
  const row = (await query.execute(db)).rows[0];
  assert.ok(row !== undefined);
  return row;
}

async function refusalOf(db: Db, text: string, allowLosses = false): Promise<FleetRefused> {
  const applied = applyText(db, text, allowLosses);
  const error = await applied.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof FleetRefused, `not refused: ${String(error)}`);
  return error;
}

test('applies the example in one generation; a second apply changes nothing', async (t) => {
  const { db } = await testDatabase(t);
  const file = mustParse(EXAMPLE);
  const planned = await planFleet(db, file);
  assert.deepEqual(planned.mistakes, []);
  assert.equal((await one(db, sql<{ n: number }>`select count(*) as n from organisations`)).n, 0);
  const first = await applyFleet(db, file, { allowLosses: false, actor: TEST_ACTOR });
  assert.deepEqual(
    first.changes.map(({ subject }) => subject),
    planned.changes.map(({ subject }) => subject),
  );
  assert.equal(first.generation, 1);
  assert.deepEqual(first.edges, ['fra1']);
  assert.deepEqual(
    first.createdKeys.map(({ name }) => name),
    ['ci', 'monitoring'],
  );
  for (const { key } of first.createdKeys) assert.ok(parseKey(key).ok);
  const again = await applyFleet(db, file, { allowLosses: false, actor: TEST_ACTOR });
  assert.deepEqual([again.changes, again.createdKeys, again.generation], [[], [], null]);
  assert.equal(renderPlan(await planFleet(db, file)), 'Nothing to change.\n');
  const stamped = await one(
    db,
    sql<{ n: number }>`select count(*) as n from group_rules where created_generation = 1`,
  );
  assert.equal(stamped.n, 4);
});

test('writes an audit row for every change, and its targets to the generation', async (t) => {
  const { db } = await testDatabase(t);
  const applied = await applyText(db, EXAMPLE);
  const audited = await one(
    db,
    sql<{ n: number }>`select count(*) as n from audit where actor_kind = 'fleet'`,
  );
  assert.equal(audited.n, applied.changes.length);
  const { rows } = await sql<{
    target: string;
  }>`select target from changes order by target`.execute(db);
  const targets = rows.map(({ target }) => target);
  for (const wanted of [
    '203.0.113.0/24',
    '203.0.113.10/32',
    '198.51.100.10/32',
    '2001:db8:100::/48',
  ]) {
    assert.ok(targets.includes(wanted), `${wanted} is not among ${targets.join(' ')}`);
  }
});

test('serialises concurrent applies: the second changes nothing', async (t) => {
  const { db } = await testDatabase(t);
  const both = await Promise.all([applyText(db, EXAMPLE), applyText(db, EXAMPLE)]);
  assert.equal(both.filter(({ changes }) => changes.length > 0).length, 1);
});

test('refuses to change objects of the portal, and changes nothing', async (t) => {
  const { db } = await testDatabase(t);
  await sql`insert into organisations (slug, name, owner) values ('acme', 'Portal', 'portal')`.execute(
    db,
  );
  await sql`insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values ('fra1', 'x', '{eth9}', '{0.0.0.0/0}', 'both', 'reassemble', '[]', 'portal')`.execute(
    db,
  );
  const { plan } = await refusalOf(db, EXAMPLE);
  const words = new Set(plan.mistakes.map(({ message }) => message));
  assert.ok(
    words.has(
      'The organisation acme was made by hand, not by a fleet file: --adopt hands it to this one.',
    ),
  );
  assert.ok(
    words.has('The edge fra1 was made by hand, not by a fleet file: --adopt hands it to this one.'),
  );
  assert.ok(plan.mistakes.every(({ file, line }) => file === 'fleet.yaml' && line > 1));
  const { name } = await one(db, sql<{ name: string }>`select name from organisations`);
  assert.equal(name, 'Portal');
});

test('refuses names of keys, groups, services, ASNs and holdings that belong to the portal', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  const { id } = await one(db, sql<{ id: number }>`select id from organisations`);
  await sql`insert into groups (organisation_id, name, owner) values (${id}, 'g', 'portal')`.execute(
    db,
  );
  await sql`insert into services (id, organisation_id, name, owner) values (9, ${id}, 's', 'portal')`.execute(
    db,
  );
  await sql`insert into asns values (64501, ${id}, 'portal')`.execute(db);
  await sql`insert into api_keys (organisation_id, name, secret_hash, hint, abilities, owner)
    values (${id}, 'k', ${hashSecret('x')}, 'x', '{}', 'portal')`.execute(db);
  await sql`insert into holdings (organisation_id, cidr, during, service_id, owner)
    values (${id}, '192.0.2.1', '[2026-01-01,)', 9, 'portal')`.execute(db);
  const body = `${PREFIX}
    keys: [{ name: k, abilities: [firewall.read] }]
    groups: [{ name: g }]
    services: [{ id: 9, name: mine }, { id: 10, name: mine, addresses: [{ ip: 192.0.2.1 }] }]`;
  const { plan } = await refusalOf(db, ACME(body).replace('[64500]', '[64500, 64501]'));
  const words = plan.mistakes.map(({ message }) => message).join('\n');
  for (const what of ['The key k', 'The group g', 'The service 9', 'AS64501', '192.0.2.1/32']) {
    assert.match(words, new RegExp(`${what}[^\n]*made by hand`));
  }
});

test('removes a prefix with live rules only when losses are allowed, and then ends it instead of deleting it', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  await insertOwnRule(db, '203.0.113.10', { port: 80 });
  const gone = ACME('');
  const planned = await planFleet(db, mustParse(gone));
  assert.match(renderPlan(planned), /203\.0\.113\.0\/24 of acme has 1 live firewall object/);
  const refused = await refusalOf(db, gone);
  assert.match(refused.message, /no longer be enforced/);
  assert.equal(refused.plan.losses.length, 1);
  const forced = await applyText(db, gone, true);
  assert.deepEqual(
    forced.changes.map(({ sign, words }) => `${sign} ${words}`),
    ['- ends now'],
  );
  const holding = await one(
    db,
    sql<{ ended: boolean }>`select upper(during) <= now() as ended from holdings`,
  );
  assert.equal(holding.ended, true);
  assert.deepEqual((await applyText(db, gone)).changes, []);
});

test('refuses to remove a service or an organisation whose addresses have live rules', async (t) => {
  const { db } = await testDatabase(t);
  const service = `    services: [{ id: 7, name: s, addresses: [{ ip: 198.51.100.1 }] }]`;
  await applyText(db, ACME(service));
  await insertOwnRule(db, '198.51.100.1');
  assert.equal((await refusalOf(db, ACME(''))).plan.losses.length, 1);
  assert.equal((await refusalOf(db, 'organisations: {}')).plan.losses.length, 2);
  await applyText(db, 'organisations: {}', true);
  const state = await one(
    db,
    sql<{ active: boolean; flags: string[] }>`
      select active, flags from services s join organisations o on o.id = s.organisation_id`,
  );
  assert.deepEqual(state, { active: false, flags: [] });
  assert.deepEqual((await applyText(db, 'organisations: {}')).changes, []);
});

test('deletes an unreferenced prefix and its ASN', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  await applyText(db, ACME('').replace('[64500]', '[]'));
  assert.equal((await one(db, sql<{ n: number }>`select count(*) as n from holdings`)).n, 0);
  assert.equal((await one(db, sql<{ n: number }>`select count(*) as n from asns`)).n, 0);
});

test('changes since and until; needs --force to end a holding with live rules in the past', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  await insertOwnRule(db, '203.0.113.10');
  const later = PREFIX.replace('2026-01-01', '2026-03-01');
  assert.match(
    (await applyText(db, ACME(later))).changes[0]?.words ?? '',
    /since 2026-01-01.* -> 2026-03-01/,
  );
  const past = later.replace(' }]', ', until: "2026-04-01T00:00:00+00:00" }]');
  assert.equal((await refusalOf(db, ACME(past))).plan.losses.length, 1);
  await applyText(db, ACME(past), true);
  assert.deepEqual((await applyText(db, ACME(past))).changes, []);
});

test('moves a prefix to another organisation and keeps the time of both holdings', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  await insertOwnRule(db, '203.0.113.10');
  const passed = `
organisations:
  acme: { name: Acme, asns: [64500], flags: [firewall_api], prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00", until: "2026-06-01T00:00:00+00:00" }] }
  hive: { name: Hive, asns: [64501], prefixes: [{ cidr: 203.0.113.0/24, asn: 64501, since: "2026-06-01T00:00:00+00:00" }] }`;
  await applyText(db, passed, true);
  assert.equal((await one(db, sql<{ n: number }>`select count(*) as n from holdings`)).n, 2);
  assert.deepEqual((await applyText(db, passed)).changes, []);
});

test('blocks sources on everything and on a target, and unblocks what the file no longer names', async (t) => {
  const { db } = await testDatabase(t);
  const blocked = (list: string) => ACME(`${PREFIX}\n    blocked_sources: ${list}`);
  const stored = async () => {
    const { rows } = await sql<{ row: string }>`
      select concat_ws(' ', abbrev(source::inet), coalesce(abbrev(target::inet), 'all'), owner, note) as row
        from blocked_sources where deleted_generation is null order by 1`.execute(db);
    return rows.map(({ row }) => row);
  };
  const first = `
      - { sources: [192.0.2.1, 198.51.100.0/24], note: scans }
      - { sources: [192.0.2.1], addresses: [203.0.113.10, 203.0.113.64/26] }`;
  const { changes, generation } = await applyText(db, blocked(first));
  assert.ok(generation !== null);
  assert.deepEqual(
    changes
      .filter((change) => change.do === 'blocked-list.create')
      .map(({ subject, words }) => `${subject}: ${words}`),
    [
      'blocked sources on everything (acme): 192.0.2.1, 198.51.100.0/24',
      'blocked sources on 203.0.113.10 (acme): 192.0.2.1',
      'blocked sources on 203.0.113.64/26 (acme): 192.0.2.1',
    ],
  );
  assert.deepEqual(await stored(), [
    '192.0.2.1 203.0.113.10 fleet ',
    '192.0.2.1 203.0.113.64/26 fleet ',
    '192.0.2.1 all fleet scans',
    '198.51.100.0/24 all fleet scans',
  ]);
  assert.deepEqual((await applyText(db, blocked(first))).changes, []);
  // What was blocked by hand stays as it is, named by the file or not.
  await sql`
    insert into blocked_sources (organisation_id, source, note, owner, created_generation)
    select id, unnest(array['192.0.2.9', '192.0.2.10']::cidr[]), 'by hand', 'portal', 1 from organisations`.execute(
    db,
  );
  const second = `
      - { sources: [192.0.2.1, 192.0.2.9], note: probes }`;
  await applyText(db, blocked(second));
  assert.deepEqual(await stored(), [
    '192.0.2.1 all fleet probes',
    '192.0.2.10 all portal by hand',
    '192.0.2.9 all portal by hand',
  ]);
  assert.deepEqual((await applyText(db, blocked(second))).changes, []);
  const foreign = blocked('[{ sources: [192.0.2.1], addresses: [192.0.3.1] }]');
  assert.match((await refusalOf(db, foreign)).message, /acme does not hold 192\.0\.3\.1/);
});

test('gives prefixes under the ASN of the operator, under none, and to a service', async (t) => {
  const { db } = await testDatabase(t);
  const file = (top: string, acme: string) => `
${top}
organisations:
  acme:
    name: Acme
    ${acme}
    prefixes: [{ cidr: 192.0.2.0/24, asn: 64999 }, { cidr: 198.51.100.0/24 }]
    services: [{ id: 1, name: lobby, prefixes: [{ cidr: 203.0.113.0/28 }], addresses: [{ ip: 203.0.113.99 }] }]
  hive: { name: Hive, prefixes: [{ cidr: 192.0.3.0/24, asn: 64999 }] }`;
  const shared = file('asns: [64999]', '');
  const { changes } = await applyText(db, shared);
  const subjects = changes.map(({ subject }) => subject);
  for (const subject of [
    'AS64999 of the operator',
    'prefix 198.51.100.0/24 (acme)',
    'prefix 203.0.113.0/28 of service 1 (acme)',
    'address 203.0.113.99 of service 1 (acme)',
    'prefix 192.0.3.0/24 under AS64999 (hive)',
  ]) {
    assert.ok(subjects.includes(subject), subject);
  }
  assert.deepEqual((await applyText(db, shared)).changes, []);
  const own = file('', 'asns: [64999]').replace(', asn: 64999 }] }', ' }] }');
  const passed = (await applyText(db, own)).changes.find(({ do: kind }) => kind === 'asn.update');
  assert.deepEqual(
    [passed?.subject, passed?.words],
    ['AS64999 of acme', 'organisation the operator -> acme'],
  );
});

test('refuses a holding that starts before the end of a past holding', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  await insertOwnRule(db, '203.0.113.10');
  await applyText(db, ACME(''), true);
  const early = `organisations: { hive: { name: Hive, asns: [64501], prefixes: [{ cidr: 203.0.113.0/24, asn: 64501, since: "2026-02-01T00:00:00+00:00" }] } }`;
  const { plan } = await refusalOf(db, early);
  assert.match(plan.mistakes[0]?.message ?? '', /is acme's since .* until .*: two cannot hold it/);
});

const keys = (list: string) => ACME(`    keys: [${list}]`);

test('keeps a revoked key revoked, and suspends a key that the file drops until it names it again', async (t) => {
  const { db } = await testDatabase(t);
  const secret = generateSecret();
  const ci = `{ name: ci, abilities: [firewall.read], secret: ${secret} }`;
  const first = await applyText(db, keys(`${ci}, { name: other, abilities: [firewall.read] }`));
  assert.deepEqual(
    first.createdKeys.map(({ name }) => name),
    ['other'],
  );
  const stored = await one(
    db,
    sql<{
      id: number;
      hash: Buffer;
    }>`select id, secret_hash as hash from api_keys where name = 'ci'`,
  );
  assert.deepEqual(stored.hash, hashSecret(secret));
  await applyText(db, keys(ci));
  const other = sql<{ revoked: boolean; suspended: boolean }>`
    select revoked_at is not null as revoked, suspended_at is not null as suspended
      from api_keys where name = 'other'`;
  assert.deepEqual(await one(db, other), { revoked: false, suspended: true });
  await db.transaction().execute((tx) => revokeKey(tx, stored.id, TEST_ACTOR));
  const after = await applyText(db, keys(ci));
  assert.deepEqual(after.changes, []);
  assert.match(after.notes.join('\n'), /key ci \(acme\) was revoked and stays so/);
  const again = await applyText(db, keys('{ name: other, abilities: [firewall.read] }'));
  assert.deepEqual(again.createdKeys, []);
  assert.deepEqual(await one(db, other), { revoked: false, suspended: false });
  const reused = await refusalOf(db, keys(ci.replace('name: ci', 'name: ci2')));
  assert.match(reused.message, /The secret of ci2 is that of another key, or was/);
  assert.ok(!reused.message.includes(secret));
});

const keyText = (ability: string, secret: string | undefined) =>
  ACME(`    keys: [{ name: ci, abilities: [${ability}], secret: "${secret}" }]`);

test('changes the abilities and the secret of a key in place', async (t) => {
  const { db } = await testDatabase(t);
  const secrets = [generateSecret(), generateSecret()];
  await applyText(db, keyText('firewall.read', secrets[0]));
  const changed = await applyText(db, keyText('firewall.manage', secrets[1]));
  assert.match(changed.changes[0]?.words ?? '', /abilities .*firewall\.manage.*another secret/);
  assert.deepEqual(changed.createdKeys, []);
  const row = await one(
    db,
    sql<{ n: number; hash: Buffer; abilities: string[] }>`
      select count(*) over () as n, secret_hash as hash, abilities from api_keys`,
  );
  assert.deepEqual(
    [row.n, row.hash, row.abilities],
    [1, hashSecret(secrets[1] ?? ''), ['firewall.manage']],
  );
});

test('refuses a conflicting group in the plan, naming the line and the rule', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  await insertOwnRule(db, '203.0.113.10', { port: 80 });
  const text = ACME(`${PREFIX}
    groups: [{ name: web, rules: [{ action: allow, protocol: tcp, destination_port: 80 }], addresses: [203.0.113.0/24] }]`);
  const planned = await planFleet(db, mustParse(text));
  assert.match(
    planned.mistakes[0]?.message ?? '',
    /203\.0\.113\.10: it has the rule "allow tcp 80" of its own/,
  );
  assert.equal(planned.mistakes[0]?.line, 8);
  await refusalOf(db, text);
  assert.equal((await one(db, sql<{ n: number }>`select count(*) as n from groups`)).n, 0);
});

test('refuses a group on an address of another organisation, and skips it on an ended holding', async (t) => {
  const { db } = await testDatabase(t);
  const group = `    groups: [{ name: g, rules: [{ action: deny, protocol: gre }], addresses: [192.0.2.7] }]`;
  const { plan } = await refusalOf(db, ACME(group));
  assert.deepEqual(
    plan.mistakes.map(({ message }) => message),
    ['acme does not hold 192.0.2.7.'],
  );
  const ended = `    prefixes: [{ cidr: 192.0.2.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00", until: "2026-02-01T00:00:00+00:00" }]\n${group}`;
  const applied = await applyText(db, ACME(ended));
  assert.match(
    applied.notes.join('\n'),
    /group g \(acme\) is not on 192\.0\.2\.7: acme does not hold it any more/,
  );
});

test('needs --force for a holding that takes an address with live rules out of a prefix', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, ACME(PREFIX));
  await insertOwnRule(db, '203.0.113.10', { port: 80 });
  const carved = ACME(`${PREFIX}
    services: [{ id: 7, name: s, addresses: [{ ip: 203.0.113.10 }, { ip: 203.0.113.11 }] }]`);
  const { plan } = await refusalOf(db, carved);
  assert.deepEqual(
    plan.losses.map(({ line }) => line),
    [8],
  );
  assert.match(
    plan.losses[0]?.message ?? '',
    /^203\.0\.113\.10 of acme has 1 live firewall object,/,
  );
  await applyText(db, carved, true);
  assert.deepEqual((await applyText(db, carved)).changes, []);
});

const passedOn = (acme: string, hive: string) => `
organisations:
  acme: { name: A, asns: [1], prefixes: [{ cidr: 192.0.2.0/24, asn: 1, ${acme} }] }
  hive: { name: H, asns: [2], prefixes: [{ cidr: 192.0.2.0/24, asn: 2, ${hive} }] }`;

test('refuses to take over the past time of another organisation', async (t) => {
  const { db } = await testDatabase(t);
  const early = 'since: "2026-01-01T00:00:00Z", until: "2026-06-01T00:00:00Z"';
  const late = 'since: "2026-06-01T00:00:00Z", until: "2027-01-01T00:00:00Z"';
  await applyText(db, passedOn(early, late));
  const { plan } = await refusalOf(db, passedOn(late, early));
  assert.match(plan.mistakes[0]?.message ?? '', /two cannot hold it at the same time/);
});

const inTurn = (...times: readonly (readonly [since: number, until: number])[]) => {
  const month = (n: number) => `"2026-${String(n).padStart(2, '0')}-01T00:00:00+00:00"`;
  const lines = times.map(([since, until], at) => {
    const during = `since: ${month(since)}, until: ${month(until)}`;
    return `  o${at}: { name: O, asns: [${at + 1}], prefixes: [{ cidr: 192.0.2.0/24, asn: ${at + 1}, ${during} }] }`;
  });
  return `organisations:\n${lines.join('\n')}`;
};

test('moves the times of three consecutive holdings together, in both directions', async (t) => {
  const { db } = await testDatabase(t);
  for (const times of [
    inTurn([1, 4], [4, 7], [7, 9]),
    inTurn([1, 5], [5, 8], [8, 9]),
    inTurn([1, 3], [3, 6], [6, 9]),
  ]) {
    await applyText(db, times);
    assert.deepEqual((await applyText(db, times)).changes, []);
  }
});

test('exchanges the prefixes of two organisations in one apply, with and without live rules', async (t) => {
  const { db } = await testDatabase(t);
  const exchanged = (first: string, second: string) => `
organisations:
  acme: { name: A, asns: [1], prefixes: [{ cidr: ${first}, asn: 1 }] }
  hive: { name: H, asns: [2], prefixes: [{ cidr: ${second}, asn: 2 }] }`;
  const there = exchanged('192.0.2.0/24', '198.51.100.0/24');
  const back = exchanged('198.51.100.0/24', '192.0.2.0/24');
  await applyText(db, there);
  await applyText(db, back);
  await insertOwnRule(db, '192.0.2.1');
  assert.equal((await refusalOf(db, there)).plan.losses.length, 1);
  await applyText(db, there, true);
  assert.deepEqual((await applyText(db, there)).changes, []);
  const { rows } = await sql<{ slug: string; cidr: string }>`
    select slug, cidr from holdings h join organisations o on o.id = h.organisation_id
     where during @> now() order by slug`.execute(db);
  assert.deepEqual(rows, [
    { slug: 'acme', cidr: '192.0.2.0/24' },
    { slug: 'hive', cidr: '198.51.100.0/24' },
  ]);
});
