import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { assertRefused } from '@portcullis/control/testing/client.ts';
import { OTHER, startEnvironment } from '@portcullis/control/testing/fixture.ts';

test('a repeat of an instruction is answered to nobody who may not give it any more', async (t) => {
  const { db, acme, nodes } = await startEnvironment(t);
  const node = await new TestNode(nodes, 'node-1', await addNode(db, 'node-1')).join();
  t.after(() => node.link.close());
  const uuid = await addServer(db, { number: 1 });
  const headers = { 'idempotency-key': 'once' };
  const stop = () => acme.post(`/api/v1/game-servers/${uuid}/power`, { signal: 'stop' }, headers);
  assert.equal((await stop()).status, 200);
  const again = await stop();
  assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [200, 'true']);
  await sql`insert into services (id, organisation_id, name, owner) values (902, ${OTHER}, 'of other', 'fleet')`.execute(
    db,
  );
  await sql`update game_servers set organisation_id = ${OTHER}, service_id = 902`.execute(db);
  assertRefused(await stop(), 404, 'not_found');
  assert.equal(node.calls.length, 1);
});
