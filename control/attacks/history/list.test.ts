import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused } from '../../testing/client.ts';
import { ACME, OTHER, startEnvironment } from '../../testing/fixture.ts';
import { endAttack, putAttack } from '../detection/testing.ts';
import { ATTACKS, idsOf, list, moment, pageOf, path } from './testing.ts';

const IP = '203.0.113.10';
const HOUR = 3_600;
const DAY = 86_400;

test('shows an attack in the specified form, with a growing duration while it is ongoing', async (t) => {
  const { acme, db } = await startEnvironment(t);
  assert.deepEqual((await list(acme)).data, []);
  const id = await putAttack(db, { subject: `${IP}/32`, startedAgo: 90 });
  const [attack] = (await list(acme)).data;
  const { started_at: startedAt, duration_seconds: seconds, ...rest } = attack ?? assert.fail();
  assert.match(startedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
  assert.ok(seconds >= 90 && seconds < 120, String(seconds));
  assert.deepEqual(rest, {
    id,
    destination_ip: IP,
    prefix: '203.0.113.0/24',
    attack_type: 'udp_flood',
    peak_bps: 1_250_000_000,
    peak_bps_formatted: '1.25 Gbps',
    peak_pps: 812_400,
    peak_pps_formatted: '812.40 Kpps',
    mitigated_at: null,
    ended_at: null,
    status: 'ongoing',
  });
  await endAttack(db, id, new Date(Date.parse(startedAt) + 30_500));
  const [ended] = (await list(acme)).data;
  assert.deepEqual([ended?.id, ended?.status, ended?.duration_seconds], [id, 'ended', 30]);
  const six = await putAttack(db, { subject: '2001:db8::ffff:c000:201/128', startedAgo: 5 });
  const [newest] = (await list(acme)).data;
  assert.deepEqual([newest?.id, newest?.destination_ip], [six, '2001:db8::ffff:c000:201']);
});

test('shows an attack only to the holder of the address at its start, if that holding still exists', async (t) => {
  const { acme, other, client, db } = await startEnvironment(t);
  const mine = await putAttack(db, { subject: `${IP}/32`, startedAgo: 60 });
  const theirs = await putAttack(db, { subject: '203.0.113.200/32', startedAgo: 50 });
  const served = await putAttack(db, { subject: '198.51.100.10/32', startedAgo: 40 });
  await putAttack(db, { subject: '8.8.8.8/32', startedAgo: 30 });
  assert.deepEqual(await idsOf(acme), [served, mine]);
  assert.deepEqual(await idsOf(other), [theirs]);
  // An inactive service shows nothing; reactivated, it shows the same as before.
  await sql`update services set active = false where id = 501`.execute(db);
  assert.deepEqual(await idsOf(acme), [mine]);
  await sql`update services set active = true where id = 501`.execute(db);
  // The address moves from the prefix to another organisation: neither sees earlier attacks.
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    values (${OTHER}, ${IP}, tstzrange(now(), null), 64501, 'fleet')`.execute(db);
  assert.deepEqual(await idsOf(acme), [served]);
  assert.deepEqual(await idsOf(other), [theirs]);
  const later = await putAttack(db, { subject: `${IP}/32`, startedAgo: -1 });
  assert.deepEqual(await idsOf(other, `?to=${moment(-60)}`), [later, theirs]);
  // The address returns: earlier attacks do not belong to the new holding.
  await sql`delete from holdings where cidr = ${IP}`.execute(db);
  assert.deepEqual(await idsOf(acme), [served, mine]);
  // The whole holding ends, and a new one of the same prefix starts.
  await sql`
    update holdings set during = tstzrange(lower(during), now()) where cidr = '203.0.113.0/24'`.execute(
    db,
  );
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    values (${ACME}, '203.0.113.0/24', tstzrange(now(), null), 64500, 'fleet')`.execute(db);
  assert.deepEqual(await idsOf(acme), [served]);
  // A holding with a corrected start shows nothing from before it.
  await sql`
    update holdings set during = tstzrange(now(), null) where cidr = '198.51.100.10/32'`.execute(
    db,
  );
  assert.deepEqual(await idsOf(await client()), []);
});

test('a prefix inside another keeps its own attacks, and takes over attacks on the outer prefix within it', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const outside = await putAttack(db, { subject: '203.0.113.20/32', startedAgo: 90 });
  const before = await putAttack(db, { subject: '203.0.113.33/32', startedAgo: 80 });
  const whole = await putAttack(db, { subject: '203.0.113.0/24', startedAgo: 70 });
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    values (${ACME}, '203.0.113.32/27', tstzrange(now() - interval '60 s', null), 64500, 'fleet')`.execute(
    db,
  );
  const inside = await putAttack(db, { subject: '203.0.113.34/32', startedAgo: 30 });
  const shown = await idsOf(acme);
  assert.deepEqual(shown, [inside, whole, outside]);
  assert.ok(!shown.includes(before));
});

test('shows a bound key only attacks within its prefixes', async (t) => {
  const { client, db } = await startEnvironment(t);
  const low = await putAttack(db, { subject: '203.0.113.3/32', startedAgo: 60 });
  await putAttack(db, { subject: '203.0.113.90/32', startedAgo: 50 });
  await putAttack(db, { subject: '203.0.113.0/24', startedAgo: 40 });
  const bound = await client({ prefixes: ['203.0.113.0/28'] });
  assert.deepEqual(await idsOf(bound), [low]);
  assert.deepEqual(await idsOf(bound, '?prefix=203.0.113.0/24'), [low]);
  assert.deepEqual(await idsOf(bound, '?ip=203.0.113.90'), []);
  assert.deepEqual(await idsOf(await client({ prefixes: ['192.0.2.0/24'] })), []);
});

test('combines the filters ip, prefix, asn and ongoing; targets that are not held give an empty page', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const four = await putAttack(db, { subject: `${IP}/32`, startedAgo: 60 });
  const ended = await putAttack(db, { subject: '203.0.113.9/32', startedAgo: 50, endedAgo: 10 });
  const six = await putAttack(db, { subject: '2001:db8::7/128', startedAgo: 40 });
  const spread = await putAttack(db, { subject: '203.0.113.0/24', startedAgo: 30 });
  const served = await putAttack(db, { subject: '198.51.100.10/32', startedAgo: 20 });
  const cases: [string, number[]][] = [
    [`?ip=${IP}`, [four]],
    ['?ip=2001:DB8:0:0::7', [six]],
    ['?ip=203.0.113.0', [spread]],
    ['?ip=8.8.8.8', []],
    ['?prefix=203.0.113.8/30', [ended, four]],
    ['?prefix=203.0.113.0/24', [spread, ended, four]],
    ['?prefix=0.0.0.0/0', [served, spread, ended, four]],
    ['?prefix=2001:db8::/32', [six]],
    ['?prefix=192.0.2.0/24', []],
    ['?asn=64500', [spread, six, ended, four]],
    ['?asn=64501', []],
    ['?asn=4294967295', []],
    ['?ongoing=true', [served, spread, six, four]],
    ['?ongoing=1&prefix=203.0.113.8/30', [four]],
    ['?ongoing=false', [served, spread, six, ended, four]],
    [`?ip=${IP}&prefix=203.0.113.0/30`, []],
    [`?ip=${IP}&prefix=203.0.113.0/24&asn=64500&ongoing=0`, [four]],
  ];
  for (const [query, expected] of cases) {
    assert.deepEqual(await idsOf(acme, query), expected, query);
  }
});

test('includes attacks that overlap the window, and accepts both offset forms and an unescaped +', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const now = new Date(Math.floor(Date.now() / 1000) * 1000);
  const at = (secondsAgo: number) => new Date(now.getTime() - secondsAgo * 1000).toISOString();
  const long = await putAttack(db, { subject: '203.0.113.1/32', startedAgo: 30 * HOUR, now });
  const over = await putAttack(db, {
    subject: '203.0.113.2/32',
    startedAgo: 26 * HOUR,
    endedAgo: 25 * HOUR,
    now,
  });
  const recent = await putAttack(db, {
    subject: '203.0.113.3/32',
    startedAgo: 2 * HOUR,
    endedAgo: HOUR,
    now,
  });
  assert.deepEqual(await idsOf(acme), [recent, long]);
  assert.deepEqual(await idsOf(acme, `?from=${at(48 * HOUR)}`), [recent, over, long]);
  // Only `to`: the day before it.
  assert.deepEqual(await idsOf(acme, `?to=${at(24 * HOUR)}`), [over, long]);
  assert.deepEqual(await idsOf(acme, `?to=${at(27 * HOUR)}`), [long]);
  // The bounds are inclusive.
  assert.deepEqual(await idsOf(acme, `?from=${at(HOUR)}&to=${at(HOUR)}`), [recent, long]);
  assert.deepEqual(await idsOf(acme, `?from=${at(HOUR - 1)}`), [long]);
  assert.deepEqual(await idsOf(acme, `?from=${at(25 * HOUR)}&to=${at(2 * HOUR + 1)}`), [
    over,
    long,
  ]);
  const offset = at(HOUR).replace('.000Z', '+00:00');
  for (const from of [offset, encodeURIComponent(offset), offset.replace('+', '%20')]) {
    const page = await list(acme, `?from=${from}&ongoing=false`);
    assert.deepEqual([page.meta.from, page.meta.from_clamped], [offset, false]);
    assert.deepEqual(
      page.data.map(({ id }) => id),
      [recent, long],
    );
  }
  const elsewhere = await list(
    acme,
    '?from=2026-11-21T03:30:00.250%2B05:30&to=9999-12-31T23:59:59Z',
  );
  assert.equal(elsewhere.meta.from, '2026-11-20T22:00:00.250+00:00');
});

test('raises the start of a window to the earliest entitled date and reports that', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const far = await list(acme, '?from=2020-01-01T00:00:00Z');
  assert.equal(far.meta.from_clamped, true);
  const kept = Date.now() - 90 * DAY * 1000;
  assert.ok(Math.abs(Date.parse(far.meta.from) - kept) < 5_000, far.meta.from);
  // Held for less than the retention time: from the start of the holding.
  await sql`
    update holdings set during = tstzrange(date_trunc('second', now()) - interval '2 days', null)
     where organisation_id = ${ACME}`.execute(db);
  const short = await list(acme, '?from=2020-01-01T00:00:00Z');
  assert.ok(Math.abs(Date.parse(short.meta.from) - (Date.now() - 2 * DAY * 1000)) < 5_000);
  assert.equal((await list(acme)).meta.from_clamped, false);
  // An attack ongoing at the entitlement start is in a window that reaches it, and in none that ends earlier.
  await sql`update holdings set during = tstzrange(now() - interval '200 days', null) where organisation_id = ${ACME}`.execute(
    db,
  );
  await putAttack(db, { subject: `${IP}/32`, startedAgo: 100 * DAY });
  assert.equal((await list(acme, `?from=2020-01-01T00:00:00Z&to=${moment(DAY)}`)).data.length, 1);
  // Entirely earlier: empty, with valid links.
  const past = await list(acme, '?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z');
  assert.deepEqual([past.data, past.meta.total, past.meta.from_clamped], [[], 0, true]);
  assert.deepEqual([past.links.prev, past.links.next], [null, null]);
  const again = pageOf(await acme.get(path(past.links.first)));
  assert.deepEqual([again.data, again.meta], [[], past.meta]);
  await sql`update organisations set attack_history_days = 1 where id = ${ACME}`.execute(db);
});

test('returns nothing for a window in the future, despite ongoing attacks', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const id = await putAttack(db, { subject: `${IP}/32`, startedAgo: 60 });
  for (const ongoing of ['', '&ongoing=true']) {
    const to = encodeURIComponent('9999-12-31T23:59:59+00:00');
    const ahead = await list(acme, `?from=${moment(-HOUR)}&to=${to}${ongoing}`);
    assert.deepEqual([ahead.data, ahead.meta.total, ahead.links.next], [[], 0, null]);
    assert.equal(ahead.meta.to, '9999-12-31T23:59:59+00:00');
    assert.deepEqual(await idsOf(acme, `?to=${to}&from=${moment(1)}${ongoing}`), [id]);
  }
});

test('answers 422 naming the invalid parameter', async (t) => {
  const { acme } = await startEnvironment(t);
  const cases: [string, string][] = [
    ['ip=nonsense', 'ip'],
    ['ip=203.0.113.010', 'ip'],
    ['ip=203.0.113.0/24', 'ip'],
    ['ip=::ffff:203.0.113.10', 'ip'],
    ['ip=fe80::1%25eth0', 'ip'],
    ['ip=', 'ip'],
    ['prefix=203.0.113.0', 'prefix'],
    ['prefix=203.0.113.1/24', 'prefix'],
    ['prefix=203.0.113.0/33', 'prefix'],
    ['prefix=203.0.113.0/024', 'prefix'],
    ['prefix=nonsense', 'prefix'],
    ['prefix=%00/24', 'prefix'],
    [`prefix=${'0'.repeat(44)}`, 'prefix'],
    ['asn=0', 'asn'],
    ['asn=4294967296', 'asn'],
    ['asn=AS64500', 'asn'],
    ['from=yesterday', 'from'],
    ['from=2026-11-21T02:00:00', 'from'],
    ['from=2026-11-21', 'from'],
    ['to=2026-11-21T23:59:60Z', 'to'],
    // A year that no date-time in a response can represent.
    ['to=9999-12-31T23:59:59-23:59', 'to'],
    ['from=9999-12-31T23:59:59-23:59', 'from'],
    ['from=0000-01-01T00:00:00%2B23:59', 'from'],
    ['from=2026-11-21T02:00:00Z&to=2026-11-21T01:59:59Z', 'to'],
    ['ongoing=yes', 'ongoing'],
    ['ongoing=', 'ongoing'],
    ['per_page=0', 'per_page'],
    ['per_page=101', 'per_page'],
    ['per_page=2.5', 'per_page'],
    ['page=0', 'page'],
    ['page=-1', 'page'],
    ['page=1e3', 'page'],
    ['page=99999999999999999', 'page'],
    ['snapshot=', 'snapshot'],
    ['snapshot=abc', 'snapshot'],
    ['snapshot=999999', 'snapshot'],
    ['page=1&page=2', 'page'],
    ['sort=asc', 'sort'],
  ];
  for (const [query, parameter] of cases) {
    const refused = assertRefused(await acme.get(`${ATTACKS}?${query}`), 422, 'invalid_request');
    const [error] = refused['errors'] as { parameter: string }[];
    assert.equal(error?.parameter, parameter, query);
  }
  const far = await list(acme, '?page=9007199254740991&per_page=100');
  assert.deepEqual([far.data, far.meta.current_page], [[], Number.MAX_SAFE_INTEGER]);
});

test('checks key, flag and ability before anything else', async (t) => {
  const { client, anonymous, db } = await startEnvironment(t);
  const poor = await client({ abilities: ['firewall.read'] });
  assertRefused(await poor.get(`${ATTACKS}?per_page=0`), 403, 'ability_missing');
  assertRefused(await anonymous().get(ATTACKS), 401, 'unauthenticated');
  const flagless = await client();
  await sql`update organisations set flags = '{firewall_api}'`.execute(db);
  assertRefused(await flagless.get(`${ATTACKS}?per_page=0`), 403, 'area_not_enabled');
});
