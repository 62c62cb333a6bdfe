import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** https://minecraft.wiki/w/RakNet, which describes the same handshake. */
const MAGIC = '00ffff00fefefefefdfdfdfd12345678';
const GUID = '1122334455667788';
const said = (text: string): string => `ffffffff${Buffer.from(text).toString('hex')}`;

test('rust answers queries and lets a player in, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'rust', 28_015);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [said('TSource Engine Query'), said('I17')],
    [said('U').concat('ffffffff'), said('A').concat('01020304')],
    [said('U').concat('01020304'), said('D').concat('00')],
    [`05${MAGIC}`, `06${MAGIC}${GUID}0005b4`],
    [`07${MAGIC}`, `08${MAGIC}${GUID}043fffffff80e805b400`],
    ['84', `c0000100${'00'.repeat(3)}`],
  ]);
  await server.ask('udp', [
    [`${said('TSource Engine Query')}00`, said('I')],
    [said('U').concat('ffffffff'), said('A')],
  ]);
  assert.deepEqual(await server.validated(), [], 'a challenge validates no source');
  const frames = Array.from({ length: 60 }, (): [string, string] => ['8400000040009000', 'c0']);
  await server.ask('udp', [
    [said('U').concat('01020304'), said('D')],
    [`05${MAGIC}0a${'00'.repeat(1164)}`, '06'],
    [`07${MAGIC}048034fe8e6d5705b4${GUID}`, '08'],
    ...frames,
  ]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
