import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from './database.ts';
import { loadMigrations, migrate, migrateDatabase, refuse, refuseServer } from './migrate.ts';
import { testDatabase } from './testing.ts';

const one = { name: '0001-initial.sql', text: '', hash: 'a' };
/** The migrations that installations have, each with its SHA-256. New ones come behind them, whatever their numbers. */
const APPLIED = [
  ['0001-initial.sql', '249348f59328fbeb61c525b561e0499ce78831487be3a49add445d0e06029043'],
  ['0002-people.sql', '95b793634d464ff5de893e8c81acde7b2e55b9788d7cc6564857e35abef5a979'],
  ['0003-wire.sql', '178d30a415cb33fbddd113601a179b3a6fb2cc91019e312baa4d471263fc20ca'],
  ['0006-postgres-15.sql', '5dbd8cbc9003158b9760e17178c2ea694e4a3bd4624d97f5f77fc1b172187201'],
  ['0007-group-rule-marks.sql', '461fa2a43668ba3ca85b283f6363d49b77eb0a0117e70c47566d2555e3901de2'],
  ['0008-outbox.sql', '4c49d5b28032638ac2944fa3178a21001ec329cf231de8f518bdcbf19106d31a'],
  ['0009-unanswered-only.sql', 'f142698a63854aead6311f6d33e33009428102caa6d421557df0725fb68a1781'],
  ['0012-server-swap.sql', 'b567a1798709a53daa6fe4a440af0565cfb0e7b2efcd94d96772bf196c5d8c01'],
  ['0013-server-people.sql', 'a2a6f4938f7bb0a4196191ecc7ac62349cea476e6742e8d86a05b35b46d4f08f'],
  ['0014-sftp.sql', '96700543503608c754e1de031c45210415eb8bff33eb6b4370a6f24133bab3c5'],
  ['0015-baseline-owner.sql', '27b4640da96f9438c794f06e05eb3a7edb0b43a948740cadd73c11db495a1353'],
  ['0016-server-settings.sql', '2aad849cc59743078a53198b639854887ed8732bd24a21a31e8f04aee9e7cfb0'],
  ['0017-server-limits.sql', 'ae8f5706276594ade58eafc71b4a5282bc766722d5feada470c4c6056289c78a'],
  ['0018-making-servers.sql', 'b7eefe223ae21c2010c3b92d419a9bc8b0a5021b4dae6c7963be2102225a9866'],
  ['0021-sftp-of-nodes.sql', 'd519e320200a67b6cb8286878cf5ac912b7ad1631292637a9919363e474f2de7'],
  [
    '0023-measured-generations.sql',
    'f11eb136c638a662732cf8faf954f43f04d72e68e91ec62f1832b092ef29c38b',
  ],
  ['0024-concerned-edges.sql', '4be57a9d509ec1b369fbb6f0634d7903dea32a842d2d9e48ac6b733fa4ef5447'],
  ['0025-deleted-people.sql', '3ceff5f5587493ad9b5aad9c435800b72c84bcb336a7b70178de4613915a8ab5'],
];
const two = { name: '0002-more.sql', text: '', hash: 'b' };

test('rejects a database newer than the code with an explanation', () => {
  assert.equal(refuse([], [one]), null);
  assert.equal(refuse([one], [one, two]), null);
  assert.match(
    refuse([one, two], [one]) ?? '',
    /newer than this Portcullis: it has migration 0002.*empty database.*"portcullis restore FILE"/,
  );
});

test('rejects a database with other or changed migrations with an explanation', () => {
  assert.match(refuse([two], [one, two]) ?? '', /has migration 0002-more\.sql where this/);
  assert.match(refuse([{ ...one, hash: 'x' }, two], [one]) ?? '', /cannot be carried over/);
});

test('migrations that installations have never change, and none comes between them', async () => {
  const shipped = await loadMigrations();
  const first = shipped.slice(0, APPLIED.length);
  assert.deepEqual(
    first.map(({ name, hash }) => [name, hash]),
    APPLIED,
  );
});

test('rejects a PostgreSQL outside of 15 to 18 with the versions that work', () => {
  for (const version of [150_000, 150_018, 160_009, 170_002, 180_004])
    assert.equal(refuseServer(version), null, String(version));
  for (const [version, major] of [
    [90_624, 9],
    [140_023, 14],
    [190_000, 19],
  ] as const) {
    assert.match(
      refuseServer(version) ?? '',
      new RegExp(`PostgreSQL ${major}, and this Portcullis needs PostgreSQL 15 to 18`),
    );
  }
});

test('changes nothing on a PostgreSQL that it rejects', async (t) => {
  const { db, url } = await testDatabase(t);
  await sql`drop schema public cascade; create schema public; create schema older`.execute(db);
  // Found before the server's own function, like the answer of another version.
  await sql`
    create function older.current_setting(text) returns text language sql as $$ select '140023' $$`.execute(
    db,
  );
  const older = new URL(url);
  older.searchParams.set('options', '-c search_path=older,pg_catalog,public');
  await assert.rejects(
    migrateDatabase({ url: older.href, migrationUrl: null }, await loadMigrations()),
    /runs on PostgreSQL 14, and this Portcullis needs PostgreSQL 15 to 18/,
  );
  const { rows } =
    await sql`select from pg_class where relnamespace = 'public'::regnamespace`.execute(db);
  assert.equal(rows.length, 0);
});

test('migrates an empty database once when several control planes start together', async (t) => {
  const { db, url } = await testDatabase(t);
  await sql`drop schema public cascade; create schema public`.execute(db);
  const others = [openDatabase({ url }), openDatabase({ url }), openDatabase({ url })];
  t.after(async () => {
    for (const other of others) await other.destroy();
  });
  await Promise.all([db, ...others].map((each) => migrate(each)));
  const applied = await sql<{ name: string }>`select name from migrations`.execute(db);
  assert.deepEqual(
    applied.rows.map((row) => row.name),
    (await loadMigrations()).map((migration) => migration.name),
  );
});

test('people of before links had makers go on: accounts are proven, and links belong to their makers', async (t) => {
  const { db } = await testDatabase(t);
  await sql`drop schema public cascade; create schema public`.execute(db);
  const shipped = await loadMigrations();
  await migrate(db, shipped.slice(0, 1));
  await sql`
    insert into people (email, name, password_hash) values ('ada@example.net', 'Ada', 'x');
    insert into organisations (slug, name, owner) values ('acme', 'Acme', 'portal');
    insert into members (organisation_id, person_id, role) values (1, 1, 'owner');
    insert into portal_links (token_hash, kind, email, organisation_id, role, created_by, expires_at) values
      ('1', 'invitation', 'bob@example.net', 1, 'member', 'ada@example.net', now() + interval '1 day'),
      ('2', 'operator', null, null, null, 'root', now() + interval '1 day');
    insert into join_tokens (secret_hash, kind, name, expires_at, needs_approval)
    values (sha256('x'), 'edge', 'fra1', now() + interval '1 hour', false)`.execute(db);
  await migrate(db, shipped);
  const { rows } = await sql`
    select (select proven_at = created_at from people) as proven, (select json_agg(maker_id order by id) from portal_links) as makers,
           (select maker_id is null and maker_key_id is null from join_tokens) as tokens`.execute(
    db,
  );
  assert.deepEqual(rows, [{ proven: true, makers: [1, null], tokens: true }]);
});

test('a migration that a backup holds up holds up nobody else', async (t) => {
  const { db, url } = await testDatabase(t);
  const shipped = await loadMigrations();
  const wanted = [
    ...shipped,
    { name: '9999-wait.sql', text: 'alter table people add x int', hash: 'w' },
  ];
  const [others, newer] = [openDatabase({ url }), openDatabase({ url })];
  t.after(() => Promise.all([others.destroy(), newer.destroy()]));
  const busy = Promise.withResolvers<undefined>();
  const migrated = await db.transaction().execute(async (backup) => {
    await sql`lock table people in access share mode`.execute(backup);
    const migrated = migrate(newer, wanted, () => busy.resolve(undefined));
    await Promise.race([busy.promise, migrated]);
    const read = sql`select from people`.execute(others);
    assert.equal((await read).rows.length, 0, 'while the backup and the migration go on');
    return { migrated };
  });
  await migrated.migrated;
  await sql`select x from people`.execute(others);
});

test('a database with a migration that this version lacks is left as it is', async (t) => {
  const { db, url } = await testDatabase(t);
  const shipped = await loadMigrations();
  const seen = () =>
    sql`select (select json_agg(m order by name) from migrations m) as migrations,
               (select sum(xmin::text::bigint) from pg_class) as tables`.execute(db);
  const before = await seen();
  const older = shipped.slice(0, -1);
  await assert.rejects(migrateDatabase({ url, migrationUrl: null }, older), /Nothing was changed/);
  await assert.rejects(migrate(db, older), /newer than this Portcullis/);
  assert.deepEqual((await seen()).rows, before.rows);
});

test('a failing migration rolls back itself and the ones before it', async (t) => {
  const { db } = await testDatabase(t);
  const shipped = await loadMigrations();
  const good = { name: '9998-good.sql', text: 'create table half (id int)', hash: 'g' };
  const bad = { name: '9999-bad.sql', text: 'create table worse (id nonsense)', hash: 'b' };
  await assert.rejects(migrate(db, [...shipped, good, bad]), /nonsense/);
  const found = await sql`select to_regclass('half') as half`.execute(db);
  assert.deepEqual(found.rows, [{ half: null }]);
});
