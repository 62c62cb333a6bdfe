import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

test('openttd passes a query of a server list, and no other opening', async (t) => {
  const server = FilteredServer.create(t, 'openttd', 3979, ['openttd']);
  if (server === null) return;
  await server.filter();
  server.start('/usr/games/openttd', '-D', `${server.address}:${server.port}`);
  const player = await server.join('openttd');
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
  await player.close();
});
