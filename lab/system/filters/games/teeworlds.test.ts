import { test } from 'node:test';
import { TEEWORLDS } from '../../../stack/game-servers.ts';
import { FilteredServer } from '../filtered-server.ts';

test('teeworlds lets a player in, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'teeworlds', TEEWORLDS.port, ['teeworlds']);
  if (server === null) return;
  await server.filter();
  server.start(TEEWORLDS.command, `sv_register 0;sv_port ${TEEWORLDS.port}`);
  const player = await server.join('teeworlds');
  await server.assertFloodsDropped();
  await player.close();
});
