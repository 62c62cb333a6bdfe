import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NGINX, startNginx } from '../../../stack/game-servers.ts';
import { FilteredServer } from '../filtered-server.ts';

test('http passes requests, and no other opening', async (t) => {
  const server = FilteredServer.create(t, 'http', NGINX.port, ['nginx']);
  if (server === null) return;
  await server.filter();
  const nginx = startNginx(server.edge.internet.server);
  t.after(() => nginx.stop());
  const url = `http://${server.address}:${server.port}/`;
  assert.equal(await server.runUntilDone('curl', '-sf', url), 'served\n');
  // Two requests on one connection.
  assert.equal(await server.run('curl', '-sf', url, url), 'served\nserved\n');
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});
