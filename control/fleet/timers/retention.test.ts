import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { ensurePartitions } from '../../attacks/detection/record/partitions.ts';
import { testDatabase } from '../../db/testing.ts';
import { sweepOldRows } from './retention.ts';
import {
  acceptRule,
  assignGeo,
  deleteRule,
  insertBaseline,
  insertHolding,
  insertOrganisation,
} from '../testing.ts';

async function countOf(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(
    db,
  );
  return rows[0]?.n ?? Number.NaN;
}

async function sweep(db: Db): Promise<Record<string, number>> {
  const swept: Record<string, number> = {};
  await sweepOldRows(db, {}, (what, rows) => {
    swept[what] = rows;
  });
  return swept;
}

test('keeps deleted objects for 400 days, and live ones without limit', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  const old = await acceptRule(db, holding, '203.0.113.1', { port: 1 });
  const recent = await acceptRule(db, holding, '203.0.113.1', { port: 2 });
  await acceptRule(db, holding, '203.0.113.1', { port: 3 });
  await assignGeo(db, org, holding, ['203.0.113.0/24'], 'DE');
  await insertBaseline(db, '203.0.113.0/24', 19);
  for (const id of [old.id, recent.id]) await deleteRule(db, id);
  const age = (days: number, id: number) =>
    sql`update rules set deleted_at = now() - ${days} * interval '1 day' where id = ${id}`.execute(
      db,
    );
  await age(401, old.id);
  await age(399, recent.id);
  for (const table of ['geo_rules', 'geo_assignments', 'baseline_rules']) {
    await sql`
      update ${sql.table(table)} set deleted_generation = 9, deleted_at = now() - interval '401 days'`.execute(
      db,
    );
  }
  assert.equal((await sweep(db))['deleted objects'], 4);
  assert.equal(await countOf(db, 'rules'), 2);
  assert.equal(await countOf(db, 'geo_rules'), 0);
  assert.equal(await countOf(db, 'addresses'), 1);
  assert.equal((await sweep(db))['deleted objects'], 0);
});

test('deletes answers of idempotency keys after 24 hours', async (t) => {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const { rows } = await sql<{ id: number }>`
    insert into api_keys (organisation_id, name, secret_hash, hint, abilities, owner)
    values (${org}, 'ci', sha256('x'), 'x', '{}', 'portal') returning id`.execute(db);
  await sql`
    insert into idempotency_keys (api_key_id, method, path, idempotency_key, body_hash,
                                  status, headers, body, created_at)
    select ${rows[0]?.id}, 'POST', '/x', hours::text, '', 201, '{}', '', now() - hours * interval '1 hour'
      from unnest(array[1, 23, 25, 100]) hours`.execute(db);
  assert.equal((await sweep(db))['idempotency keys'], 2);
  assert.equal(await countOf(db, 'idempotency_keys'), 2);
});

test('limits the generations kept for an edge that is far behind', async (t) => {
  const { db } = await testDatabase(t);
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner, in_service)
    values ('slow', 's', '{}', '{0.0.0.0/0}', 'both', 'reassemble', '[]', 'portal', true)`.execute(
    db,
  );
  await sql`insert into generations select 1000 * n, now(), 'x' from generate_series(1, 120) n`.execute(
    db,
  );
  await sql`update fleet set generation = 120000`.execute(db);
  assert.equal((await sweep(db))['generations'], 19, 'all before 20,000');
  await sql`update edges set in_service = false`.execute(db);
  assert.equal((await sweep(db))['generations'], 90, 'all before 110,000');
  assert.equal(await countOf(db, 'generations'), 11);
});

test('keeps the audit trail for 400 days, deleted in batches', async (t) => {
  const { db } = await testDatabase(t);
  await sql`
    insert into audit (at, actor_kind, actor, action, target)
    select now() - days * interval '1 day', 'system', 'test', 'x', 'y'
      from generate_series(1, 3) n, unnest(array[399, 401]) days, generate_series(1, 2000)`.execute(
    db,
  );
  assert.equal((await sweep(db))['audit trail'], 6_000);
  assert.equal(await countOf(db, 'audit'), 6_000);
});

test('keeps the evidence of attacks for 30 days, whatever their records are kept, deleted in batches', async (t) => {
  const { db } = await testDatabase(t);
  for (const days of [29, 31]) {
    await ensurePartitions(db, new Date(Date.now() - days * 86_400_000), 0);
    await sql`
      insert into attack_evidence
      select n, now() - ${days} * interval '1 day', '{}' from generate_series(1, 6000) n`.execute(
      db,
    );
  }
  assert.equal((await sweep(db))['evidence'], 6_000);
  const { rows } = await sql<{ recent: boolean }>`
    select bool_and(opened_at > now() - interval '30 days') as recent from attack_evidence`.execute(
    db,
  );
  assert.deepEqual([rows, await countOf(db, 'attack_evidence')], [[{ recent: true }], 6_000]);
});

test('deletes changes for detection after an hour, which every control plane has read', async (t) => {
  const { db } = await testDatabase(t);
  await sql`
    insert into detection_changes (at, cidr)
    select now() - minutes * interval '1 minute', '203.0.113.0/24' from unnest(array[1, 59, 61]) minutes`.execute(
    db,
  );
  assert.equal((await sweep(db))['scope changes'], 1);
});

test('keeps samples of game servers for a day', async (t) => {
  const { db } = await testDatabase(t);
  await sql`
    insert into organisations (slug, name, owner) values ('acme', 'Acme', 'fleet');
    insert into services (id, organisation_id, name, owner) values (1, 1, 's', 'fleet');
    insert into nodes (name, owner) values ('node-1', 'fleet');
    insert into eggs values (repeat('a', 64), '{}');
    insert into game_servers (uuid, organisation_id, service_id, node_id, name, egg_digest, egg_name,
      memory_mib, cpu_percent, disk_mib, ip, port, owner)
    values (gen_random_uuid(), 1, 1, 1, 's', repeat('a', 64), 'e', 1, 1, 1, '192.0.2.1', 1, 'fleet');
    insert into server_samples
    select uuid, now() - hours * interval '1 hour', 1, 1, 1, 1, 1
      from game_servers, unnest('{1, 23, 25, 40}'::integer[]) as hours`.execute(db);
  assert.equal((await sweep(db))['server samples'], 2);
  assert.equal(await countOf(db, 'server_samples'), 2);
});
