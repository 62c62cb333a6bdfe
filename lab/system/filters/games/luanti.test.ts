import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

test('luanti lets a player in, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'luanti', 30_000, ['luanti']);
  if (server === null) return;
  await server.filter();
  server.start('/usr/games/minetestserver', '--gameid', 'devtest', '--port', `${server.port}`);
  const player = await server.join('luanti');
  assert.equal((await server.validated()).length, 1);
  await server.assertFloodsDropped();
  await player.close();
});
