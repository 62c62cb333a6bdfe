import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../../db/testing.ts';
import { applyText } from '../testing.ts';

test('creates, changes and deletes collectors and responders; a second apply changes nothing', async (t) => {
  const { db } = await testDatabase(t);
  const text = (listen: string, url: string) => `
collectors: [{ name: c, listen: "${listen}", exporters: [{ ip: 192.0.2.1, sampling_rate: 1000, prefixes: all }], site: fra }]
responders:
- { name: hook, webhook: "${url}", secret: hush }
- { name: run, command: [/usr/local/sbin/blackhole, "--x"], prefixes: [203.0.113.0/24], at: { pps: 5 } }
`;
  const rows = async () => {
    const found = await sql<{ line: string }>`
      select name || ' ' || listen || ' ' || site || ' ' || (exporters #>> '{0,samplingRate}') as line from collectors
      union all select name || ' ' || (spec -> 'call')::text || ' ' || coalesce(spec ->> 'pps', '-') from responders
       order by line`.execute(db);
    return found.rows.map(({ line }) => line);
  };
  const first = text('0.0.0.0:6343', 'https://a.example/x');
  const applied = await applyText(db, first);
  assert.equal(applied.generation, null, 'no policy changed');
  assert.deepEqual((await applyText(db, first)).changes, []);
  assert.deepEqual(await rows(), [
    'c 0.0.0.0:6343 fra 1000',
    'hook {"url": "https://a.example/x", "kind": "webhook", "secret": "hush"} -',
    'run {"kind": "command", "command": ["/usr/local/sbin/blackhole", "--x"]} 5',
  ]);
  const changed = await applyText(db, text('192.0.2.9:6343', 'https://b.example/x'));
  assert.deepEqual(
    changed.changes.map(({ sign, subject }) => `${sign} ${subject}`),
    ['~ collector c', '~ responder hook'],
  );
  // The audit trail contains no secret.
  const { rows: trail } = await sql<{
    all: string;
  }>`select coalesce(string_agg(detail::text, ' '), '') as all from audit`.execute(db);
  assert.ok(!trail[0]?.all.includes('hush'));
  await applyText(db, '');
  assert.deepEqual(await rows(), []);
});
