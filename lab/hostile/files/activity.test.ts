import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { sql } from 'kysely';
import { FILES, startFiles } from './world.ts';

test('the activity of a server keeps its newest 5,000 entries of 90 days under concurrent writes (CVE-2026-21696)', async (t) => {
  const { key, files, db } = await startFiles(t);
  files.limitMib = 0;
  await addServer(db, { number: 2 });
  const kept = async () => {
    const { rows } = await sql<{ entries: number; old: number }>`
      select count(*)::int as entries,
             (count(*) filter (where at < now() - interval '90 days'))::int as old
        from server_activity where server = ${uuidOf(1)}`.execute(db);
    return rows[0];
  };
  await sql`
    insert into server_activity (server, at, actor_kind, actor, door, action)
    select ${uuidOf(1)}, now() - interval '91 days' + n * interval '1 minute', 'user', n::text, 'api', 'power'
      from generate_series(1, 5200) n`.execute(db);
  // Many at once, in turns with the other server: the ids of the first are the odd ones.
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const path = `folder-${round}-${index}`;
        const base = index % 2 === 0 ? FILES : FILES.replace(uuidOf(1), uuidOf(2));
        return key.post(`${base}/folders`, { path });
      }),
    );
  }
  assert.equal((await key.post(`${FILES}/folders`, { path: 'last' })).status, 200);
  const { entries = 0, old } = (await kept()) ?? {};
  assert.equal(old, 0);
  assert.ok(entries > 0 && entries <= 5_000, `${entries}`);
  const { rows } = await sql<{ detail: { path: string } }>`
    select detail from server_activity where server = ${uuidOf(1)} order by id desc limit 1`.execute(
    db,
  );
  assert.equal(rows[0]?.detail.path, 'last');
});
