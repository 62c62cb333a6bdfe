import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEnvironment } from '../../http/testing/fixture.ts';
import { endAttack, putAttack } from '../testing.ts';
import { listMeaning } from './meaning.ts';
import { ATTACKS } from './testing.ts';

const page = (to: string, data: readonly object[] = []) => ({
  data,
  meta: { total: data.length, to, from_clamped: false },
});

test('the tag of a list depends on what it shows, not on the clock', () => {
  const first = listMeaning({}, page('2026-11-21T02:00:01+00:00'));
  assert.equal(listMeaning({}, page('2026-11-21T02:59:59+00:00')), first);
  assert.notEqual(listMeaning({}, page('2026-11-21T02:00:01+00:00', [{ id: 1 }])), first);
  assert.notEqual(listMeaning({ page: 2 }, page('2026-11-21T02:00:01+00:00')), first);
  assert.notEqual(listMeaning({}, page('2026-11-21T03:00:00+00:00')), first, 'in another hour');
});

test('a list without a window answers 304 while nothing changed, and 200 once an attack did', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await putAttack(db, { subject: '203.0.113.1/32', startedAgo: 900, endedAgo: 600 });
  const read = async (etag?: string) => {
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-none-match': etag };
    const reply = await acme.get(ATTACKS, headers);
    return { status: reply.status, etag: reply.headers.get('etag') ?? '', text: reply.text };
  };
  const first = await read();
  assert.match(first.etag, /^W\/"[^"]+"$/);
  // The window ends at another second.
  const until = Math.ceil(Date.now() / 1000) * 1000 + 1_000;
  while (Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
  const moved = await read();
  assert.notEqual(moved.text, first.text);
  // The hour may change in between.
  if (moved.etag === first.etag) {
    const same = await read(first.etag);
    assert.ok(same.status === 304 || same.etag !== first.etag);
    assert.deepEqual(same.status === 304 ? same.text : '', '');
  }
  const id = await putAttack(db, { subject: '203.0.113.2/32', startedAgo: 30 });
  const ongoing = await read(moved.etag);
  assert.equal(ongoing.status, 200);
  await endAttack(db, id, new Date());
  assert.equal((await read(ongoing.etag)).status, 200);
});
