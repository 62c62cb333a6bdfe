import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import pg from 'pg';
import { insertEdge } from '../../fleet/testing.ts';
import { serveEdges, TestEdge } from '../../fleet/test-edge.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import type { Db } from '../database.ts';
import { testDatabase } from '../testing.ts';
import { backUp, readTables } from './backup.ts';
import { restore, RESTORED_CHANNEL } from './restore.ts';

const RULES = '/api/v1/firewall/ips';
/** Numbers and states that a restore changes on purpose. */
const CHANGED = ['fleet', 'generations', 'changes', 'edges'];

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-backup-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const rule = (port: number) => ({ action: 'deny', protocol: 'tcp', destination_port: `${port}` });
const restoreTo = (url: string, path: string, replace = false) =>
  restore({ url, migrationUrl: null, path, replace });

/** A hash of the rows of each table. */
async function contentOf(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const found: Record<string, string> = {};
    for (const { name } of await readTables(client)) {
      const { rows } = await client.query<{ hash: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as hash from ${name} t`,
      );
      found[name] = rows[0]?.hash ?? '';
    }
    return found;
  } finally {
    await client.end();
  }
}

async function destinationPorts(db: Db): Promise<Set<string>> {
  const rows = await db
    .selectFrom('rules')
    .innerJoin('addresses', 'addresses.id', 'rules.address_id')
    .select(['addresses.ip', 'rules.port'])
    .where('rules.deleted_generation', 'is', null)
    .execute();
  return new Set(rows.map(({ ip, port }) => `${ip} ${port}`));
}

test('a backup under writes at 200/s has every write that was acknowledged before it, and none in part', async (t) => {
  const { acme, databaseUrl } = await startEnvironment(t);
  const path = join(folderOf(t), 'backup.gz');
  const acknowledged = new Set<string>();
  const sent = new Set<string>();
  let ends = false;
  const write = async (number: number): Promise<void> => {
    const ip = `203.0.113.${1 + (number % 120)}`;
    const port = 1_000 + number;
    sent.add(`${ip} ${port}`);
    const reply = await acme.post(`${RULES}/${ip}/rules`, rule(port));
    assert.equal(reply.status, 201, reply.text);
    acknowledged.add(`${ip} ${port}`);
  };
  const running: Promise<void>[] = [];
  const writing = (async () => {
    for (let number = 0; !ends; number += 1) {
      running.push(write(number));
      // On a busy machine fewer: 120 of an organisation may wait, and further ones are refused.
      do await delay(5);
      while (!ends && sent.size - acknowledged.size > 60);
    }
    await Promise.all(running);
  })();
  while (acknowledged.size < 100) await delay(10);
  const acknowledgedBefore = new Set(acknowledged);
  const made = await backUp({ url: databaseUrl, path });
  const during = acknowledged.size - acknowledgedBefore.size;
  ends = true;
  await writing;
  assert.ok(made.rows > acknowledgedBefore.size);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const { db, url } = await testDatabase(t);
  await restoreTo(url, path);
  const restored = await destinationPorts(db);
  t.diagnostic(`${acknowledgedBefore.size} writes before the backup, ${during} while it was made`);
  for (const name of acknowledgedBefore) assert.ok(restored.has(name), name);
  for (const one of restored) assert.ok(sent.has(one), one);
  // A rule without its generation, or a generation without its rules, would be a write in part.
  const { rows } = await sql<{ torn: number }>`
    select count(*) as torn from rules where created_generation > ${made.generation}`.execute(db);
  assert.equal(rows[0]?.torn, 0);
});

test('a restored database equals that of the backup, and takes writes at once', async (t) => {
  const { acme, db, databaseUrl } = await startEnvironment(t);
  await insertEdge(db, 'fra1');
  await acme.post(`${RULES}/203.0.113.10/rules`, rule(80));
  await acme.post('/api/x1/firewall/blocked', { sources: ['192.0.2.1'], note: 'tab\t, \\. and ✓' });
  const month = '2024-02-01 00:00:00+00';
  await sql`select create_partition('attacks', ${month}::timestamptz)`.execute(db);
  const path = join(folderOf(t), 'backup.gz');
  await backUp({ url: databaseUrl, path });
  const { db: other, url } = await testDatabase(t);
  const result = await restoreTo(url, path);
  const [ours, theirs] = [await contentOf(databaseUrl), await contentOf(url)];
  for (const name of CHANGED) for (const each of [ours, theirs]) delete each[name];
  assert.deepEqual(theirs, ours);
  assert.ok(result.generation > 1_000_000_000);
  const { rows } = await sql<{ found: boolean }>`
    select to_regclass('attacks_2024_02') is not null as found`.execute(other);
  assert.equal(rows[0]?.found, true);
  // Sequences go on, and triggers work: an audit row makes an event.
  const countEvents = () => sql<{ n: number }>`select count(*) as n from events`.execute(other);
  const before = (await countEvents()).rows[0]?.n ?? 0;
  await sql`
    insert into audit (actor_kind, actor, action, target, organisation_id, generation)
    select 'operator', 'test', 'rule.create', 'x', id, 1 from organisations limit 1`.execute(other);
  assert.equal((await countEvents()).rows[0]?.n, before + 1);
});

test('an edge that is ahead of the backup fetches everything, and nothing is live until it has it', async (t) => {
  const { acme, db, databaseUrl } = await startEnvironment(t);
  await insertEdge(db, 'fra1');
  const path = join(folderOf(t), 'backup.gz');
  await acme.post(`${RULES}/203.0.113.10/rules`, rule(80));
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'i1');
  await edge.hello();
  await edge.sync();
  await edge.confirm();
  await backUp({ url: databaseUrl, path });
  await acme.post(`${RULES}/203.0.113.10/rules`, rule(81));
  await edge.sync();
  assert.equal(edge.policies.get('203.0.113.10')?.rules.length, 2);
  const listener = new pg.Client({ connectionString: databaseUrl });
  await listener.connect();
  t.after(() => listener.end());
  await listener.query(`listen ${RESTORED_CHANNEL}`);
  const notified = new Promise((resolve) => listener.once('notification', resolve));
  await restoreTo(databaseUrl, path, true);
  await notified;
  const meta = async () =>
    ((await acme.get('/api/x1/firewall/ips/203.0.113.10')).body as { meta: object }).meta;
  assert.partialDeepStrictEqual(await meta(), { live_generation: null });
  await edge.hello();
  assert.equal((await edge.sync())[0]?.whole, true);
  assert.equal(edge.policies.get('203.0.113.10')?.rules.length, 1);
  await edge.confirm();
  assert.partialDeepStrictEqual(await meta(), { live_generation: edge.generation });
});

test('a file that is damaged, cut, foreign or of another version changes nothing', async (t) => {
  const { acme, databaseUrl } = await startEnvironment(t);
  await acme.post(`${RULES}/203.0.113.10/rules`, rule(80));
  const folder = folderOf(t);
  const path = join(folder, 'backup.gz');
  await backUp({ url: databaseUrl, path });
  assert.deepEqual(readdirSync(folder), ['backup.gz']);
  const { url } = await testDatabase(t);
  const untouched = await contentOf(url);
  const whole = readFileSync(path);
  const text = gunzipSync(whole);
  const [manifest = ''] = text.toString('latin1').split('\n', 1);
  const half = Math.floor(text.length / 2);
  const changed = Buffer.from(text);
  changed.write('x', text.indexOf('acme'));
  const older = manifest.replace(/"hash":"../, '"hash":"zz');
  const cases: readonly [string, Buffer, RegExp][] = [
    ['cut', whole.subarray(0, whole.length / 2), /incomplete/],
    ['cut and packed', gzipSync(text.subarray(0, half)), /incomplete/],
    ['without its last line', gzipSync(text.subarray(0, -65)), /incomplete/],
    ['changed', gzipSync(changed), /damaged/],
    ['no gzip', text, /no backup/],
    ['of something else', gzipSync('{"a":1}\n'), /no backup/],
    ['not JSON', gzipSync('hello\nworld\n'), /damaged/],
    ['empty', Buffer.alloc(0), /incomplete/],
    ['of another version', gzipSync(text.toString('latin1').replace(manifest, older)), /version/],
  ];
  for (const [name, bytes, reason] of cases) {
    const file = join(folder, name);
    writeFileSync(file, bytes);
    await assert.rejects(restoreTo(url, file), reason, name);
    assert.deepEqual(await contentOf(url), untouched, name);
  }
});

test('a database in use is replaced only if that is asked for', async (t) => {
  const { acme, databaseUrl } = await startEnvironment(t);
  const path = join(folderOf(t), 'backup.gz');
  await backUp({ url: databaseUrl, path });
  await acme.post(`${RULES}/203.0.113.10/rules`, rule(80));
  await assert.rejects(restoreTo(databaseUrl, path), /in use: \d+ organisations .*--force/);
  assert.equal((await acme.get(`${RULES}/203.0.113.10`)).status, 200);
  await restoreTo(databaseUrl, path, true);
  const { data } = (await acme.get(`${RULES}/203.0.113.10`)).body as { data: { rules: [] } };
  assert.deepEqual(data.rules, []);
});
