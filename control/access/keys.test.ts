import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { testDatabase } from '../db/testing.ts';
import { Problem } from '../problem.ts';
import { listKeys, type NewKey } from './key-store.ts';
import { createKey, generateSecret, hashSecret, revokeKey } from './keys.ts';
import { findOrganisation, listOrganisations } from './organisation-store.ts';
import { addOrganisation, OPERATOR, type TestOrganisation } from './test-organisation.ts';

let db: Db;
let acme: TestOrganisation;

before(async (t) => {
  ({ db } = await testDatabase(t));
  acme = await addOrganisation(db, 'acme', ['firewall_api']);
});

function create(input: Partial<NewKey>) {
  const key: NewKey = {
    organisationId: acme.id,
    name: 'ci',
    abilities: ['firewall.read'],
    owner: 'portal',
    ...input,
  };
  return db.transaction().execute((tx) => createKey(tx, key, OPERATOR));
}

/** Rejected with exactly these pointers. */
function refuses(...pointers: string[]): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.code, 'invalid_request');
    assert.deepEqual(
      error.errors.map((each) => ('pointer' in each ? each.pointer : each.parameter)),
      pointers,
    );
    return true;
  };
}

test('shows a key once; the database stores its SHA-256 and a hint', async () => {
  const { id, secret } = await create({ name: 'once' });
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(row.secret_hash, hashSecret(secret));
  assert.equal(JSON.stringify(row).includes(secret.slice(12)), false);
  const listed = (await listKeys(db, acme.id)).find((key) => key.id === id);
  assert.equal(listed?.hint, secret.slice(0, 10));
  assert.equal(JSON.stringify(listed).includes(secret.slice(12)), false);
  const reported = await sql<{
    detail: unknown;
  }>`select detail from audit where target = ${`key:${id}`}`.execute(db);
  assert.deepEqual(reported.rows, [{ detail: { name: 'once', abilities: ['firewall.read'] } }]);
});

test('cannot grant an ability of an area whose flag is off', async () => {
  await assert.rejects(
    create({ abilities: ['firewall.read', 'attacks.read'] }),
    refuses('/abilities/1'),
  );
  await create({ name: 'no flag needed', abilities: ['game-servers.manage'] });
});

test('reports all mistakes of a key at once and stores nothing', async () => {
  const before = (await listKeys(db, acme.id)).length;
  await assert.rejects(
    create({
      name: 'a\u0000b',
      abilities: ['firewall.read', 'firewall.read', '__proto__'],
      servers: ['not-a-uuid'],
      prefixes: ['203.0.113.1/24'],
      sources: ['10.0.0.0/8', '::ffff:10.0.0.1'],
      expiresAt: new Date('2001-01-01'),
      secret: 'pcl_short',
    }),
    refuses(
      '/name',
      '/abilities/1',
      '/abilities/2',
      '/servers/0',
      '/prefixes/0',
      '/sources/1',
      '/expires_at',
      '/secret',
    ),
  );
  await assert.rejects(create({ abilities: [], name: '' }), refuses('/name', '/abilities'));
  assert.equal((await listKeys(db, acme.id)).length, before);
});

test('accepts a given secret once, and never a revoked one under another name', async () => {
  const secret = generateSecret();
  const { id } = await create({ name: 'given', secret });
  await assert.rejects(create({ name: 'again', secret }), refuses('/secret'));
  await db.transaction().execute((tx) => revokeKey(tx, id, OPERATOR));
  await assert.rejects(create({ name: 'again', secret }), refuses('/secret'));
});

test('keeps the first revocation time when revoked twice; an unknown key is 404', async () => {
  const { id } = await create({ name: 'twice' });
  const first = await db.transaction().execute((tx) => revokeKey(tx, id, OPERATOR));
  const second = await db.transaction().execute((tx) => revokeKey(tx, id, OPERATOR));
  assert.deepEqual(second, first);
  const audited =
    await sql`select from audit where action = 'key.revoke' and target = ${`key:${id}`}`.execute(
      db,
    );
  assert.equal(audited.rows.length, 1);
  await assert.rejects(
    db.transaction().execute((tx) => revokeKey(tx, 999_999, OPERATOR)),
    (error) => error instanceof Problem && error.code === 'not_found',
  );
});

test('finds organisations by slug, with their limits', async () => {
  assert.equal(await findOrganisation(db, 'nobody'), null);
  const found = await findOrganisation(db, 'acme');
  assert.deepEqual(found?.limits, {
    rulesPerIp: 100,
    filtersPerIp: 25,
    maxPortsPerRequest: 101,
    attackHistoryDays: 90,
    configuredAddresses: 10000,
    requestsPerMinute: 600,
  });
  assert.deepEqual([...(found?.flags ?? [])], ['firewall_api']);
  assert.deepEqual(
    (await listOrganisations(db)).map(({ slug }) => slug),
    ['acme'],
  );
});
