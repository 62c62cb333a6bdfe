import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from './testing.ts';

// `PORTCULLIS_TEST_POSTGRES=/usr/lib/postgresql/15 npm test -- control/` runs these and everything else on another version.

test('the functions of the schema call nothing that this version of PostgreSQL does not have', async (t) => {
  const { db } = await testDatabase(t);
  // PL/pgSQL resolves names when a line runs first, which may be in production.
  const { rows: functions } = await sql<{ name: string; body: string }>`
    select proname as name, prosrc as body from pg_proc where pronamespace = 'public'::regnamespace
       and not exists (select from pg_depend d where d.objid = pg_proc.oid and d.deptype = 'e')`.execute(
    db,
  );
  assert.ok(functions.length > 20, `${functions.length} functions`);
  const { rows: known } = await sql<{ name: string }>`
    select proname as name from pg_proc union select relname from pg_class union select typname from pg_type
    union select word from pg_get_keywords()`.execute(db);
  const names = new Set(known.map(({ name }) => name));
  const unknown = functions.flatMap(({ name, body }) =>
    calledIn(body)
      .filter((called) => !names.has(called))
      .map((called) => `${name} calls ${called}`),
  );
  assert.deepEqual(unknown, []);
});

/** Names before an opening parenthesis, outside of comments and strings; those after `as` are made there. */
function calledIn(body: string): string[] {
  const code = body.replaceAll(/--.*$/gm, '').replaceAll(/'(?:[^']|'')*'/g, "''");
  return [...code.matchAll(/(?<!\bas\s)\b([a-z_][a-z0-9_]*)\s*\(/g)].map(([, name = '']) => name);
}

test('a text is an address or a network exactly where PostgreSQL reads it as one', async (t) => {
  const { db } = await testDatabase(t);
  const texts = [
    ['192.0.2.1', true],
    ['192.0.2.0/24', true],
    ['192.0.2.1/24', true],
    ['2001:db8::/32', true],
    ['::ffff:192.0.2.1', true],
    ['192.0.2.1/33', false],
    ['2001:db8::/129', false],
    ['192.0.2', false],
    ['192.0.2.256', false],
    ['group:3', false],
    ['fade:3', false],
    ['key:1.2.3.4', false],
    ['', false],
    [' ', false],
    ['1'.repeat(100_000), false],
    ['fe80::1%eth0', false],
  ] as const;
  for (const [text, expected] of texts) {
    const { rows } = await sql<{ is: boolean }>`select is_inet(${text}) as is`.execute(db);
    assert.equal(rows[0]?.is, expected, text.slice(0, 50));
  }
});
