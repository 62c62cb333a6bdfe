import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { assertRefused, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { Problem } from '../../problem.ts';
import { dropWindow } from './read.ts';

const IP = '203.0.113.10';
const DROPS = `/api/x1/firewall/ips/${IP}/drops`;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Body {
  readonly data: {
    readonly observed: { packets: number; bytes: number };
    readonly filters: object;
    readonly totals: readonly { reason: string; by: string; packets: number; bytes: number }[];
    readonly prefixes: readonly { prefix: string; packets: number }[];
    readonly series: readonly { at: string; packets: number }[];
    readonly samples: readonly { source_ip: string; edge: string; at: string }[];
  };
  readonly meta: {
    readonly from: string;
    readonly to: string;
    readonly from_clamped: boolean;
    readonly packets: number;
    readonly edges: readonly string[];
  };
}
const bodyOf = (reply: TestReply): Body => {
  assert.equal(reply.status, 200);
  return reply.body as Body;
};

interface Counted {
  readonly minutesAgo: number;
  readonly packets: number;
  readonly edge?: number;
  readonly reason?: string;
  readonly target?: string;
  /** The holding of this prefix; by default the one that has the address. */
  readonly holding?: string;
}

/** Counts drops as written by fleet/drops.ts. */
async function count(db: Db, counted: Counted): Promise<void> {
  const { minutesAgo, packets, edge = 1, reason = 'denied', target = `${IP}/32` } = counted;
  const holding = counted.holding ?? '203.0.113.0/24';
  const stage = ['greeted', 'validated'].includes(reason) ? 'filters' : 'policy';
  await sql`
    insert into drop_counts
    select id, ${target}::cidr, date_trunc('minute', now()) - ${minutesAgo} * interval '1 minute', ${edge},
           ${stage}, ${reason}, 'xdp', ${packets}, ${packets * 60}
      from holdings where cidr = ${holding}::cidr`.execute(db);
}

async function sampled(db: Db, secondsAgo: number, source: string, edge = 1): Promise<void> {
  await sql`
    insert into drop_samples (holding_id, destination, at, edge_id, target, stage, reason, dropped_by,
                              source, protocol, source_port, destination_port, length, device)
    select id, ${IP}::inet, now() - ${secondsAgo} * interval '1 second', ${edge}, ${`${IP}/32`}::cidr,
           'policy', 'denied', 'xdp', ${source}::inet, 17, 53, 27015, 64, 'eth0'
      from holdings where cidr = '203.0.113.0/24'`.execute(db);
}

const EDGES = sql`
  insert into edges (name, site, devices, serves, sees, fragments, management, owner)
  select name, 'fra', '{eth0}', '{0.0.0.0/0,::/0}', 'both', 'reassemble', '[]', 'fleet'
    from unnest('{fra1,ams1}'::text[]) name`;

test('reports drops by reason, minute and edge, with the newest samples first', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGES.execute(db);
  assert.deepEqual(bodyOf(await acme.get(DROPS)).data, {
    ip: IP,
    observed: { packets: 0, bytes: 0 },
    filters: { greeted: 0, validated: 0 },
    totals: [],
    prefixes: [],
    series: [],
    samples: [],
  });
  await count(db, { minutesAgo: 3, packets: 5 });
  await count(db, { minutesAgo: 2, packets: 7, edge: 2 });
  await count(db, { minutesAgo: 2, packets: 1, reason: 'geo' });
  await count(db, { minutesAgo: 2, packets: 8, reason: 'greeted' });
  await count(db, { minutesAgo: 1, packets: 2, reason: 'validated' });
  await count(db, { minutesAgo: 2, packets: 1000, target: '203.0.113.11/32' });
  await count(db, { minutesAgo: 2, packets: 1000, target: '203.0.113.0/24' });
  await sampled(db, 100, '198.51.100.7');
  await sampled(db, 90, '192.0.2.9', 2);
  const { data, meta } = bodyOf(await acme.get(DROPS));
  assert.deepEqual(data.filters, { greeted: 8, validated: 2 });
  assert.deepEqual(data.totals, [
    { stage: 'policy', reason: 'denied', by: 'xdp', packets: 12, bytes: 720 },
    { stage: 'policy', reason: 'geo', by: 'xdp', packets: 1, bytes: 60 },
  ]);
  assert.deepEqual(
    data.prefixes.map(({ prefix, packets }) => [prefix, packets]),
    [['203.0.113.0/24', 1000]],
  );
  assert.deepEqual(
    data.series.map(({ packets }) => packets),
    [5, 8],
  );
  assert.deepEqual(
    data.samples.map(({ source_ip, edge }) => [source_ip, edge]),
    [
      ['192.0.2.9', 'ams1'],
      ['198.51.100.7', 'fra1'],
    ],
  );
  assert.deepEqual([meta.packets, meta.edges], [13, ['ams1', 'fra1']]);
  await count(db, { minutesAgo: 90, packets: 4 });
  await count(db, { minutesAgo: 2, packets: 9, reason: 'observed' });
  await acme.post(`/api/v1/firewall/ips/${IP}/rules`, { action: 'deny', protocol: 'udp' });
  const list = (await acme.get('/api/x1/firewall/ips')).body as {
    data: { addresses: { ip: string; dropped_packets: number }[] };
  };
  const listed = list.data.addresses.find(({ ip }) => ip === IP);
  assert.equal(listed?.dropped_packets, 13, 'of the last hour, by its own rules');
  const one = bodyOf(await acme.get(`${DROPS}?edge=ams1`));
  assert.deepEqual([one.meta.packets, one.data.samples.length, one.meta.edges], [7, 1, ['ams1']]);
  assert.equal(bodyOf(await acme.get(`${DROPS}?edge=nope`)).meta.packets, 0);
  const [first] = data.series;
  const until = encodeURIComponent(data.series[1]?.at ?? '');
  const early = bodyOf(
    await acme.get(`${DROPS}?from=${encodeURIComponent(first?.at ?? '')}&to=${until}`),
  );
  assert.deepEqual(
    [early.meta.packets, early.meta.from, early.meta.to],
    [5, first?.at, decodeURIComponent(until)],
  );
});

test('explain says what was dropped in the last hour, whatever its packet', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGES.execute(db);
  await count(db, { minutesAgo: 70, packets: 900 });
  await count(db, { minutesAgo: 5, packets: 3 });
  await count(db, { minutesAgo: 4, packets: 9, edge: 2, reason: 'no-greeting' });
  await count(db, { minutesAgo: 4, packets: 8, reason: 'greeted' });
  await count(db, { minutesAgo: 4, packets: 7, target: '203.0.113.11/32' });
  const packet = { protocol: 'udp', source_ip: '198.51.100.7', destination_port: 27_015 };
  const { status, body } = await acme.post(`/api/x1/firewall/ips/${IP}/explain`, packet);
  assert.equal(status, 200);
  const { dropped } = (body as { data: { dropped: Body['data']['totals'] } }).data;
  assert.deepEqual(
    dropped.map(({ reason, packets }) => [reason, packets]),
    [
      ['no-greeting', 9],
      ['denied', 3],
    ],
  );
});

test('reports observed packets separately from dropped ones', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGES.execute(db);
  await count(db, { minutesAgo: 3, packets: 5 });
  await count(db, { minutesAgo: 2, packets: 700, reason: 'observed' });
  await count(db, { minutesAgo: 2, packets: 900, reason: 'observed', target: '203.0.113.0/24' });
  const { data, meta } = bodyOf(await acme.get(DROPS));
  assert.deepEqual(data.observed, { packets: 700, bytes: 42_000 });
  assert.deepEqual([meta.packets, data.totals.length, data.prefixes], [5, 1, []]);
  assert.deepEqual(
    data.series.map(({ packets }) => packets),
    [5],
  );
});

test('shows drops only to the holder, and only those of its holding', async (t) => {
  const { acme, other, client, db } = await startEnvironment(t);
  await EDGES.execute(db);
  await count(db, { minutesAgo: 2, packets: 5 });
  // From the time of another holding of the address.
  await count(db, { minutesAgo: 2, packets: 900, holding: '198.51.100.10/32' });
  assert.equal(bodyOf(await acme.get(DROPS)).meta.packets, 5);
  assertRefused(await other.get(DROPS), 404, 'not_found');
  const bound = await client({ prefixes: ['203.0.113.0/29'] });
  assertRefused(await bound.get(DROPS), 404, 'not_found');
  // A key for the address but not the whole prefix sees no other addresses in it.
  await count(db, { minutesAgo: 2, packets: 77, target: '203.0.113.0/24' });
  await count(db, { minutesAgo: 2, packets: 6, target: '203.0.113.8/29' });
  const half = await client({ prefixes: ['203.0.113.8/29'] });
  assert.deepEqual(
    bodyOf(await half.get(DROPS)).data.prefixes.map(({ prefix }) => prefix),
    ['203.0.113.8/29'],
  );
  const reader = await client({ abilities: ['attacks.read'] });
  assertRefused(await reader.get(DROPS), 403, 'ability_missing');
  const flagless = await client();
  await sql`update organisations set flags = '{}'`.execute(db);
  assertRefused(await flagless.get(DROPS), 403, 'area_not_enabled');
});

test('refuses an invalid window, naming the parameter', async (t) => {
  const { acme } = await startEnvironment(t);
  const cases: [string, string][] = [
    ['from=yesterday', 'from'],
    ['from=2026-11-21T02:00:00', 'from'],
    ['to=2026-02-30T25:00:00Z', 'to'],
    ['from=2026-11-21T02:00:00Z&to=2026-11-21T01:59:59Z', 'to'],
    [`edge=${'x'.repeat(64)}`, 'edge'],
    ['until=now', 'until'],
  ];
  for (const [query, parameter] of cases) {
    const document = assertRefused(await acme.get(`${DROPS}?${query}`), 422, 'invalid_request');
    const [error] = document['errors'] as { parameter: string }[];
    assert.equal(error?.parameter, parameter, query);
  }
});

test('limits a window to the last day and to the holding, in whole minutes', () => {
  const now = new Date(Date.UTC(2026, 10, 21, 12, 0, 30));
  const long = new Date(0);
  const minute = (ago: number) => new Date(Date.UTC(2026, 10, 21, 12) - ago * MINUTE_MS);
  assert.deepEqual(dropWindow({}, long, now), {
    from: minute(DAY_MS / MINUTE_MS),
    to: minute(-1),
    fromClamped: false,
  });
  const held = new Date(now.getTime() - 90_000);
  assert.deepEqual(dropWindow({}, held, now), {
    from: minute(1),
    to: minute(-1),
    fromClamped: true,
  });
  const old = dropWindow({ from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }, long, now);
  assert.deepEqual(
    [old.fromClamped, old.from >= minute(1441), old.to >= old.from],
    [true, true, true],
  );
  const future = dropWindow(
    { to: '2100-01-01T00:00:00Z', from: '2026-11-21T11:00:10Z' },
    long,
    now,
  );
  assert.deepEqual(future, { from: minute(60), to: minute(-1), fromClamped: false });
  // A second with a valid form that does not exist in the calendar.
  assert.throws(() => dropWindow({ to: '2026-11-21T23:59:60Z' }, long, now), Problem);
});
