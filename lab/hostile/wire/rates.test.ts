import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { currentGeneration } from '@portcullis/control/fleet/generations.ts';
import { LostNodes } from '@portcullis/control/game-servers/openings/lost-nodes.ts';
import { PORT_CHANGES_AT_ONCE } from '@portcullis/control/game-servers/openings/settle.ts';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const SILENT = {
  nodeLost() {},
  portsChanged() {},
  failed: (_: string, error: unknown) => assert.fail(String(error)),
};

test('a node that toggles a server makes no more generations than its rate, and the last state wins', async (t) => {
  const world = await startEnvironment(t);
  const { db } = world;
  const node = await new TestNode(world.nodes, 'node-1', await addNode(db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(db, { number: 1 });
  await sql`update game_servers set open_while_running = true`.execute(db);
  const isOpen = async (): Promise<boolean> => {
    const { rows } =
      await sql`select from server_openings where deleted_generation is null`.execute(db);
    return rows.length > 0;
  };
  const before = await currentGeneration(db);
  const startedMs = performance.now();
  const beats = 6 * PORT_CHANGES_AT_ONCE;
  for (let count = 1; count <= beats; count += 1) {
    await node.beat({ uuid: uuidOf(1), power: count % 2 === 1 ? 'running' : 'offline' });
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const made = (await currentGeneration(db)) - before;
  assert.ok(made >= PORT_CHANGES_AT_ONCE, `${made} generations`);
  // One in two seconds beyond those at once.
  assert.ok(made <= PORT_CHANGES_AT_ONCE + seconds / 2 + 1, `${made} in ${seconds} s`);
  assert.ok(made < beats, `${made} generations`);

  const settled = new LostNodes({ db, events: SILENT });
  await node.beat({ uuid: uuidOf(1), power: 'running' });
  await settled.check(0);
  assert.equal(await isOpen(), true);
  await node.beat({ uuid: uuidOf(1), power: 'offline' });
  await settled.check(1);
  assert.equal(await isOpen(), false);
});

test('a node that toggles takes nothing of the rate of another node', async (t) => {
  const world = await startEnvironment(t);
  const { db } = world;
  await addNode(db, 'node-1');
  await sql`update nodes set ports_due = now() + interval '1 hour'`.execute(db);
  const second = await new TestNode(world.nodes, 'node-2', await addNode(db, 'node-2')).join();
  t.after(() => second.link.close());
  await addServer(db, { number: 1 });
  await sql`update game_servers set open_while_running = true,
              node_id = (select id from nodes where name = 'node-2')`.execute(db);
  const before = await currentGeneration(db);
  await second.beat({ uuid: uuidOf(1), power: 'running' });
  assert.equal(await currentGeneration(db), before + 1);
});
