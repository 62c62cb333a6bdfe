import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { ensurePartitions } from './record/partitions.ts';
import { sweepAttacks } from './retention.ts';
import { endAttack, putAttack } from './testing.ts';

const DAY = 86_400;

async function partitionsOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'attacks'::regclass order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

async function idsOf(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct id from attacks order by id`.execute(db);
  return rows.map(({ id }) => id);
}

test('creates partitions before their month, once for all processes', async (t) => {
  const { db } = await startEnvironment(t);
  const now = new Date('2026-11-30T23:59:59Z');
  await Promise.all(Array.from({ length: 6 }, () => sweepAttacks(db, now)));
  assert.deepEqual(await partitionsOf(db), [
    'attacks_2026_11',
    'attacks_2026_12',
    'attacks_2027_01',
  ]);
  // For any database clock, each boundary belongs to one partition.
  await ensurePartitions(db, new Date('2027-02-01T00:00:00Z'), 0);
  assert.equal((await partitionsOf(db)).length, 4);
  await sql`
    insert into attacks (id, revision, subject, prefix, attack_type, peak_pps, peak_bps, started_at)
    select 1, 1, '10.0.0.1', '10.0.0.1', 'udp_flood', 1, 1, at
      from unnest('{2026-11-01 00:00:00+00,2026-11-30 23:59:59.999999+00,2026-12-01 00:00:00+00}'::timestamptz[]) at`.execute(
    db,
  );
  const { rows } = await sql<{ name: string }>`
    select tableoid::regclass::text as name from attacks order by started_at`.execute(db);
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['attacks_2026_11', 'attacks_2026_11', 'attacks_2026_12'],
  );
});

test('keeps history for the longest retention of any organisation, then drops whole partitions', async (t) => {
  const { db } = await startEnvironment(t);
  const old = await putAttack(db, {
    subject: '203.0.113.1',
    startedAgo: 200 * DAY,
    endedAgo: 199 * DAY,
  });
  const recent = await putAttack(db, { subject: '203.0.113.2', startedAgo: DAY, endedAgo: 60 });
  await sql`update organisations set attack_history_days = 365 where slug = 'other'`.execute(db);
  await sweepAttacks(db);
  assert.deepEqual(await idsOf(db), [old, recent]);
  await sql`update organisations set attack_history_days = 90`.execute(db);
  // An ongoing attack keeps its partition.
  await sql`
    insert into ongoing_attacks values ('203.0.113.1', ${old}, 1, now(), now(), null, now(), '{}')`.execute(
    db,
  );
  await sweepAttacks(db);
  assert.deepEqual(await idsOf(db), [old, recent]);
  await sql`delete from ongoing_attacks`.execute(db);
  await sweepAttacks(db);
  assert.deepEqual(await idsOf(db), [recent]);
});

test('keeps an attack by its end with its evidence, and nothing else of its month', async (t) => {
  const { db, acme } = await startEnvironment(t);
  await sql`update organisations set attack_history_days = 90`.execute(db);
  const put = async (last: number, endedAgo: number): Promise<number> => {
    const startedAgo = 200 * DAY;
    const id = await putAttack(db, { subject: `203.0.113.${last}`, startedAgo, endedAgo });
    const at = new Date(Date.now() - startedAgo * 1000);
    await ensurePartitions(db, at, 0);
    await sql`
      insert into attack_evidence values (${id}, ${at}, '{}')`.execute(db);
    return id;
  };
  await put(1, 199 * DAY);
  const long = await put(2, 80 * DAY);
  await put(3, 91 * DAY);
  await sweepAttacks(db);
  assert.deepEqual(await idsOf(db), [long]);
  const evidence = async () => {
    const { rows } = await sql<{ id: number }>`
      select attack_id as id from attack_evidence`.execute(db);
    return rows.map(({ id }) => id);
  };
  assert.deepEqual(await evidence(), [long]);
  const from = new Date(Date.now() - 85 * DAY * 1000).toISOString();
  const { body } = await acme.get(`/api/v1/attacks?from=${encodeURIComponent(from)}`);
  assert.deepEqual(
    (body as { data: { id: number }[] }).data.map(({ id }) => id),
    [long],
  );
  const month = `attacks_${new Date(Date.now() - 200 * DAY * 1000).toISOString().slice(0, 7).replace('-', '_')}`;
  assert.ok((await partitionsOf(db)).includes(month));
  await sweepAttacks(db, new Date(Date.now() + 11 * DAY * 1000));
  assert.deepEqual([await idsOf(db), await evidence()], [[], []]);
  assert.ok(!(await partitionsOf(db)).includes(month));
});

test('deletes old versions after a day, and their links show the current list', async (t) => {
  const { db, acme } = await startEnvironment(t);
  for (const last of [1, 2, 3]) {
    await putAttack(db, { subject: `203.0.113.${last}`, startedAgo: 60 * last });
  }
  const first = (await acme.get('/api/v1/attacks?per_page=1&ongoing=true')).body as {
    links: { next: string };
  };
  await endAttack(db, 3, new Date());
  const next = async () => {
    const reply = await acme.get(first.links.next.slice('https://portcullis.example'.length));
    return reply.body as { data: { id: number }[]; meta: { total: number } };
  };
  await sweepAttacks(db);
  assert.equal((await next()).meta.total, 3);
  await sql`update attacks set superseded_at = superseded_at - interval '25 hours'`.execute(db);
  assert.equal(await sweepAttacks(db), 1);
  const later = await next();
  assert.deepEqual([later.meta.total, later.data.map(({ id }) => id)], [2, [2]]);
});
