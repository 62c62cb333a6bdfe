import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { applyText, insertOwnRule } from '../../operator/fleet-file/testing.ts';
import { Problem } from '../../problem.ts';
import { canonicalNote, saveRuleNote } from './service.ts';

const FILE = `organisations:
  acme: { name: Acme, asns: [64500], prefixes: [{ cidr: 203.0.113.0/24, asn: 64500 }] }
  hive: { name: Hive, asns: [64501], prefixes: [{ cidr: 198.51.100.0/24, asn: 64501 }] }`;

test('stores notes and tags of own rules only, and takes no generation', async (t) => {
  const { db } = await testDatabase(t);
  const { generation } = await applyText(db, FILE);
  const rule = await insertOwnRule(db, '203.0.113.9', { port: 80 });
  const { rows } = await sql<{ id: number }>`select id from organisations order by slug`.execute(
    db,
  );
  const [acme, hive] = rows.map(({ id }) => id);
  assert.ok(acme !== undefined && hive !== undefined);
  const note = { note: ' the web\r\nserver ', tags: ['web', 'web', ' prod'] };
  await db.transaction().execute((tx) => saveRuleNote(tx, acme, rule, note));
  const { rows: noted } = await sql`select id, note, tags from rules`.execute(db);
  assert.deepEqual(noted, [{ id: rule, note: 'the web\nserver', tags: ['web', 'prod'] }]);
  const other = db.transaction().execute((tx) => saveRuleNote(tx, hive, rule, note));
  await assert.rejects(other, (error) => error instanceof Problem && error.code === 'not_found');
  const now = await sql<{ generation: number }>`select generation from fleet`.execute(db);
  assert.equal(now.rows[0]?.generation, generation);
});

test('treats an empty note as none; refuses long, unprintable and too many ones', () => {
  assert.deepEqual(canonicalNote({ note: '  ', tags: [] }), { note: null, tags: [] });
  const wrong = [
    { note: 'x'.repeat(2001), tags: [] },
    { note: 'a\u0000b', tags: [] },
    { note: '\ud800', tags: [] },
    { note: null, tags: ['x'.repeat(51)] },
    { note: null, tags: [' '] },
    { note: null, tags: ['a\nb'] },
    { note: null, tags: Array.from({ length: 21 }, (_, i) => `t${i}`) },
  ];
  for (const each of wrong) {
    assert.throws(
      () => canonicalNote(each),
      (error) => error instanceof Problem && error.code === 'invalid_request',
    );
  }
  assert.equal(canonicalNote({ note: '💬'.repeat(2000), tags: [] }).note?.length, 4000);
});
