import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { applyText } from '../../operator/fleet-file/testing.ts';
import { advanceHoldings } from '../../fleet/timers/holdings.ts';
import { silentEvents } from '../../fleet/testing.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const GROUPS = '/api/portal/organisations/acme/groups';
const IP = '203.0.113.10';
const SOON = `${new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)}Z`;
const LATER = `${new Date(Date.now() + 7_200_000).toISOString().slice(0, 19)}+00:00`;
const ssh = { action: 'allow', protocol: 'tcp', destination_port: '22' };
const web = { ...ssh, destination_port: '443' };
const udp = { type: 'udp-stateful', port: '9' };

interface Marks {
  readonly id: number;
  readonly ref: string | null;
  readonly expires_at: string | null;
  readonly note: string | null;
}
interface Group {
  readonly rules: readonly Marks[];
  readonly filters: readonly Marks[];
}

test('a group keeps the refs, ends and notes of its rules and filters, which change without an edge', async (t) => {
  const { session, acme, db } = await startEnvironment(t);
  const admin = session('admin');
  const read = async () => dataOf<Group[]>(await admin.get(GROUPS))[0];
  const group = { name: 'g', rules: [ssh, web], filters: [udp], targets: [IP] };
  const marked = {
    ...group,
    rules: [{ ...ssh, ref: 'ci', expires_at: SOON, note: 'for the runner' }, web],
    filters: [{ ...udp, ref: 'game', expires_at: LATER, note: 'new season' }],
  };
  const made = dataOf<{ id: number }>(await admin.post(GROUPS, marked));
  const path = `${GROUPS}/${made.id}`;
  const [first] = (await read())?.rules ?? [];
  assert.deepEqual([first?.ref, first?.note], ['ci', 'for the runner']);
  assert.equal(Date.parse(first?.expires_at ?? ''), Date.parse(SOON));
  assert.deepEqual(
    (await read())?.filters.map(({ ref, note }) => [ref, note]),
    [['game', 'new season']],
  );
  const [shown] = dataOf<{ rules: Marks[] }>(await acme.get(`/api/x1/firewall/ips/${IP}`)).rules;
  assert.equal(shown?.ref, 'ci');
  assert.match((await admin.put(path, marked)).text, /so already/);

  // The name goes to the other rule; what is left out is none.
  await admin.put(path, { ...group, rules: [ssh, { ...web, ref: 'ci' }] });
  const swapped = await read();
  assert.deepEqual(
    swapped?.rules.map(({ id, ref, expires_at, note }) => [
      id === first?.id,
      ref,
      expires_at,
      note,
    ]),
    [
      [true, null, null, null],
      [false, 'ci', null, null],
    ],
  );
  const { rows } = await sql<{ targets: number }>`
    select count(*) as targets from changes where generation = (select generation from fleet)`.execute(
    db,
  );
  assert.deepEqual(rows, [{ targets: 0 }]);

  const named = { ...ssh, ref: 'x' };
  assertRefused(
    await admin.put(path, { ...group, rules: [named, { ...web, ref: 'x' }] }),
    422,
    'rule_exists',
  );
  for (const wrong of [
    { ...named, destination_port: '1,2' },
    { ...ssh, expires_at: '2020-01-01T00:00:00Z' },
  ]) {
    assertRefused(await admin.put(path, { ...group, rules: [wrong] }), 422, 'invalid_request');
  }
});

test('rules and filters of a group end at their time, by a generation of their own', async (t) => {
  const { session, acme, db } = await startEnvironment(t);
  const rules = [{ ...ssh, expires_at: SOON }, web];
  const group = { name: 'g', rules, filters: [{ ...udp, expires_at: LATER }], targets: [IP] };
  await session('admin').post(GROUPS, group);
  const waitMs = await advanceHoldings(db, silentEvents());
  assert.ok(waitMs !== null && waitMs > 3_000_000 && waitMs <= 3_601_000, String(waitMs));
  const there = async () => {
    const { rules: shown, filters } = dataOf<{ rules: unknown[]; filters: unknown[] }>(
      await acme.get(`/api/v1/firewall/ips/${IP}`),
    );
    return [shown.length, filters.length];
  };
  assert.deepEqual(await there(), [2, 1]);
  await sql`update group_rules set expires_at = now() - interval '1 second' where expires_at is not null`.execute(
    db,
  );
  await sql`update group_filters set expires_at = now() - interval '1 second'`.execute(db);
  await advanceHoldings(db, silentEvents());
  assert.deepEqual(await there(), [1, 0]);
  const { rows } = await sql`
    select cause, target from generations join changes using (generation)
     where cause = 'group.expire'`.execute(db);
  assert.deepEqual(rows, [{ cause: 'group.expire', target: `${IP}/32` }]);
});

test('the fleet file gives marks to a group, and says which entries have expired', async (t) => {
  const { db } = await startEnvironment(t);
  const file = (marks: string) => `organisations:
  acme:
    name: Acme
    asns: [64500]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }]
    groups:
      - name: g
        addresses: [${IP}]
        rules:
          - { action: allow, protocol: tcp, destination_port: "22"${marks} }
          - { action: deny, protocol: udp, destination_port: "19", expires_at: "2020-01-01T00:00:00Z" }
        filters: [{ type: udp-stateful, port: "9", note: "new season" }]
  other: { name: Other }`;
  const words = (plan: Awaited<ReturnType<typeof applyText>>) => JSON.stringify(plan);
  assert.match(words(await applyText(db, file(''))), /group g \(acme\): deny udp 19 has expired/);
  const marked = file(`, ref: ci, note: runner, expires_at: "${LATER}"`);
  const until = new Date(LATER).toISOString();
  assert.ok(
    words(await applyText(db, marked)).includes(
      JSON.stringify(`~ allow tcp 22: ref "ci", until ${until}, another note`).slice(1, -1),
    ),
  );
  const { rows } = await sql`
    select ref, note from group_rules where deleted_generation is null
    union all select ref, note from group_filters`.execute(db);
  assert.deepEqual(rows, [
    { ref: 'ci', note: 'runner' },
    { ref: null, note: 'new season' },
  ]);
  const before = await sql`select generation from fleet`.execute(db);
  await applyText(db, marked);
  assert.deepEqual((await sql`select generation from fleet`.execute(db)).rows, before.rows);
});
