import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

test('openttd answers the list of servers, and nobody who says something else', async (t) => {
  const server = FilteredServer.create(t, 'openttd', 3979, ['openttd']);
  if (server === null) return;
  await server.filter();
  server.start('/usr/games/openttd', '-D', `${server.address}:${server.port}`);
  const player = await server.join('openttd');
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
  await player.close();
});
