import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { endAttack, putAttack } from '../detection/testing.ts';
import { ATTACKS, idsOf, list, moment, pageOf, path } from './testing.ts';

const IP = '203.0.113.10';
const HOUR = 3_600;
const DAY = 86_400;

test('shows each attack once across pages while others start, end, continue and arrive late', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const now = new Date();
  const ids: number[] = [];
  for (let index = 0; index < 23; index += 1) {
    // Two attacks per start time: the id decides the order.
    const startedAgo = 100 + Math.floor(index / 2) * 60;
    const subject = `203.0.113.${index + 1}/32`;
    ids.push(await putAttack(db, { subject, startedAgo, now, endedAgo: index % 3 ? null : 60 }));
  }
  const expected = (await list(acme, '?per_page=100')).data;
  assert.equal(expected.length, 23);
  const sorted = expected.toSorted(
    (a, b) => b.started_at.localeCompare(a.started_at) || b.id - a.id,
  );
  assert.deepEqual(expected, sorted);
  for (const query of [
    'per_page=4',
    'per_page=4&ongoing=true',
    `per_page=4&prefix=203.0.113.0/24`,
  ]) {
    const wanted = await idsOf(acme, `?${query.replace('per_page=4', 'per_page=100')}`);
    const seen: number[] = [];
    let page = await list(acme, `?${query}`);
    const { from, to } = page.meta;
    for (let turn = 0; ; turn += 1) {
      seen.push(...page.data.map(({ id }) => id));
      assert.deepEqual(
        [page.meta.total, page.meta.from, page.meta.to, page.meta.current_page],
        [wanted.length, from, to, turn + 1],
      );
      assert.equal(page.links.prev === null, turn === 0);
      if (page.links.next === null) break;
      // All changes that can occur between two pages.
      const fresh = await putAttack(db, { subject: '203.0.113.99/32', startedAgo: 0 });
      await putAttack(db, { subject: '203.0.113.98/32', startedAgo: 300 + turn, endedAgo: 10 });
      await endAttack(db, ids[turn + 1] ?? fresh, new Date());
      await endAttack(db, ids[turn * 3] ?? fresh, null);
      page = pageOf(await acme.get(path(page.links.next)));
    }
    assert.deepEqual(seen, wanted, query);
    assert.deepEqual(
      pageOf(await acme.get(path(page.links.first))).data.map(({ id }) => id),
      wanted.slice(0, 4),
    );
    assert.deepEqual(
      pageOf(await acme.get(path(page.links.last))).data.map(({ id }) => id),
      page.data.map(({ id }) => id),
    );
    if (page.links.prev !== null) {
      const before = pageOf(await acme.get(path(page.links.prev)));
      assert.deepEqual(before.data.at(-1)?.id, wanted[(page.meta.current_page - 1) * 4 - 1]);
    }
  }
});

test('keeps every parameter in links, and uses the public URL for any request', async (t) => {
  const { acme, db, url } = await startEnvironment(t);
  for (const last of [1, 2, 3]) {
    await putAttack(db, { subject: `203.0.113.${last}/32`, startedAgo: 60 });
  }
  const query = `?prefix=203.0.113.0%2F24&asn=64500&ongoing=false&per_page=1&from=${moment(HOUR)}`;
  const reply = await acme.get(`${ATTACKS}${query}`, { host: 'evil.example' });
  const { links, meta } = pageOf(reply);
  assert.equal(links.prev, null);
  const next = new URL(links.next ?? '');
  assert.equal(next.origin, 'https://portcullis.example');
  assert.notEqual(next.origin, url);
  const { snapshot, ...params } = Object.fromEntries(next.searchParams);
  assert.match(snapshot ?? '', /^\d+\.[\w-]{22}$/);
  assert.deepEqual(params, {
    prefix: '203.0.113.0/24',
    asn: '64500',
    ongoing: 'false',
    per_page: '1',
    from: meta.from,
    to: meta.to,
    page: '2',
  });
  const beyond = pageOf(await acme.get(path(links.next).replace('page=2', 'page=9')));
  assert.deepEqual([beyond.data, beyond.links.next], [[], null]);
  assert.equal(new URL(beyond.links.prev ?? '').searchParams.get('page'), '3');
});

test('clamps all pages to the time at which the first page was clamped', async (t) => {
  const { acme, db } = await startEnvironment(t);
  for (const day of [1, 50, 89]) {
    await putAttack(db, { subject: `${IP}/32`, startedAgo: day * DAY, endedAgo: day * DAY - 60 });
  }
  const first = await list(acme, '?from=2020-01-01T00:00:00Z&per_page=2');
  assert.deepEqual([first.meta.total, first.meta.from_clamped], [3, true]);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const second = pageOf(await acme.get(path(first.links.next)));
  assert.deepEqual(second.meta, { ...first.meta, current_page: 2 });
  assert.equal(second.data.length, 1);
});

test('accepts a snapshot only if control issued it for this caller and window', async (t) => {
  const { acme, other, db } = await startEnvironment(t);
  const now = new Date();
  // An hour beyond the retention time.
  const startedAgo = 90 * DAY + HOUR;
  await putAttack(db, { subject: `${IP}/32`, startedAgo, endedAgo: startedAgo - 60, now });
  const before = `from=${moment(startedAgo + HOUR)}&to=${moment(0)}`;
  const first = await list(acme, `?${before}`);
  assert.deepEqual([first.data, first.meta.from_clamped], [[], true]);
  const link = new URL(path(first.links.first), 'https://portcullis.example');
  const own = link.searchParams.get('snapshot') ?? '';
  const refused = async (query: string, client = acme): Promise<void> => {
    const body = assertRefused(await client.get(`${ATTACKS}?${query}`), 422, 'invalid_request');
    const [error] = body['errors'] as { parameter: string }[];
    assert.equal(error?.parameter, 'snapshot', query);
  };
  const window = `from=${moment(HOUR)}&to=${moment(0)}`;
  for (const made of ['0', '0c', '1', '1c', `1.${'A'.repeat(22)}`, own, own.replace(/^\d+/, '0')]) {
    await refused(`${before}&snapshot=${made}`);
    await refused(`${window}&snapshot=${made}`);
    await refused(`snapshot=${made}`);
  }
  await refused(link.searchParams.toString(), other);
  const unmarked = new URLSearchParams(link.searchParams);
  unmarked.set('snapshot', own.replace('c.', '.'));
  await refused(unmarked.toString());
  assert.equal((await list(acme, link.search)).meta.from_clamped, true);
});

test('answers 304 for an unchanged list', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await putAttack(db, { subject: `${IP}/32`, startedAgo: 60, endedAgo: 5 });
  const query = `?from=${moment(HOUR)}&to=${moment(0)}`;
  const first = await acme.get(`${ATTACKS}${query}`);
  const etag = first.headers.get('etag') ?? '';
  assert.equal((await acme.get(`${ATTACKS}${query}`, { 'if-none-match': etag })).status, 304);
  await putAttack(db, { subject: `${IP}/32`, startedAgo: 30, endedAgo: 5 });
  assert.equal((await acme.get(`${ATTACKS}${query}`, { 'if-none-match': etag })).status, 200);
});
