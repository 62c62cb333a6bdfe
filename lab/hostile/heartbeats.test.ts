import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const WRITES = 25;
/** Heartbeats under way at any moment. */
const AT_ONCE = 8;
/** Not of the node that reports them, or of nobody. */
const FOREIGN = [uuidOf(2), uuidOf(99)];

test('a node that reports without end delays no write of others, and changes no server of another node', async (t) => {
  const world = await startEnvironment(t);
  const { db, other } = world;
  const evil = await new TestNode(world.nodes, 'evil', await addNode(db, 'evil')).join();
  t.after(() => evil.link.close());
  await addNode(db, 'node-2');
  await addServer(db, { number: 1, node: 'evil' });
  await addServer(db, { number: 2, node: 'node-2' });
  await sql`update game_servers set open_while_running = true`.execute(db);
  const before = await foreignServer();
  const stopped = new AbortController();
  let sent = 0;
  const flood = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      sent += 1;
      const power = sent % 2 === 0 ? 'running' : 'offline';
      const builds = [uuidOf(1), ...FOREIGN].map((uuid) => ({ uuid, power }) as const);
      // What is too much may be refused, and it may be disconnected.
      await evil.beat(...builds).catch(() => {});
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const floods = Array.from({ length: AT_ONCE }, flood);
  for (let port = 1; port <= WRITES; port += 1) {
    const rule = { action: 'deny', protocol: 'udp', destination_port: String(port) };
    const reply = await other.post('/api/v1/firewall/ips/192.0.2.1/rules', rule);
    assert.equal(reply.status, 201, reply.text);
  }
  stopped.abort();
  await Promise.all(floods);
  assert.ok(sent > AT_ONCE, `${sent} heartbeats beside ${WRITES} writes`);
  assert.deepEqual(await foreignServer(), before);

  async function foreignServer(): Promise<unknown> {
    const { rows } = await sql`select * from game_servers where uuid = ${uuidOf(2)}`.execute(db);
    assert.equal(rows.length, 1);
    return rows;
  }
});
