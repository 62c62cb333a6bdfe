import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { applyText } from '../../operator/fleet-file/testing.ts';
import { loadPage } from './assignments.ts';

const NODE = { id: 1 };
const request = (cursor: string | null) =>
  ({ kind: 'node.sync', instance: 'one', cursor, revision: null }) as const;

test('sends a list longer than a page completely: each server once, each egg once and before its servers', async (t) => {
  const { db } = await testDatabase(t);
  await sql`insert into organisations (slug, name, owner) values ('acme', 'Acme', 'fleet')`.execute(
    db,
  );
  await sql`insert into services (id, organisation_id, name, owner) values (1, 1, 's', 'fleet')`.execute(
    db,
  );
  await sql`insert into nodes (name, owner) values ('node-1', 'fleet')`.execute(db);
  await sql`
    insert into eggs select repeat(n::text, 64), jsonb_build_object('name', n, 'filler', repeat('x', 3000))
      from generate_series(1, 3) n`.execute(db);
  await sql`
    insert into game_servers (uuid, organisation_id, service_id, node_id, name, egg_digest, egg_name,
      memory_mib, cpu_percent, disk_mib, ip, port, owner)
    select gen_random_uuid(), 1, 1, 1, 'server ' || n, repeat((n % 3 + 1)::text, 64), 'e', 1, 1, 1,
           '192.0.2.1', n, 'fleet' from generate_series(1, 100) n`.execute(db);
  const servers = new Set<string>();
  const eggs = new Map<string, number>();
  let pages = 0;
  for (let cursor: string | null = null; ; ) {
    const page = await loadPage(db, NODE, request(cursor), 10_000);
    assert.ok(page.kind === 'node.page');
    pages += 1;
    for (const digest of Object.keys(page.eggs)) eggs.set(digest, (eggs.get(digest) ?? 0) + 1);
    for (const { uuid, egg } of page.servers) {
      assert.ok(eggs.has(egg), 'an egg came after a server of it');
      servers.add(uuid);
    }
    cursor = page.next;
    if (cursor === null) break;
  }
  assert.ok(pages > 3);
  assert.equal(servers.size, 100);
  assert.deepEqual([...eggs.values()], [1, 1, 1]);
  const stale = await loadPage(db, NODE, request('other/1'));
  assert.ok(stale.kind === 'refused' && stale.code === 'resync');
});

test('sends a node the settings of its servers from the fleet file, including the crash policy', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(
    db,
    `organisations:
  acme: { name: Acme, services: [{ id: 501, name: s, addresses: [{ ip: 198.51.100.10 }] }] }
nodes: [{ name: node-1 }]
game_servers:
  - uuid: 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11
    organisation: acme
    service: 501
    name: Survival
    node: node-1
    egg: test.json
    limits: { memory: 1024, cpu: 150, disk: 2048, swap: 512 }
    allocation: { ip: 198.51.100.10, port: 25565 }
    crashes: { restart: false, within_seconds: 7, tries: 3 }
    start_with_host: never
    stop_seconds: 90
    suspended: true
`,
  );
  const page = await loadPage(db, NODE, request(null));
  assert.ok(page.kind === 'node.page');
  const [{ egg, ...server } = { egg: '' }] = page.servers;
  assert.deepEqual(server, {
    uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
    organisation: 'acme',
    name: 'Survival',
    image: null,
    variables: {},
    limits: { ...UNLIMITED, memory: 1024, cpu: 150, disk: 2048, swap: 512 },
    dockerImage: null,
    startup: null,
    mounts: [],
    isRestored: false,
    allocation: { ip: '198.51.100.10', port: 25_565 },
    ports: [],
    suspended: true,
    crashes: { restart: false, withinMs: 7_000, tries: 3 },
    startWithHost: 'never',
    stopAfterMs: 90_000,
    buildEpoch: 1,
    emptyFiles: null,
  });
  assert.ok(page.eggs[egg] !== undefined);
});
